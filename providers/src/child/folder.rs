//! A temporary folder that the supervisor removes if we can't.

use std::path::{Path, PathBuf};

use super::{ChildError, Supervisor};

/// A temporary folder, removed when dropped. End the processes that write to it first.
#[derive(Debug)]
pub struct TempFolder {
    path: PathBuf,
    supervisor: Supervisor,
}

impl TempFolder {
    pub(super) fn new(prefix: &str, supervisor: Supervisor) -> Result<Self, ChildError> {
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir()
            .map_err(ChildError::Folder)?;
        let line = folder
            .path()
            .to_str()
            .filter(|path| path.starts_with('/') && !path.contains('\n'));
        let Some(line) = line else {
            let reason = format!("its path {:?} is not absolute plain text", folder.path());
            return Err(ChildError::Folder(std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                reason,
            )));
        };
        supervisor
            .tell(&format!("+{line}"))
            .map_err(ChildError::SupervisorGone)?;
        Ok(Self {
            path: folder.keep(),
            supervisor,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        match std::fs::remove_dir_all(&self.path) {
            Ok(()) => {
                // A supervisor that is gone has nothing to forget.
                self.supervisor
                    .tell(&format!("-{}", self.path.display()))
                    .ok();
            }
            // It stays registered: the supervisor removes it in the end.
            Err(error) => {
                tracing::warn!(folder = %self.path.display(), %error, "a temporary folder could not be removed")
            }
        }
    }
}
