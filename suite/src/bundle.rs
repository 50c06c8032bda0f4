//! A packed suite: an index of blobs. The index is itself a blob.
//!
//! History of [`SCHEMA`]: 1 = first.

use std::collections::BTreeMap;

use muster_proto::id::BlobDigest;
use serde::{Deserialize, Serialize};

/// Version of [`Bundle`].
pub const SCHEMA: u32 = 1;

/// The index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bundle {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Modules by project-relative path.
    pub modules: BTreeMap<String, ModuleEntry>,
    /// Other files, named by `[bundle] include`.
    pub files: BTreeMap<String, BlobDigest>,
}

/// One module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModuleEntry {
    /// As written.
    pub source: BlobDigest,
    /// Lowered JavaScript.
    pub js: BlobDigest,
    /// Source map.
    pub map: BlobDigest,
}

/// An index with the bytes of its blobs.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The index.
    pub bundle: Bundle,
    /// Every blob, the index's own JSON excluded.
    pub blobs: BTreeMap<BlobDigest, Vec<u8>>,
}
