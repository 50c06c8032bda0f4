//! `muster cache`: what is recorded, and removing it.

use jiff::Timestamp;
use muster_cache_store::files::FileReplayStore;
use muster_cache_store::{EntryInfo, ReplayStore, StoreError, Swap};
use muster_proto::code::ErrorCode;
use muster_proto::recording::{Envelope, Recording};
use serde::Serialize;

use crate::args::{CacheArgs, CacheCommand};
use crate::env::Env;
use crate::failure::Failure;
use crate::fleet::NAMESPACE;
use crate::project::Project;

pub(crate) async fn cache(args: CacheArgs, env: &Env) -> Result<u8, Failure> {
    let project = Project::load(&args.project, env)?;
    let store = FileReplayStore::open(project.cache_dir()).map_err(unavailable)?;
    match args.command {
        CacheCommand::Ls { json } => ls(&store, json).await,
        CacheCommand::Clear { test } => clear(&store, test.as_deref()).await,
    }
}

/// What a listing shows of a recording.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    key: String,
    test: String,
    target: String,
    instruction_digest: String,
    recorded_at: String,
    node: String,
    actions: usize,
    bytes: u64,
    generation: u64,
    /// Why it can't replay or be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

async fn ls(store: &FileReplayStore, json: bool) -> Result<u8, Failure> {
    let mut rows = Vec::new();
    for info in entries(store).await? {
        // Gone since the listing: another run evicted it.
        if let Some(row) = row(store, &info).await? {
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| (&a.test, &a.instruction_digest).cmp(&(&b.test, &b.instruction_digest)));
    if json {
        println!(
            "{}",
            serde_json::to_string_pretty(&rows).expect("rows are plain data")
        );
        return Ok(0);
    }
    for row in &rows {
        let problem = row
            .problem
            .as_ref()
            .map(|problem| format!("  {problem}"))
            .unwrap_or_default();
        println!(
            "{}  {} [{}]  goal {}  {}  {} actions{problem}",
            &row.key[..row.key.len().min(12)],
            row.test,
            row.target,
            row.instruction_digest,
            age(&row.recorded_at),
            row.actions,
        );
    }
    println!("{} recordings", rows.len());
    Ok(0)
}

async fn row(store: &FileReplayStore, info: &EntryInfo) -> Result<Option<Row>, Failure> {
    let damaged = |problem: String| Row {
        key: info.key.0.clone(),
        test: "?".to_owned(),
        target: "?".to_owned(),
        instruction_digest: "?".to_owned(),
        recorded_at: String::new(),
        node: "?".to_owned(),
        actions: 0,
        bytes: info.size,
        generation: info.generation,
        problem: Some(problem),
    };
    let entry = match store.get(NAMESPACE, &info.key).await {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(None),
        Err(error @ StoreError::Damaged { .. }) => return Ok(Some(damaged(error.to_string()))),
        Err(error) => return Err(unavailable(error)),
    };
    let Ok(envelope) = serde_json::from_slice::<Envelope>(&entry.envelope) else {
        return Ok(Some(damaged("the envelope can't be read".to_owned())));
    };
    let recording = serde_json::from_str::<Recording>(&envelope.payload);
    let problem = match &recording {
        Ok(recording) => recording.truncated.clone(),
        Err(error) => Some(format!("the recording can't be read: {error}")),
    };
    Ok(Some(Row {
        key: info.key.0.clone(),
        test: envelope.provenance.test,
        target: envelope.provenance.target,
        instruction_digest: envelope.provenance.instruction_digest,
        recorded_at: envelope.provenance.recorded_at,
        node: envelope.provenance.node,
        actions: recording.map_or(0, |recording| recording.actions.len()),
        bytes: info.size,
        generation: entry.generation,
        problem,
    }))
}

async fn clear(store: &FileReplayStore, test: Option<&str>) -> Result<u8, Failure> {
    let mut removed = 0;
    for info in entries(store).await? {
        let wanted = match test {
            None => true,
            Some(part) => row(store, &info)
                .await?
                .is_some_and(|row| row.test.contains(part)),
        };
        if wanted {
            let swap = store
                .delete_if(NAMESPACE, &info.key, info.generation)
                .await
                .map_err(unavailable)?;
            removed += u32::from(matches!(swap, Swap::Done(_)));
        }
    }
    println!("{removed} recordings removed");
    Ok(0)
}

async fn entries(store: &FileReplayStore) -> Result<Vec<EntryInfo>, Failure> {
    let mut entries = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = store
            .list(NAMESPACE, "", cursor.as_deref())
            .await
            .map_err(unavailable)?;
        entries.extend(page.entries);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(entries);
        }
    }
}

fn age(recorded_at: &str) -> String {
    let Ok(then) = recorded_at.parse::<Timestamp>() else {
        return "unknown age".to_owned();
    };
    let seconds = Timestamp::now()
        .as_second()
        .saturating_sub(then.as_second())
        .max(0);
    match seconds {
        0..60 => format!("{seconds}s old"),
        60..3_600 => format!("{}min old", seconds / 60),
        3_600..172_800 => format!("{}h old", seconds / 3_600),
        _ => format!("{}d old", seconds / 86_400),
    }
}

fn unavailable(error: StoreError) -> Failure {
    Failure::new(ErrorCode::CacheUnavailable, error.to_string())
}
