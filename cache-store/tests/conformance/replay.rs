//! What every `ReplayStore` does.

use muster_cache_store::{EntryInfo, ReplayStore, StoreError, Swap};
use muster_proto::id::ReplayKey;
use muster_proto::recording::MAX_BYTES;

const NS: &str = "local";

/// `writer` is the store itself, or the one behind a read-only `store`.
pub(crate) async fn suite(store: &dyn ReplayStore, writer: &dyn ReplayStore) {
    let key = ReplayKey("0a".repeat(32));

    // Nothing is there.
    assert_eq!(store.get(NS, &key).await.unwrap(), None);
    assert_eq!(store.info(NS, &key).await.unwrap(), None);
    assert_eq!(
        writer.delete_if(NS, &key, 0).await.unwrap(),
        Swap::Conflict(0)
    );
    assert_eq!(
        writer.put_if(NS, &key, 1, b"{}").await.unwrap(),
        Swap::Conflict(0)
    );

    // Bytes come back as they went in, whatever they are.
    let odd = b"{\n \"a\":\t1 }\r\n\n".as_slice();
    assert_eq!(
        writer.put_if(NS, &key, 0, odd).await.unwrap(),
        Swap::Done(1)
    );
    let entry = store.get(NS, &key).await.unwrap().unwrap();
    assert_eq!((entry.generation, entry.envelope.as_slice()), (1, odd));
    let info = EntryInfo {
        key: key.clone(),
        generation: 1,
        size: odd.len() as u64,
    };
    assert_eq!(store.info(NS, &key).await.unwrap(), Some(info));

    // Compare-and-set.
    assert_eq!(
        writer.put_if(NS, &key, 0, b"{}").await.unwrap(),
        Swap::Conflict(1)
    );
    assert_eq!(
        writer.put_if(NS, &key, 1, b"{}").await.unwrap(),
        Swap::Done(2)
    );
    assert_eq!(
        writer.delete_if(NS, &key, 1).await.unwrap(),
        Swap::Conflict(2)
    );
    assert_eq!(store.get(NS, &key).await.unwrap().unwrap().generation, 2);

    // The count goes on after a deletion.
    assert_eq!(writer.delete_if(NS, &key, 2).await.unwrap(), Swap::Done(0));
    assert_eq!(store.get(NS, &key).await.unwrap(), None);
    assert_eq!(store.info(NS, &key).await.unwrap(), None);
    assert_eq!(
        writer.put_if(NS, &key, 2, b"{}").await.unwrap(),
        Swap::Conflict(0)
    );
    assert_eq!(
        writer.put_if(NS, &key, 0, b"{}").await.unwrap(),
        Swap::Done(3)
    );

    // Namespaces don't see each other.
    assert_eq!(store.get("pr/7", &key).await.unwrap(), None);
    assert_eq!(
        writer.put_if("pr/7", &key, 0, b"[]").await.unwrap(),
        Swap::Done(1)
    );
    assert_eq!(store.get(NS, &key).await.unwrap().unwrap().envelope, b"{}");

    sizes(store, writer).await;
    listing(store, writer).await;
}

async fn sizes(store: &dyn ReplayStore, writer: &dyn ReplayStore) {
    let key = ReplayKey("0b".repeat(32));
    let largest = vec![b' '; MAX_BYTES];
    assert_eq!(
        writer.put_if(NS, &key, 0, &largest).await.unwrap(),
        Swap::Done(1)
    );
    assert_eq!(
        store.get(NS, &key).await.unwrap().unwrap().envelope.len(),
        MAX_BYTES
    );
    let error = writer
        .put_if(NS, &key, 1, &vec![b' '; MAX_BYTES + 1])
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }), "{error}");
}

async fn listing(store: &dyn ReplayStore, writer: &dyn ReplayStore) {
    let keys: Vec<_> = (0..1001).map(|n| format!("{n:04x}")).collect();
    for key in keys.iter().rev() {
        writer
            .put_if("many", &ReplayKey(key.clone()), 0, b"{}")
            .await
            .unwrap();
    }
    let first = store.list("many", "", None).await.unwrap();
    assert_eq!(first.entries.len(), 1000);
    let second = store.list("many", "", first.next.as_deref()).await.unwrap();
    assert_eq!((second.entries.len(), &second.next), (1, &None));
    let listed: Vec<_> = first
        .entries
        .iter()
        .chain(&second.entries)
        .map(|info| info.key.0.clone())
        .collect();
    assert_eq!(listed, keys);
    assert!(
        first
            .entries
            .iter()
            .all(|info| (info.generation, info.size) == (1, 2))
    );

    let some = store.list("many", "003", None).await.unwrap();
    assert_eq!((some.entries.len(), some.next), (16, None));
    writer
        .delete_if("many", &ReplayKey("0030".to_owned()), 1)
        .await
        .unwrap();
    assert_eq!(
        store.list("many", "003", None).await.unwrap().entries.len(),
        15
    );
    assert_eq!(store.list("nobody", "", None).await.unwrap().entries, []);
}

/// A store that nodes hold: it reads, and says who writes.
pub(crate) async fn read_only(store: &dyn ReplayStore) {
    let key = ReplayKey("0c".repeat(32));
    for refused in [
        store.put_if(NS, &key, 0, b"{}").await,
        store.delete_if(NS, &key, 1).await,
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("only coordinators write"), "{error}");
    }
    assert_eq!(store.get(NS, &key).await.unwrap(), None);
}

pub(crate) async fn out_of_reach(store: &dyn ReplayStore) {
    let error = store
        .get(NS, &ReplayKey("0a".repeat(32)))
        .await
        .unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
}
