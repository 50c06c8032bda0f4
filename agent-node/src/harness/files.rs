//! The files of a suite's bundle, for uploads. No other file of this machine is ever given away.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::id::BlobDigest;
use muster_proto::outcome::Problem;
use tempfile::TempDir;
use tokio::sync::OnceCell;

use super::Denied;
use super::authorize::refused;

/// Most files that a refusal names.
const NAMED: usize = 20;

/// Where the bytes of a bundle's files come from.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// The bytes under a digest, checked against it.
    async fn blob(&self, digest: &BlobDigest) -> Result<Arc<[u8]>, Problem>;
}

/// What `[bundle] include` packed, by project-relative path.
pub struct Files {
    index: Arc<BTreeMap<String, BlobDigest>>,
    /// None = a bundle without files.
    blobs: Option<Arc<dyn Blobs>>,
    /// Holds those that were asked for; this attempt's own, gone with it.
    folder: OnceCell<TempDir>,
}

impl Files {
    /// The files of a bundle's index.
    pub fn new(index: Arc<BTreeMap<String, BlobDigest>>, blobs: Arc<dyn Blobs>) -> Self {
        Self {
            blobs: Some(blobs),
            index,
            folder: OnceCell::new(),
        }
    }

    /// None at all.
    pub fn none() -> Self {
        Self {
            index: Arc::default(),
            blobs: None,
            folder: OnceCell::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The files as the browser can read them, each under its own name.
    pub(super) async fn unpacked(&self, paths: &[String]) -> Result<Vec<PathBuf>, Denied> {
        let mut unpacked = Vec::new();
        for path in paths {
            within(path)?;
            let packed = self.index.iter().position(|(packed, _)| packed == path);
            let (Some(place), Some(blobs)) = (packed, &self.blobs) else {
                return Err(failed(self.unknown(path)));
            };
            let bytes = blobs
                .blob(&self.index[path])
                .await
                .map_err(|problem| failed(problem.message))?;
            let folder = self.folder.get_or_try_init(async || folder()).await;
            let file = folder.and_then(|folder| {
                let folder = folder.path().join(place.to_string());
                std::fs::create_dir_all(&folder)?;
                let name = Path::new(path).file_name().unwrap_or_default();
                let file = folder.join(name);
                std::fs::write(&file, &bytes)?;
                Ok(file)
            });
            let written = |error| {
                failed(format!(
                    "{path:?} can't be written for the browser: {error}"
                ))
            };
            unpacked.push(file.map_err(written)?);
        }
        Ok(unpacked)
    }

    fn unknown(&self, path: &str) -> String {
        let mut names: Vec<_> = self
            .index
            .keys()
            .take(NAMED)
            .map(|name| format!("{name:?}"))
            .collect();
        if self.index.len() > NAMED {
            names.push(format!("… {} more", self.index.len() - NAMED));
        }
        let has = match names.is_empty() {
            true => "it has none".to_owned(),
            false => format!("it has {}", names.join(", ")),
        };
        format!(
            "the bundle has no file {path:?} ({has}); files are named in [bundle] include of muster.toml"
        )
    }
}

fn folder() -> std::io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("muster-upload-")
        .permissions(std::fs::Permissions::from_mode(0o700))
        .tempdir()
}

/// Refuses a path that leads out of the project or to something hidden in it. Pure.
pub(super) fn within(path: &str) -> Result<(), Denied> {
    if !Guard::UploadPath.holds() {
        return Ok(());
    }
    let part = |part: &str| match part {
        "" | "." | ".." => Some("it is no plain path below the project"),
        part if part.starts_with('.') => Some("it is hidden"),
        part if part.contains(['\\', '\0']) => Some("it is no plain path below the project"),
        _ => None,
    };
    match path.split('/').find_map(part) {
        Some(why) => Err(refused(
            Guard::UploadPath,
            format!("upload of {path:?} refused: {why}"),
        )),
        None => Ok(()),
    }
}

fn failed(message: String) -> Denied {
    Denied {
        code: ErrorCode::ActionFailed,
        message,
        guard: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Memory(BTreeMap<BlobDigest, Arc<[u8]>>);

    #[async_trait]
    impl Blobs for Memory {
        async fn blob(&self, digest: &BlobDigest) -> Result<Arc<[u8]>, Problem> {
            let found = self.0.get(digest).cloned();
            found.ok_or_else(|| Problem::new(ErrorCode::CoordinatorUnavailable, "it is away"))
        }
    }

    fn files(contents: &[(&str, &str)]) -> Files {
        let (mut index, mut blobs) = (BTreeMap::new(), BTreeMap::new());
        for (path, text) in contents {
            let digest = BlobDigest::of(text.as_bytes());
            index.insert((*path).to_owned(), digest.clone());
            blobs.insert(digest, Arc::from(text.as_bytes()));
        }
        Files::new(Arc::new(index), Arc::new(Memory(blobs)))
    }

    #[tokio::test]
    async fn a_packed_file_lies_in_a_folder_of_ours_under_its_own_name() {
        let files = files(&[("fixtures/a.txt", "one"), ("other/a.txt", "two")]);
        let paths = ["other/a.txt".to_owned(), "fixtures/a.txt".to_owned()];
        let at = files.unpacked(&paths).await.unwrap();
        assert!(at.iter().all(|path| path.file_name().unwrap() == "a.txt"));
        let held: Vec<_> = at
            .iter()
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        assert_eq!(held, ["two", "one"]);
        let root = at[0].parent().unwrap().parent().unwrap().to_owned();
        let mode = root.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(files);
        assert!(!root.exists());
    }

    #[tokio::test]
    async fn what_is_not_packed_is_refused_with_what_is() {
        let one = ["b.txt".to_owned()];
        let denied = files(&[("a.txt", "x")]).unpacked(&one).await.unwrap_err();
        assert_eq!((denied.code, denied.guard), (ErrorCode::ActionFailed, None));
        assert_eq!(
            denied.message,
            "the bundle has no file \"b.txt\" (it has \"a.txt\"); files are named in [bundle] include of muster.toml"
        );
        let denied = Files::none().unpacked(&one).await.unwrap_err();
        assert!(denied.message.contains("it has none"), "{}", denied.message);
    }

    #[test]
    fn only_plain_visible_paths_are_within() {
        for good in ["a.txt", "fixtures/invoice 7.pdf", "a/b/c.tar.gz"] {
            assert_eq!(within(good), Ok(()));
        }
        for bad in [
            "",
            "/etc/passwd",
            "../a.txt",
            "a/../../b",
            "a//b",
            "./a",
            ".env",
            "a/.git/config",
            "C:\\boot.ini",
            "a\0b",
        ] {
            let denied = within(bad).unwrap_err();
            assert_eq!(
                (denied.code, denied.guard),
                (ErrorCode::PolicyDenied, Some(Guard::UploadPath)),
                "{bad:?}"
            );
        }
    }
}
