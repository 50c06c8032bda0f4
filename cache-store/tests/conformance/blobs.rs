//! What every `BlobStore` does.

use muster_cache_store::{BlobStore, StoreError};
use muster_proto::id::BlobDigest;

pub(crate) async fn suite(store: &dyn BlobStore) {
    // Empty, small, and more than two chunks.
    let large: Vec<u8> = (0..2_500_000u32).map(|n| (n % 251) as u8).collect();
    for bytes in [b"".as_slice(), b"hello", &large] {
        let digest = BlobDigest::of(bytes);
        assert!(!store.has(&digest).await.unwrap());
        assert_eq!(store.get(&digest).await.unwrap(), None);
        store.put(&digest, bytes).await.unwrap();
        store.put(&digest, bytes).await.unwrap();
        assert!(store.has(&digest).await.unwrap());
        assert!(store.get(&digest).await.unwrap().unwrap() == bytes);
        assert_eq!(store.presign(&digest).await.unwrap(), None);
    }

    let named = BlobDigest::of(b"other");
    let error = store.put(&named, b"bytes").await.unwrap_err();
    assert!(
        matches!(error, StoreError::DigestMismatch { .. }),
        "{error}"
    );
    assert!(!store.has(&named).await.unwrap());

    // What is no digest names no blob.
    let odd = BlobDigest::from("../etc/passwd");
    assert!(!store.has(&odd).await.unwrap());
    assert_eq!(store.get(&odd).await.unwrap(), None);
}

pub(crate) async fn out_of_reach(store: &dyn BlobStore) {
    let error = store.get(&BlobDigest::of(b"hello")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
}
