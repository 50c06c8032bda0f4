//! Local stores over gRPC: what [`crate::remote`] talks to. A coordinator mounts both services; who
//! may call is decided at its listener.

use std::sync::Arc;

use muster_proto::id::{BlobDigest, ReplayKey};
use muster_proto::v1;
use muster_proto::v1::blob_service_server::BlobService;
use muster_proto::v1::cache_service_server::CacheService;
use tokio_stream::Iter;
use tonic::{Request, Response, Status, Streaming};

use crate::remote::CHUNK;
use crate::{BlobStore, MAX_BLOB, ReplayStore, StoreError};

/// Most digests in one question.
const MAX_DIGESTS: usize = 10_000;

/// Recordings, read-only.
pub struct CacheServer {
    store: Arc<dyn ReplayStore>,
}

impl CacheServer {
    /// Serves `store`.
    pub fn new(store: Arc<dyn ReplayStore>) -> Self {
        Self { store }
    }
}

#[tonic::async_trait]
impl CacheService for CacheServer {
    async fn get(
        &self,
        request: Request<v1::GetEntryRequest>,
    ) -> Result<Response<v1::GetEntryResponse>, Status> {
        let v1::GetEntryRequest { namespace, key } = request.into_inner();
        let entry = self
            .store
            .get(&namespace, &ReplayKey(key.clone()))
            .await
            .map_err(status)?;
        let entry = entry.map(|entry| v1::Entry {
            key,
            generation: entry.generation,
            envelope: entry.envelope,
        });
        Ok(Response::new(v1::GetEntryResponse { entry }))
    }

    async fn list(
        &self,
        request: Request<v1::ListEntriesRequest>,
    ) -> Result<Response<v1::ListEntriesResponse>, Status> {
        let v1::ListEntriesRequest {
            namespace,
            prefix,
            cursor,
        } = request.into_inner();
        let cursor = (!cursor.is_empty()).then_some(cursor);
        let page = self
            .store
            .list(&namespace, &prefix, cursor.as_deref())
            .await
            .map_err(status)?;
        let entries: Vec<_> = page
            .entries
            .into_iter()
            .map(|info| v1::EntryInfo {
                key: info.key.0,
                generation: info.generation,
                size: info.size,
            })
            .collect();
        Ok(Response::new(v1::ListEntriesResponse {
            keys: entries.iter().map(|entry| entry.key.clone()).collect(),
            next_cursor: page.next.unwrap_or_default(),
            entries,
        }))
    }
}

/// Blobs, in chunks of at most 1 MiB.
pub struct BlobServer {
    store: Arc<dyn BlobStore>,
}

impl BlobServer {
    /// Serves `store`.
    pub fn new(store: Arc<dyn BlobStore>) -> Self {
        Self { store }
    }
}

#[tonic::async_trait]
impl BlobService for BlobServer {
    type GetStream = Iter<std::vec::IntoIter<Result<v1::GetBlobResponse, Status>>>;

    async fn has(
        &self,
        request: Request<v1::HasRequest>,
    ) -> Result<Response<v1::HasResponse>, Status> {
        let digests = request.into_inner().digests;
        if digests.len() > MAX_DIGESTS {
            return Err(Status::invalid_argument(format!(
                "{} digests in one question; the limit is {MAX_DIGESTS}",
                digests.len()
            )));
        }
        let mut present = Vec::new();
        for digest in digests {
            let digest = BlobDigest(digest);
            if self.store.has(&digest).await.map_err(status)? {
                present.push(digest.0);
            }
        }
        Ok(Response::new(v1::HasResponse { present }))
    }

    async fn put(
        &self,
        request: Request<Streaming<v1::PutRequest>>,
    ) -> Result<Response<v1::PutResponse>, Status> {
        let mut parts = request.into_inner();
        let first = parts
            .message()
            .await?
            .ok_or_else(|| Status::invalid_argument("an empty stream names no blob"))?;
        let digest = BlobDigest(first.digest);
        let mut bytes = first.chunk;
        while let Some(part) = parts.message().await? {
            let size = bytes.len() as u64 + part.chunk.len() as u64;
            if size > MAX_BLOB {
                return Err(status(StoreError::TooLarge {
                    what: format!("blob {digest}"),
                    size,
                    limit: MAX_BLOB,
                }));
            }
            bytes.extend_from_slice(&part.chunk);
        }
        self.store.put(&digest, &bytes).await.map_err(status)?;
        Ok(Response::new(v1::PutResponse {}))
    }

    async fn get(
        &self,
        request: Request<v1::GetBlobRequest>,
    ) -> Result<Response<Self::GetStream>, Status> {
        let digest = BlobDigest(request.into_inner().digest);
        let bytes = self.store.get(&digest).await.map_err(status)?;
        let bytes = bytes.ok_or_else(|| Status::not_found(format!("no blob {digest}")))?;
        let chunks: Vec<_> = bytes
            .chunks(CHUNK)
            .map(|chunk| {
                Ok(v1::GetBlobResponse {
                    chunk: chunk.to_vec(),
                })
            })
            .collect();
        Ok(Response::new(tokio_stream::iter(chunks)))
    }
}

fn status(error: StoreError) -> Status {
    match &error {
        StoreError::Unavailable { .. } => Status::unavailable(error.to_string()),
        StoreError::Damaged { .. } => Status::data_loss(error.to_string()),
        StoreError::TooLarge { .. } => Status::resource_exhausted(error.to_string()),
        StoreError::DigestMismatch { .. } => Status::invalid_argument(error.to_string()),
    }
}
