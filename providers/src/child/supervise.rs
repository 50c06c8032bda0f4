//! The supervisor's own process.
//!
//! One line a command on its input: `+123` watches the process group 123, `+/tmp/x` the folder
//! `/tmp/x`; the same with `-` forgets it. It knows no other words. At the end of its input it
//! ends every group, removes every folder and exits.

use std::collections::BTreeSet;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::{Pid, setsid};

/// What it says when signals are blocked and it listens.
pub(super) const READY: &str = "ready";

/// Rounds of killing and removing at the end: processes die and let go of files within a few.
const ROUNDS: u32 = 200;
/// Pause between two rounds.
const ROUND: Duration = Duration::from_millis(10);

/// The `main` of the supervisor's process; call it before any thread starts.
///
/// It leads a session of its own and blocks the signals by which a terminal or an init ends a
/// whole group: only the end of its input ends it.
pub fn supervise() -> ! {
    let blocked: SigSet = [
        Signal::SIGINT,
        Signal::SIGTERM,
        Signal::SIGHUP,
        Signal::SIGQUIT,
    ]
    .into_iter()
    .collect();
    // Neither call can fail here (one thread, no group of our own yet); if it did, we would still
    // be worth more alive than not.
    blocked.thread_block().ok();
    setsid().ok();

    let mut stdout = std::io::stdout();
    let told = writeln!(stdout, "{READY}").and_then(|()| stdout.flush());
    let mut watched = Watched::default();
    if told.is_ok() {
        for line in std::io::stdin().lock().lines() {
            match line {
                Ok(line) => watched.apply(&line),
                Err(_) => break,
            }
        }
    }
    watched.end();
    std::process::exit(0)
}

/// What must not outlive the parent.
#[derive(Debug, Default, PartialEq, Eq)]
struct Watched {
    groups: BTreeSet<i32>,
    folders: BTreeSet<PathBuf>,
}

impl Watched {
    fn apply(&mut self, line: &str) {
        let Some((sign, what)) = line.split_at_checked(1) else {
            return;
        };
        let add = sign == "+";
        if !add && sign != "-" {
            return;
        }
        if Path::new(what).is_absolute() {
            let folder = PathBuf::from(what);
            if add {
                self.folders.insert(folder);
            } else {
                self.folders.remove(&folder);
            }
        } else if let Some(group) = what.parse::<i32>().ok().filter(|group| *group > 1) {
            // 0 and 1 would mean our own group and every process there is.
            if add {
                self.groups.insert(group);
            } else {
                self.groups.remove(&group);
            }
        }
    }

    fn end(mut self) {
        for _ in 0..ROUNDS {
            self.groups.retain(|group| {
                killpg(Pid::from_raw(*group), Signal::SIGKILL) != Err(Errno::ESRCH)
            });
            if self.groups.is_empty() {
                self.folders
                    .retain(|folder| std::fs::remove_dir_all(folder).is_err() && folder.exists());
                if self.folders.is_empty() {
                    return;
                }
            }
            std::thread::sleep(ROUND);
        }
        // A group that can't die (a zombie nobody reaps) is no reason to leave folders behind.
        for folder in &self.folders {
            std::fs::remove_dir_all(folder).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> Watched {
        let mut watched = Watched::default();
        lines.iter().for_each(|line| watched.apply(line));
        watched
    }

    #[test]
    fn lines_add_and_forget() {
        let watched = after(&["+41", "+42", "+/tmp/a b", "-41", "+/tmp/c", "-/tmp/c"]);
        assert_eq!(watched.groups, BTreeSet::from([42]));
        assert_eq!(watched.folders, BTreeSet::from([PathBuf::from("/tmp/a b")]));
    }

    #[test]
    fn what_would_kill_too_much_is_never_watched() {
        assert_eq!(
            after(&[
                "+0",
                "+1",
                "+-1",
                "+-42",
                "+",
                "",
                "42",
                "+tmp",
                "+99999999999",
                "é"
            ]),
            Watched::default()
        );
    }
}
