//! Another process's stores, over gRPC: how a node reads recordings and bundles of a coordinator.
//!
//! Recordings are read-only here: only coordinators write them, at settlement. Every call has a
//! deadline.

use std::time::Duration;

use async_trait::async_trait;
use muster_proto::id::{BlobDigest, ReplayKey};
use muster_proto::secret::Secret;
use muster_proto::v1;
use muster_proto::v1::blob_service_client::BlobServiceClient;
use muster_proto::v1::cache_service_client::CacheServiceClient;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use crate::{BlobStore, Entry, EntryInfo, MAX_BLOB, Page, ReplayStore, StoreError, Swap};

/// The name in error messages.
const STORE: &str = "remote";
/// Deadline of a call that moves at most one recording.
const SMALL: Duration = Duration::from_secs(10);
/// Deadline of a call that moves a blob.
const LARGE: Duration = Duration::from_secs(120);
/// Largest chunk of a blob on the wire, bytes.
pub const CHUNK: usize = 1024 * 1024;

/// Adds the bearer token that a coordinator's TCP listener asks for; on a Unix socket there is
/// none.
#[derive(Clone)]
pub struct Bearer {
    header: Option<MetadataValue<Ascii>>,
}

impl Bearer {
    /// No token: a Unix socket is guarded by its file mode.
    pub fn none() -> Self {
        Self { header: None }
    }

    /// Sends `token`; `None` if it holds what a header can't (control characters, non-ASCII).
    pub fn new(token: &Secret) -> Option<Self> {
        let mut header: MetadataValue<Ascii> = format!("Bearer {}", token.expose()).parse().ok()?;
        header.set_sensitive(true);
        Some(Self {
            header: Some(header),
        })
    }
}

impl tonic::service::Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(header) = &self.header {
            request
                .metadata_mut()
                .insert("authorization", header.clone());
        }
        Ok(request)
    }
}

type Door = InterceptedService<Channel, Bearer>;

/// Recordings behind a CacheService.
#[derive(Clone)]
pub struct RemoteReplayStore {
    client: CacheServiceClient<Door>,
}

impl RemoteReplayStore {
    /// A store behind `channel`.
    pub fn new(channel: Channel, bearer: Bearer) -> Self {
        Self {
            client: CacheServiceClient::with_interceptor(channel, bearer),
        }
    }

    async fn entry(&self, namespace: &str, key: &ReplayKey) -> Result<Option<Entry>, StoreError> {
        let request = v1::GetEntryRequest {
            namespace: namespace.to_owned(),
            key: key.0.clone(),
        };
        let response = within(SMALL, self.client.clone().get(request)).await?;
        Ok(response.entry.map(|entry| Entry {
            generation: entry.generation,
            envelope: entry.envelope,
        }))
    }
}

#[async_trait]
impl ReplayStore for RemoteReplayStore {
    async fn get(&self, namespace: &str, key: &ReplayKey) -> Result<Option<Entry>, StoreError> {
        self.entry(namespace, key).await
    }

    async fn put_if(&self, _: &str, _: &ReplayKey, _: u64, _: &[u8]) -> Result<Swap, StoreError> {
        Err(read_only())
    }

    async fn delete_if(&self, _: &str, _: &ReplayKey, _: u64) -> Result<Swap, StoreError> {
        Err(read_only())
    }

    async fn info(
        &self,
        namespace: &str,
        key: &ReplayKey,
    ) -> Result<Option<EntryInfo>, StoreError> {
        let entry = self.entry(namespace, key).await?;
        Ok(entry.map(|entry| EntryInfo {
            key: key.clone(),
            generation: entry.generation,
            size: entry.envelope.len() as u64,
        }))
    }

    async fn list(
        &self,
        namespace: &str,
        prefix: &str,
        cursor: Option<&str>,
    ) -> Result<Page, StoreError> {
        let request = v1::ListEntriesRequest {
            namespace: namespace.to_owned(),
            prefix: prefix.to_owned(),
            cursor: cursor.unwrap_or_default().to_owned(),
        };
        let response = within(SMALL, self.client.clone().list(request)).await?;
        let entries = response.entries.into_iter().map(|entry| EntryInfo {
            key: ReplayKey(entry.key),
            generation: entry.generation,
            size: entry.size,
        });
        let next = (!response.next_cursor.is_empty()).then_some(response.next_cursor);
        Ok(Page {
            entries: entries.collect(),
            next,
        })
    }
}

/// Blobs behind a BlobService.
#[derive(Clone)]
pub struct RemoteBlobStore {
    client: BlobServiceClient<Door>,
}

impl RemoteBlobStore {
    /// A store behind `channel`.
    pub fn new(channel: Channel, bearer: Bearer) -> Self {
        Self {
            client: BlobServiceClient::with_interceptor(channel, bearer),
        }
    }

    async fn read(&self, digest: &BlobDigest) -> Result<Option<Vec<u8>>, Status> {
        let request = v1::GetBlobRequest {
            digest: digest.0.clone(),
        };
        let mut chunks = match self.client.clone().get(request).await {
            Ok(response) => response.into_inner(),
            Err(status) if status.code() == Code::NotFound => return Ok(None),
            Err(status) => return Err(status),
        };
        let mut bytes = Vec::new();
        while let Some(part) = chunks.message().await? {
            bytes.extend_from_slice(&part.chunk);
            if bytes.len() as u64 > MAX_BLOB {
                return Err(Status::out_of_range(format!(
                    "blob {digest} is over {MAX_BLOB} bytes"
                )));
            }
        }
        Ok(Some(bytes))
    }
}

#[async_trait]
impl BlobStore for RemoteBlobStore {
    async fn has(&self, digest: &BlobDigest) -> Result<bool, StoreError> {
        let request = v1::HasRequest {
            digests: vec![digest.0.clone()],
        };
        let response = within(SMALL, self.client.clone().has(request)).await?;
        Ok(response.present.contains(&digest.0))
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
        if actual != *digest {
            return Err(StoreError::DigestMismatch {
                expected: digest.0.clone(),
                actual: actual.0,
            });
        }
        let first = v1::PutRequest {
            digest: digest.0.clone(),
            chunk: Vec::new(),
        };
        let chunks: Vec<_> = bytes
            .chunks(CHUNK)
            .map(|chunk| v1::PutRequest {
                digest: String::new(),
                chunk: chunk.to_vec(),
            })
            .collect();
        let stream = tokio_stream::iter(std::iter::once(first).chain(chunks));
        within(LARGE, self.client.clone().put(stream))
            .await
            .map(|_| ())
    }

    async fn get(&self, digest: &BlobDigest) -> Result<Option<Vec<u8>>, StoreError> {
        let bytes = match tokio::time::timeout(LARGE, self.read(digest)).await {
            Ok(read) => read.map_err(|status| unavailable(&status))?,
            Err(_) => return Err(too_slow(LARGE)),
        };
        let Some(bytes) = bytes else { return Ok(None) };
        let actual = BlobDigest::of(&bytes);
        if actual != *digest {
            return Err(StoreError::DigestMismatch {
                expected: digest.0.clone(),
                actual: actual.0,
            });
        }
        Ok(Some(bytes))
    }

    async fn presign(&self, _: &BlobDigest) -> Result<Option<String>, StoreError> {
        Ok(None)
    }
}

/// One call under its deadline.
async fn within<T>(
    deadline: Duration,
    call: impl Future<Output = Result<tonic::Response<T>, Status>>,
) -> Result<T, StoreError> {
    match tokio::time::timeout(deadline, call).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(unavailable(&status)),
        Err(_) => Err(too_slow(deadline)),
    }
}

fn unavailable(status: &Status) -> StoreError {
    StoreError::Unavailable {
        store: STORE,
        reason: format!("{}: {}", status.code(), status.message()),
    }
}

fn too_slow(deadline: Duration) -> StoreError {
    StoreError::Unavailable {
        store: STORE,
        reason: format!("no answer within {} s", deadline.as_secs()),
    }
}

fn read_only() -> StoreError {
    StoreError::Unavailable {
        store: STORE,
        reason:
            "it is read-only here: only coordinators write recordings, when they settle an attempt"
                .to_owned(),
    }
}
