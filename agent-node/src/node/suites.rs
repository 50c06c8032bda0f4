//! What a lease names by digest: the run's configuration and the suite's modules.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use muster_cache_store::BlobStore;
use muster_proto::code::ErrorCode;
use muster_proto::id::BlobDigest;
use muster_proto::outcome::Problem;
use muster_suite::bundle::{self, Bundle};
use muster_suite::config::{RunSpec, SPEC_SCHEMA};
use muster_suite::frame::ModuleSource;

use super::kept::Kept;
use crate::harness::Blobs;

/// Bytes of blobs that are kept, for suites that share files.
const BLOBS: u64 = 64 * 1024 * 1024;
/// Suites and configurations that are kept.
const SUITES: u64 = 16;
/// Blobs that are fetched at a time.
const AT_ONCE: usize = 8;

/// What an attempt needs of a suite, by project-relative path.
#[derive(Debug, PartialEq)]
pub(super) struct Suite {
    pub(super) modules: Arc<BTreeMap<String, ModuleSource>>,
    /// Fetched when they are asked for.
    pub(super) files: Arc<BTreeMap<String, BlobDigest>>,
}

/// Fetches suites, and keeps them.
pub(super) struct Suites {
    store: Arc<dyn BlobStore>,
    blobs: Kept<Arc<[u8]>>,
    suites: Kept<Arc<Suite>>,
    specs: Kept<Arc<RunSpec>>,
}

impl Suites {
    pub(super) fn new(store: Arc<dyn BlobStore>) -> Self {
        Self {
            store,
            blobs: Kept::new(BLOBS),
            suites: Kept::new(SUITES),
            specs: Kept::new(SUITES),
        }
    }

    /// The configuration under `digest`.
    pub(super) async fn spec(&self, digest: &str) -> Result<Arc<RunSpec>, Problem> {
        let fetch = async {
            let bytes = self.blob(&BlobDigest::from(digest)).await?;
            let spec: RunSpec = parsed("the run's configuration", &bytes)?;
            known("the run's configuration", spec.schema, SPEC_SCHEMA)?;
            Ok(Arc::new(spec))
        };
        self.specs.get(digest, |_| 1, fetch).await
    }

    /// The suite whose index is under `digest`.
    pub(super) async fn suite(&self, digest: &str) -> Result<Arc<Suite>, Problem> {
        let fetch = async {
            let bytes = self.blob(&BlobDigest::from(digest)).await?;
            let index: Bundle = parsed("the suite's index", &bytes)?;
            known("the suite's index", index.schema, bundle::SCHEMA)?;
            let modules = futures::stream::iter(index.modules)
                .map(|(path, entry)| async move {
                    let (js, map) = (self.text(&entry.js).await?, self.text(&entry.map).await?);
                    Ok::<_, Problem>((path, ModuleSource { js, map }))
                })
                .buffer_unordered(AT_ONCE)
                .try_collect()
                .await?;
            Ok(Arc::new(Suite {
                modules: Arc::new(modules),
                files: Arc::new(index.files),
            }))
        };
        self.suites.get(digest, |_| 1, fetch).await
    }

    async fn text(&self, digest: &BlobDigest) -> Result<String, Problem> {
        let bytes = self.blob(digest).await?;
        String::from_utf8(bytes.to_vec())
            .map_err(|_| internal(format!("blob {digest} of the suite is no text")))
    }

    async fn blob(&self, digest: &BlobDigest) -> Result<Arc<[u8]>, Problem> {
        let fetch = async {
            let unavailable = |reason: String| {
                let message = format!("blob {digest} of the suite can't be fetched: {reason}");
                Problem::new(ErrorCode::CoordinatorUnavailable, message)
            };
            let bytes = self
                .store
                .get(digest)
                .await
                .map_err(|error| unavailable(error.to_string()))?;
            let bytes =
                bytes.ok_or_else(|| unavailable("the coordinator does not have it".to_owned()))?;
            if BlobDigest::of(&bytes) != *digest {
                return Err(unavailable(
                    "it came with other bytes than its name says".to_owned(),
                ));
            }
            Ok(Arc::from(bytes))
        };
        self.blobs
            .get(
                digest.as_str(),
                |bytes: &Arc<[u8]>| bytes.len() as u64,
                fetch,
            )
            .await
    }
}

#[async_trait]
impl Blobs for Suites {
    async fn blob(&self, digest: &BlobDigest) -> Result<Arc<[u8]>, Problem> {
        Suites::blob(self, digest).await
    }
}

fn parsed<T: serde::de::DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes)
        .map_err(|error| internal(format!("{what} can't be read: {error}; {VERSIONS}")))
}

fn known(what: &str, schema: u32, ours: u32) -> Result<(), Problem> {
    if schema == ours {
        return Ok(());
    }
    Err(internal(format!(
        "{what} has version {schema}, this node reads {ours}; {VERSIONS}"
    )))
}

const VERSIONS: &str = "run client and nodes of one version";

fn internal(message: String) -> Problem {
    Problem::new(ErrorCode::InternalError, message)
}

#[cfg(test)]
mod tests {
    use muster_cache_store::StoreError;
    use muster_suite::bundle::ModuleEntry;
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Memory {
        blobs: BTreeMap<BlobDigest, Vec<u8>>,
        asked: Mutex<Vec<BlobDigest>>,
    }

    impl Memory {
        fn add(&mut self, bytes: &[u8]) -> BlobDigest {
            let digest = BlobDigest::of(bytes);
            self.blobs.insert(digest.clone(), bytes.to_vec());
            digest
        }
    }

    #[async_trait]
    impl BlobStore for Memory {
        async fn has(&self, digest: &BlobDigest) -> Result<bool, StoreError> {
            Ok(self.blobs.contains_key(digest))
        }
        async fn put(&self, _: &BlobDigest, _: &[u8]) -> Result<(), StoreError> {
            Ok(())
        }
        async fn get(&self, digest: &BlobDigest) -> Result<Option<Vec<u8>>, StoreError> {
            self.asked.lock().unwrap().push(digest.clone());
            Ok(self.blobs.get(digest).cloned())
        }
        async fn presign(&self, _: &BlobDigest) -> Result<Option<String>, StoreError> {
            Ok(None)
        }
    }

    fn suite() -> (Memory, BlobDigest) {
        let mut memory = Memory::default();
        let map = memory.add(b"{}");
        let mut modules = BTreeMap::new();
        for name in ["a", "b", "c"] {
            let js = memory.add(format!("export const {name} = 1;").as_bytes());
            let entry = ModuleEntry {
                source: js.clone(),
                js,
                map: map.clone(),
            };
            modules.insert(format!("tests/{name}.e2e.ts"), entry);
        }
        let index = Bundle {
            schema: bundle::SCHEMA,
            modules,
            files: BTreeMap::new(),
        };
        let digest = memory.add(&serde_json::to_vec(&index).unwrap());
        (memory, digest)
    }

    #[tokio::test]
    async fn slots_that_ask_at_once_fetch_each_blob_once() {
        let (memory, digest) = suite();
        let memory = Arc::new(memory);
        let suites = Suites::new(Arc::clone(&memory) as Arc<dyn BlobStore>);
        let (one, two) = tokio::join!(suites.suite(digest.as_str()), suites.suite(digest.as_str()));
        assert_eq!(one.unwrap(), two.unwrap());
        let suite = suites.suite(digest.as_str()).await.unwrap();
        assert_eq!(suite.modules["tests/b.e2e.ts"].js, "export const b = 1;");
        let mut asked = memory.asked.lock().unwrap().clone();
        let total = asked.len();
        asked.sort();
        asked.dedup();
        assert_eq!(
            (total, asked.len()),
            (5, 5),
            "the index, three modules, one map that they share"
        );
    }

    #[tokio::test]
    async fn what_is_missing_or_has_other_bytes_is_named() {
        let (mut memory, digest) = suite();
        memory.blobs.insert(digest.clone(), b"forged".to_vec());
        let problem = Suites::new(Arc::new(memory))
            .suite(digest.as_str())
            .await
            .unwrap_err();
        assert_eq!(problem.code, ErrorCode::CoordinatorUnavailable);
        assert!(problem.message.contains("other bytes"), "{problem}");
        let problem = Suites::new(Arc::new(Memory::default()))
            .spec("abc")
            .await
            .unwrap_err();
        assert!(
            problem.message.contains(
                "blob abc of the suite can't be fetched: the coordinator does not have it"
            )
        );
    }

    #[tokio::test]
    async fn a_configuration_of_another_version_is_refused() {
        let mut memory = Memory::default();
        let digest = memory.add(br#"{"schema":2}"#);
        let problem = Suites::new(Arc::new(memory))
            .spec(digest.as_str())
            .await
            .unwrap_err();
        assert!(
            problem
                .message
                .contains("run client and nodes of one version"),
            "{problem}"
        );
    }
}
