//! The browser process.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const BINARY: &str = "/usr/lib/chromium/chromium-headless-shell";

/// A browser that ends with this process, however that ends: a shell stands between and waits for
/// its standard input to close.
pub(crate) struct Browser {
    /// Its DevTools address.
    pub(crate) address: String,
    shell: Child,
}

impl Browser {
    #[allow(
        clippy::disallowed_methods,
        reason = "started without the provider, whose supervisor is another binary"
    )]
    pub(crate) fn start() -> Self {
        assert!(
            Path::new(BINARY).exists(),
            "{BINARY} is missing: apt-get install chromium-headless-shell"
        );
        let profile = tempfile::tempdir().unwrap().keep();
        let script = "profile=$1; shift; \"$@\" </dev/null & child=$!; read -r _; kill -9 $child; wait $child; rm -rf \"$profile\" || rm -rf \"$profile\"";
        let shell = Command::new("/bin/sh")
            .args(["-c", script, "sh"])
            .arg(&profile)
            .args([
                BINARY,
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let port_file = profile.join("DevToolsActivePort");
        let written = (0..4000).find_map(|_| {
            let text = std::fs::read_to_string(&port_file).ok();
            let text = text.filter(|text| text.lines().count() == 2);
            if text.is_none() {
                // The file is the only sign that the browser gives; there is nothing to wait on.
                std::thread::sleep(Duration::from_millis(5));
            }
            text
        });
        let written = written.expect("the browser opens its DevTools port within 20 s");
        let (port, path) = written.split_once('\n').unwrap();
        Self {
            address: format!("ws://127.0.0.1:{port}{}", path.trim()),
            shell,
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(mut stdin) = self.shell.stdin.take() {
            // Any line ends the shell, which ends the browser.
            let _ = stdin.write_all(b"\n");
        }
        let _ = self.shell.wait();
    }
}
