//! The embedded run store as two processes see it.

use muster_coordinator::runs::embedded::{EmbeddedRunStore, KEEP};
use muster_coordinator::runs::{Batch, Commit, RunStore, RunStoreError, all_facts};
use muster_proto::id::{RunId, UnitId};
use muster_proto::v1;
use muster_proto::v1::run_event::Event;

fn fact(sequence: u64, event: Event) -> v1::RunEvent {
    let cursor = Some(v1::Cursor {
        generation: 1,
        sequence,
    });
    v1::RunEvent {
        cursor,
        at: None,
        event: Some(event),
    }
}

fn facts(facts: Vec<v1::RunEvent>) -> Batch {
    Batch {
        facts,
        commits: Vec::new(),
    }
}

fn planned() -> Batch {
    facts(vec![fact(1, Event::Planned(v1::Planned::default()))])
}

fn committed(epoch: u64) -> Event {
    Event::Committed(v1::Committed {
        unit_id: "a".to_owned(),
        epoch,
        ..Default::default()
    })
}

fn commit(epoch: u64, result: &[u8]) -> Commit {
    Commit {
        unit: UnitId::from("a"),
        epoch,
        result: result.to_vec(),
    }
}

#[tokio::test]
async fn a_log_is_one_processes_until_it_is_let_go() {
    let dir = tempfile::tempdir().unwrap();
    let ours = EmbeddedRunStore::open(dir.path()).unwrap();
    let theirs = EmbeddedRunStore::open(dir.path()).unwrap();
    let run = RunId::generate();
    ours.create(&run, "key", planned()).await.unwrap();
    assert!(matches!(
        all_facts(&theirs, &run).await,
        Err(RunStoreError::Busy(_))
    ));
    assert!(theirs.take_over().await.unwrap().is_empty());
    // Both can still start runs of their own, and find each other's by key.
    theirs
        .create(&RunId::generate(), "", planned())
        .await
        .unwrap();
    assert_eq!(theirs.find("key").await.unwrap(), Some(run.clone()));
    assert_eq!(theirs.newest(10).await.unwrap().len(), 2);

    // A commit whose fact was not written before the end waits for its settlement.
    let batch = Batch {
        facts: vec![fact(2, committed(1))],
        commits: vec![commit(1, b"one"), commit(2, b"two")],
    };
    ours.append(&run, batch).await.unwrap();
    ours.append(
        &run,
        Batch {
            facts: Vec::new(),
            commits: vec![commit(2, b"late")],
        },
    )
    .await
    .unwrap();
    ours.close().await;
    let taken = theirs.take_over().await.unwrap();
    assert_eq!(taken.len(), 1);
    assert_eq!((&taken[0].run, taken[0].generation), (&run, 2));
    assert_eq!(
        taken[0].pending,
        [commit(2, b"two")],
        "the first result stands"
    );
    let Some(Event::Committed(committed)) = &taken[0].facts[1].event else {
        panic!("{taken:?}")
    };
    assert_eq!(
        committed.result, b"one",
        "its bytes are kept once and come back"
    );
    let ours = EmbeddedRunStore::open(dir.path()).unwrap();
    assert!(matches!(
        all_facts(&ours, &run).await,
        Err(RunStoreError::Busy(_))
    ));

    // A finished run is everybody's to read and nobody's to take.
    theirs
        .append(
            &run,
            facts(vec![fact(3, Event::Final(v1::Final::default()))]),
        )
        .await
        .unwrap();
    assert_eq!(all_facts(&ours, &run).await.unwrap().len(), 3);
    assert_eq!(ours.facts(&run, 1, 1).await.unwrap().len(), 1);
    assert!(ours.take_over().await.unwrap().is_empty());
}

#[tokio::test]
async fn old_finished_runs_are_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = EmbeddedRunStore::open(dir.path()).unwrap();
    let first = RunId::generate();
    store.create(&first, "first", planned()).await.unwrap();
    let second = RunId::generate();
    store.create(&second, "second", planned()).await.unwrap();
    store
        .append(
            &second,
            facts(vec![fact(2, Event::Final(v1::Final::default()))]),
        )
        .await
        .unwrap();
    for _ in 0..KEEP {
        store
            .create(&RunId::generate(), "", planned())
            .await
            .unwrap();
    }
    assert!(matches!(
        all_facts(&store, &second).await,
        Err(RunStoreError::NotFound(_))
    ));
    assert_eq!(store.find("second").await.unwrap(), None);
    assert_eq!(
        store.find("first").await.unwrap(),
        Some(first),
        "what is not over stays"
    );
}
