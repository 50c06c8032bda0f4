//! The environment, read once.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the process was started with. Passed on; nobody else asks the environment.
#[derive(Clone)]
pub(crate) struct Env {
    /// Every variable that is valid Unicode. Holds secrets' values: never printed.
    pub(crate) vars: BTreeMap<String, String>,
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// This binary, for the children it starts.
    pub(crate) exe: PathBuf,
}

impl Env {
    pub(crate) fn read() -> Self {
        Self {
            vars: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            exe: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("muster")),
        }
    }

    /// A build machine: `CI` is set to something other than nothing, 0 or false.
    pub(crate) fn ci(&self) -> bool {
        self.vars
            .get("CI")
            .is_some_and(|value| !matches!(value.trim(), "" | "0" | "false"))
    }
}
