//! The embedded stores: plain files in a private directory, safe for several processes at once.
//!
//! Reading order: [`FileReplayStore`], [`FileBlobStore`], then `disk` for how a file is written.

mod blob;
mod disk;
mod replay;

pub use blob::FileBlobStore;
pub use replay::FileReplayStore;

/// The name in error messages.
const STORE: &str = "files";

/// Runs blocking file work off the async threads.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, crate::StoreError> + Send + 'static,
) -> Result<T, crate::StoreError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(join) => Err(crate::StoreError::Unavailable {
            store: STORE,
            reason: join.to_string(),
        }),
    }
}
