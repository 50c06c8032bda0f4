//! Which binary to start, and how: the traps of Chromium's command line.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::BrowserError;
use crate::child::{CommandLine, CommandSpec, Pipe};

/// Where Debian puts them, the lighter one first. `/usr/bin/chromium-headless-shell` is not among
/// them: it is a script that does not `exec`, and killing it leaves the browser.
const KNOWN: [&str; 3] = [
    "/usr/lib/chromium/chromium-headless-shell",
    "/usr/lib/chromium/chromium",
    "/usr/bin/chromium",
];

/// Flags that hold for every start.
///
/// QUIC and non-proxied WebRTC are off because neither passes the egress proxy. Throttling of
/// background pages is off because a page that is not in front is under test all the same. The
/// rest keeps the browser from talking to its vendor and from asking people.
const FLAGS: [&str; 24] = [
    "--headless",
    "--remote-debugging-port=0",
    "--disable-quic",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-features=Translate,MediaRouter,OptimizationHints",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--mute-audio",
    "--no-first-run",
    "--password-store=basic",
];

/// The binary to start: `configured`, or the first known one.
pub(super) fn find(configured: Option<&Path>) -> Result<PathBuf, BrowserError> {
    let candidates: Vec<PathBuf> = match configured {
        Some(path) => vec![path.to_owned()],
        None => KNOWN.iter().map(PathBuf::from).collect(),
    };
    candidates
        .iter()
        .find(|path| path.is_file())
        .cloned()
        .ok_or_else(|| BrowserError::NotFound {
            looked_for: candidates
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(", "),
        })
}

/// How to start `binary` with all that it writes in `profile`, an existing folder of ours.
pub(super) fn command(
    binary: &Path,
    profile: &Path,
    window: (u32, u32),
) -> std::io::Result<CommandSpec> {
    let mut args: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    args.push(format!("--window-size={},{}", window.0, window.1).into());
    let mut data = OsString::from("--user-data-dir=");
    data.push(profile);
    args.push(data);
    // Our own folders belong to whom we run as. Chromium's sandbox refuses to run as root.
    if std::fs::metadata(profile)?.uid() == 0 {
        args.push("--no-sandbox".into());
    }
    args.push("about:blank".into());

    let mut spec = CommandSpec::new(CommandLine {
        program: binary.to_owned(),
        args,
    });
    spec.stderr = Pipe::Piped;
    spec.env = [
        ("HOME", profile.as_os_str()),
        ("TMPDIR", profile.as_os_str()),
        ("PATH", "/usr/bin:/bin".as_ref()),
        ("LANG", "en_US.UTF-8".as_ref()),
        ("TZ", "UTC".as_ref()),
    ]
    .map(|(name, value)| (name.into(), value.to_owned()))
    .into();
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_binary_is_the_only_one_looked_for() {
        let error = find(Some(Path::new("/nowhere/browser"))).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no browser found: looked for /nowhere/browser; install the Debian package \
             chromium-headless-shell or set browser.path in muster.toml"
        );
    }

    #[test]
    fn the_sandbox_is_off_for_root_alone() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::metadata(folder.path()).unwrap().uid() == 0;
        let spec = command(Path::new("/usr/bin/chromium"), folder.path(), (800, 600)).unwrap();
        assert_eq!(spec.command.args.contains(&"--no-sandbox".into()), root);
        assert!(spec.command.args.contains(&"--window-size=800,600".into()));
        assert!(!spec.env.contains_key(std::ffi::OsStr::new("http_proxy")));
    }
}
