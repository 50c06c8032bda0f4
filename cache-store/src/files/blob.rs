//! Blobs as files, named by their digest.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use muster_proto::id::BlobDigest;

use super::{STORE, blocking, disk};
use crate::{BlobStore, MAX_BLOB, StoreError};

/// Blobs at `<root>/<first two digits>/<digest>`.
#[derive(Clone, Debug)]
pub struct FileBlobStore {
    root: PathBuf,
}

impl FileBlobStore {
    /// A store in `root`, which is made (0700) if it is missing.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        disk::private_dir(&root)?;
        Ok(Self { root })
    }

    /// The blob's file; `None` for a text that is no digest, so that no name leaves the root.
    fn path(&self, digest: &BlobDigest) -> Option<PathBuf> {
        let name = digest.as_str();
        let hex = name.len() == 64 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| self.root.join(&name[..2]).join(name))
    }
}

#[async_trait]
impl BlobStore for FileBlobStore {
    async fn has(&self, digest: &BlobDigest) -> Result<bool, StoreError> {
        let Some(path) = self.path(digest) else {
            return Ok(false);
        };
        blocking(move || {
            path.try_exists()
                .map_err(|error| disk::unavailable(&path, &error))
        })
        .await
    }

    async fn put(&self, digest: &BlobDigest, bytes: &[u8]) -> Result<(), StoreError> {
        let size = bytes.len() as u64;
        if size > MAX_BLOB {
            return Err(StoreError::TooLarge {
                what: format!("blob {digest}"),
                size,
                limit: MAX_BLOB,
            });
        }
        let actual = BlobDigest::of(bytes);
        let path = match self.path(digest) {
            Some(path) if actual == *digest => path,
            _ => {
                return Err(StoreError::DigestMismatch {
                    expected: digest.0.clone(),
                    actual: actual.0,
                });
            }
        };
        let bytes = bytes.to_vec();
        blocking(move || {
            if path.exists() {
                return Ok(());
            }
            disk::private_dir(path.parent().unwrap_or(Path::new(".")))?;
            disk::replace(&path, &[&bytes])
        })
        .await
    }

    async fn get(&self, digest: &BlobDigest) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(path) = self.path(digest) else {
            return Ok(None);
        };
        let Some(bytes) = blocking(move || disk::read(&path)).await? else {
            return Ok(None);
        };
        let actual = BlobDigest::of(&bytes);
        if actual == *digest {
            return Ok(Some(bytes));
        }
        Err(StoreError::Damaged {
            store: STORE,
            key: digest.0.clone(),
            reason: format!("its bytes have digest {actual}"),
        })
    }

    async fn presign(&self, _: &BlobDigest) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
}
