//! How files come into being: private (0700 directories, 0600 files) and whole (temp, fsync,
//! rename), so that a reader sees the old bytes or the new ones, also after a crash.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::STORE;
use crate::StoreError;

/// How long a writer waits for another one of the same key before it gives up.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(5);

/// Makes `dir` and its missing parents, readable by this user alone.
pub(super) fn private_dir(dir: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|error| unavailable(dir, &error))
}

/// Replaces the file at `path` by the parts, in one step.
pub(super) fn replace(path: &Path, parts: &[&[u8]]) -> Result<(), StoreError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut temp = tempfile::Builder::new().prefix(".tmp-").tempfile_in(dir)?;
        for part in parts {
            temp.write_all(part)?;
        }
        temp.as_file().sync_all()?;
        // The directory is not synced: after a crash the old file may be back, never half of one.
        temp.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| unavailable(path, &error))
}

/// The whole file, or `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable(path, &error)),
    }
}

/// Opens or makes a lock file and holds it exclusively until dropped. The lock belongs to the open
/// file, so it holds between threads and between processes, and dies with its holder.
pub(super) fn lock(path: &Path) -> Result<Flock<File>, StoreError> {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| unavailable(path, &error))?;
    for _ in 0..LOCK_PATIENCE.as_millis() / LOCK_POLL.as_millis() {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(held) => return Ok(held),
            Err((again, Errno::EWOULDBLOCK | Errno::EINTR)) => file = again,
            Err((_, errno)) => return Err(unavailable(path, &errno.into())),
        }
        std::thread::sleep(LOCK_POLL);
    }
    Err(StoreError::Unavailable {
        store: STORE,
        reason: format!(
            "{} has been locked by another muster process for {} s",
            path.display(),
            LOCK_PATIENCE.as_secs()
        ),
    })
}

pub(super) fn unavailable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable {
        store: STORE,
        reason: format!("{}: {error}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn files_are_private_and_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        private_dir(&inner).unwrap();
        let path = inner.join("file");
        replace(&path, &[b"one"]).unwrap();
        replace(&path, &[b"t", b"wo"]).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), b"two");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&inner), mode(&path)), (0o700, 0o600));
        let names: Vec<_> = fs::read_dir(&inner)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["file"], "no temporary file stays");
    }

    #[test]
    fn a_lock_is_exclusive_even_within_a_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = lock(&path).unwrap();
        let other = OpenOptions::new().read(true).open(&path).unwrap();
        assert!(Flock::lock(other, FlockArg::LockExclusiveNonblock).is_err());
        drop(held);
        lock(&path).unwrap();
    }
}
