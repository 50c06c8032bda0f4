//! Bytes by key: recordings by replay key, blobs by digest. This room keeps envelopes and never
//! reads a payload.
//!
//! Two seams, each with one conformance suite that every implementor runs: [`ReplayStore`] and
//! [`BlobStore`]. Implementors: [`files`] (embedded) and [`remote`] (another process's stores over
//! gRPC); [`serve`] is the other end of `remote`. To add a store, implement the trait in a file of
//! its own and list it in `tests/conformance/main.rs`.
#![warn(missing_docs)]

pub mod files;
pub mod remote;
pub mod serve;

use async_trait::async_trait;
use muster_proto::id::{BlobDigest, ReplayKey};

/// An entry as a store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Grows by one with every write of its key; never 0.
    pub generation: u64,
    /// JSON of an envelope, at most `muster_proto::recording::MAX_BYTES`.
    pub envelope: Vec<u8>,
}

/// What a listing tells of an entry without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryInfo {
    /// Its key.
    pub key: ReplayKey,
    /// Its generation; 0 = it is damaged.
    pub generation: u64,
    /// Size of the envelope, bytes; 0 = unknown.
    pub size: u64,
}

/// One page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// In key order.
    pub entries: Vec<EntryInfo>,
    /// Where to go on; none = this was the last page.
    pub next: Option<String>,
}

/// The outcome of a compare-and-set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// Done; the entry's generation now (0 after a deletion).
    Done(u64),
    /// Somebody was faster; the generation found (0 = no entry).
    Conflict(u64),
}

/// Why a store did not answer.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The store can't be reached or broke off; try again later.
    #[error("{store} store is unavailable: {reason}")]
    Unavailable {
        /// The store's name, e.g. `files`.
        store: &'static str,
        /// Without credentials.
        reason: String,
    },
    /// What is kept under a key can't be read.
    #[error(
        "{store} store holds a damaged entry {key}: {reason}; remove it with `muster cache clear`"
    )]
    Damaged {
        /// The store's name.
        store: &'static str,
        /// The key or digest.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// Over the size limit.
    #[error("{what} is {size} bytes; the limit is {limit}")]
    TooLarge {
        /// What.
        what: String,
        /// Bytes.
        size: u64,
        /// Bytes.
        limit: u64,
    },
    /// The bytes don't have the digest they came under.
    #[error("blob {expected} arrived with digest {actual}; send it again")]
    DigestMismatch {
        /// The name it came under.
        expected: String,
        /// What its bytes say.
        actual: String,
    },
}

/// Recordings by key, within a namespace (`local` without access control).
#[async_trait]
pub trait ReplayStore: Send + Sync {
    /// The entry, or `None`.
    async fn get(&self, namespace: &str, key: &ReplayKey) -> Result<Option<Entry>, StoreError>;
    /// Writes if the current generation is `expected` (0 = no entry).
    async fn put_if(
        &self,
        namespace: &str,
        key: &ReplayKey,
        expected: u64,
        envelope: &[u8],
    ) -> Result<Swap, StoreError>;
    /// Deletes if the current generation is `expected`, 0 for a damaged entry. A later write
    /// continues the count.
    async fn delete_if(
        &self,
        namespace: &str,
        key: &ReplayKey,
        expected: u64,
    ) -> Result<Swap, StoreError>;
    /// Generation and size, or `None`.
    async fn info(&self, namespace: &str, key: &ReplayKey)
    -> Result<Option<EntryInfo>, StoreError>;
    /// Entries whose key starts with `prefix`, from `cursor` on, at most 1000 a page.
    async fn list(
        &self,
        namespace: &str,
        prefix: &str,
        cursor: Option<&str>,
    ) -> Result<Page, StoreError>;
}

/// Blobs by SHA-256. Largest blob: [`MAX_BLOB`].
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Whether it is there.
    async fn has(&self, digest: &BlobDigest) -> Result<bool, StoreError>;
    /// Keeps the bytes; idempotent; refuses a wrong digest.
    async fn put(&self, digest: &BlobDigest, bytes: &[u8]) -> Result<(), StoreError>;
    /// The bytes, or `None`.
    async fn get(&self, digest: &BlobDigest) -> Result<Option<Vec<u8>>, StoreError>;
    /// An address from which a node may fetch it without this process; `None` where a store has none.
    async fn presign(&self, digest: &BlobDigest) -> Result<Option<String>, StoreError>;
}

/// Largest blob, bytes.
pub const MAX_BLOB: u64 = 256 * 1024 * 1024;
