//! Runs in a directory: one redb file each, `<run id>.redb`, held exclusively by the process that
//! writes it, so that several `muster` commands share the directory. `keys/` maps idempotency keys
//! to runs.
//!
//! Tables of a file: `meta` (generation, key), `facts` (number → RunEvent), `commits` (unit, epoch
//! → result bytes). A committed result is stored once: its fact is kept without the bytes and gets
//! them back when read.
//!
//! History of the layout: 1 = first.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use async_trait::async_trait;
use muster_proto::canonical::sha256_hex;
use muster_proto::id::{RunId, UnitId};
use muster_proto::v1;
use muster_proto::v1::run_event::Event;
use prost::Message;
use redb::{Database, DatabaseError, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Batch, Commit, RunStore, RunStoreError, Unfinished};

const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
const FACTS: TableDefinition<u64, &[u8]> = TableDefinition::new("facts");
const COMMITS: TableDefinition<(&str, u64), &[u8]> = TableDefinition::new("commits");

/// Finished runs beyond the newest this many are removed.
pub const KEEP: usize = 100;
/// Pages kept in memory per open run, bytes.
const CACHE: usize = 4 * 1024 * 1024;
const SUFFIX: &str = ".redb";

/// Runs in a directory.
#[derive(Clone)]
pub struct EmbeddedRunStore {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    open: Mutex<HashMap<RunId, Handle>>,
    /// Whether the store is closed; held for reading by whatever uses a file, since work on a
    /// blocking thread goes on when its caller is gone.
    closed: RwLock<bool>,
}

struct Handle {
    db: Arc<Database>,
    /// This process writes it: it stays open, and so locked, until its final fact.
    ours: bool,
}

impl EmbeddedRunStore {
    /// A store in `dir`, which is made (0700) if it is missing.
    pub fn open(dir: impl Into<PathBuf>) -> std::io::Result<Self> {
        let dir = dir.into();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir.join("keys"))?;
        Ok(Self {
            inner: Arc::new(Inner {
                dir,
                open: Mutex::new(HashMap::new()),
                closed: RwLock::new(false),
            }),
        })
    }

    async fn blocking<T: Send + 'static>(
        &self,
        run: &RunId,
        work: impl FnOnce(&Inner, &RunId) -> Result<T, RunStoreError> + Send + 'static,
    ) -> Result<T, RunStoreError> {
        let (inner, id) = (self.inner.clone(), run.clone());
        let guarded = move || {
            let closed = inner.closed.read().unwrap_or_else(PoisonError::into_inner);
            if *closed {
                Err(failed(&id, "the coordinator is closed"))
            } else {
                work(&inner, &id)
            }
        };
        match tokio::task::spawn_blocking(guarded).await {
            Ok(done) => done,
            Err(join) => Err(failed(run, join)),
        }
    }
}

#[async_trait]
impl RunStore for EmbeddedRunStore {
    async fn create(&self, run: &RunId, key: &str, first: Batch) -> Result<(), RunStoreError> {
        let key = key.to_owned();
        self.blocking(run, move |inner, run| inner.create(run, &key, first))
            .await
    }

    async fn append(&self, run: &RunId, batch: Batch) -> Result<(), RunStoreError> {
        self.blocking(run, move |inner, run| inner.append(run, batch))
            .await
    }

    async fn facts(
        &self,
        run: &RunId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<v1::RunEvent>, RunStoreError> {
        self.blocking(run, move |inner, run| {
            inner.with(run, |db| read_facts(run, db, after, limit))
        })
        .await
    }

    async fn generation(&self, run: &RunId) -> Result<u64, RunStoreError> {
        self.blocking(run, |inner, run| {
            inner.with(run, |db| read_generation(run, db))
        })
        .await
    }

    async fn find(&self, key: &str) -> Result<Option<RunId>, RunStoreError> {
        if key.is_empty() {
            return Ok(None);
        }
        let path = self.inner.key_file(key);
        self.blocking(&RunId(String::new()), move |inner, _| {
            let Ok(text) = fs::read_to_string(path) else {
                return Ok(None);
            };
            let run = RunId(text.trim().to_owned());
            Ok(inner.file(&run).filter(|file| file.exists()).map(|_| run))
        })
        .await
    }

    async fn newest(&self, limit: usize) -> Result<Vec<RunId>, RunStoreError> {
        self.blocking(&RunId(String::new()), move |inner, _| {
            let mut runs = inner.list()?;
            runs.truncate(limit);
            Ok(runs)
        })
        .await
    }

    async fn take_over(&self) -> Result<Vec<Unfinished>, RunStoreError> {
        self.blocking(&RunId(String::new()), |inner, _| {
            let mut taken = Vec::new();
            for run in inner.list()? {
                match inner.take_over(&run) {
                    Ok(unfinished) => taken.extend(unfinished),
                    Err(RunStoreError::Busy(_) | RunStoreError::NotFound(_)) => {}
                    // One broken file must not keep the others from going on.
                    Err(error) => tracing::warn!(muster.run.id = %run, %error, "an unfinished run is left alone"),
                }
            }
            // The oldest goes first again.
            taken.reverse();
            Ok(taken)
        })
        .await
    }

    async fn close(&self) {
        // Closing a file writes to it.
        let inner = self.inner.clone();
        let closed = tokio::task::spawn_blocking(move || {
            *inner.closed.write().unwrap_or_else(PoisonError::into_inner) = true;
            inner.handles().clear();
        })
        .await;
        if let Err(error) = closed {
            tracing::warn!(%error, "the runs' files were not closed in order");
        }
    }
}

impl Inner {
    /// The run's file; `None` for a text that is no run id, so that no name leaves the directory.
    fn file(&self, run: &RunId) -> Option<PathBuf> {
        uuid::Uuid::try_parse(run.as_str()).ok()?;
        Some(self.dir.join(format!("{run}{SUFFIX}")))
    }

    fn key_file(&self, key: &str) -> PathBuf {
        self.dir.join("keys").join(sha256_hex(key.as_bytes()))
    }

    fn handles(&self) -> MutexGuard<'_, HashMap<RunId, Handle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Newest first: run ids are ordered by time.
    fn list(&self) -> Result<Vec<RunId>, RunStoreError> {
        let fail = |error| failed(&RunId(self.dir.display().to_string()), error);
        let mut runs = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(fail)? {
            let name = entry.map_err(fail)?.file_name();
            let run = name
                .to_str()
                .and_then(|name| name.strip_suffix(SUFFIX))
                .map(|id| RunId(id.to_owned()));
            runs.extend(run.filter(|run| self.file(run).is_some()));
        }
        runs.sort_unstable_by(|a, b| b.cmp(a));
        Ok(runs)
    }

    fn create(&self, run: &RunId, key: &str, first: Batch) -> Result<(), RunStoreError> {
        let path = self
            .file(run)
            .ok_or_else(|| RunStoreError::NotFound(run.clone()))?;
        // Under another name until it holds its first facts: others only look at whole logs.
        let draft = path.with_extension("new");
        let db = builder()
            .create(&draft)
            .map_err(|error| failed(run, error))?;
        write(run, &db, first, |tx| {
            let mut meta = tx.open_table(META)?;
            meta.insert("generation", 1u64.to_be_bytes().as_slice())?;
            meta.insert("key", key.as_bytes())?;
            Ok(())
        })?;
        fs::rename(&draft, &path).map_err(|error| failed(run, error))?;
        sync_dir(&self.dir).map_err(|error| failed(run, error))?;
        self.handles().insert(
            run.clone(),
            Handle {
                db: Arc::new(db),
                ours: true,
            },
        );
        if !key.is_empty() {
            fs::write(self.key_file(key), run.as_str()).map_err(|error| failed(run, error))?;
        }
        self.prune()
    }

    fn append(&self, run: &RunId, batch: Batch) -> Result<(), RunStoreError> {
        let over = batch
            .facts
            .iter()
            .any(|fact| matches!(fact.event, Some(Event::Final(_))));
        self.with(run, |db| write(run, db, batch, |_| Ok(())))?;
        if over && let Some(handle) = self.handles().get_mut(run) {
            handle.ours = false;
        }
        self.close_idle(run);
        Ok(())
    }

    fn take_over(&self, run: &RunId) -> Result<Option<Unfinished>, RunStoreError> {
        if self.handles().get(run).is_some_and(|handle| handle.ours) {
            return Ok(None);
        }
        self.with(run, |db| {
            let facts = read_facts(run, db, 0, usize::MAX)?;
            if matches!(
                facts.last().map(|fact| &fact.event),
                None | Some(Some(Event::Final(_)))
            ) {
                return Ok(None);
            }
            let generation = read_generation(run, db)? + 1;
            write(run, db, Batch::default(), |tx| {
                tx.open_table(META)?
                    .insert("generation", generation.to_be_bytes().as_slice())?;
                Ok(())
            })?;
            let pending = read_pending(run, db, &facts)?;
            // Still in the reach of `with`, so that the lock is never let go in between.
            if let Some(handle) = self.handles().get_mut(run) {
                handle.ours = true;
            }
            Ok(Some(Unfinished {
                run: run.clone(),
                generation,
                facts,
                pending,
            }))
        })
    }

    /// Runs `work` on the run's file, opening it if need be and closing it again unless this
    /// process writes it.
    fn with<T>(
        &self,
        run: &RunId,
        work: impl FnOnce(&Database) -> Result<T, RunStoreError>,
    ) -> Result<T, RunStoreError> {
        let db = self.database(run)?;
        let done = work(&db);
        drop(db);
        self.close_idle(run);
        done
    }

    fn database(&self, run: &RunId) -> Result<Arc<Database>, RunStoreError> {
        let missing = || RunStoreError::NotFound(run.clone());
        let path = self.file(run).ok_or_else(missing)?;
        let mut handles = self.handles();
        if let Some(handle) = handles.get(run) {
            return Ok(handle.db.clone());
        }
        if !path.exists() {
            return Err(missing());
        }
        let db = builder().open(&path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => RunStoreError::Busy(run.clone()),
            error => failed(run, error),
        })?;
        let db = Arc::new(db);
        handles.insert(
            run.clone(),
            Handle {
                db: db.clone(),
                ours: false,
            },
        );
        Ok(db)
    }

    fn close_idle(&self, run: &RunId) {
        let mut handles = self.handles();
        if handles
            .get(run)
            .is_some_and(|handle| !handle.ours && Arc::strong_count(&handle.db) == 1)
        {
            handles.remove(run);
        }
    }

    /// Removes finished runs beyond [`KEEP`].
    fn prune(&self) -> Result<(), RunStoreError> {
        for run in self.list()?.into_iter().skip(KEEP) {
            let key = self.with(&run, |db| {
                let last = read_last(&run, db)?;
                let over = matches!(last.and_then(|fact| fact.event), Some(Event::Final(_)));
                if over {
                    read_key(&run, db).map(Some)
                } else {
                    Ok(None)
                }
            });
            let (Ok(Some(key)), Some(path)) = (key, self.file(&run)) else {
                continue;
            };
            if let Err(error) = fs::remove_file(&path) {
                tracing::warn!(muster.run.id = %run, %error, "an old run can't be removed");
            }
            if !key.is_empty() {
                // A newer run may have the key by now; losing it only means a run of its own.
                fs::remove_file(self.key_file(&key)).unwrap_or_default();
            }
        }
        Ok(())
    }
}

fn builder() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE);
    builder
}

fn sync_dir(dir: &Path) -> std::io::Result<()> {
    File::open(dir)?.sync_all()
}

/// One durable step.
fn write(
    run: &RunId,
    db: &Database,
    batch: Batch,
    more: impl FnOnce(&redb::WriteTransaction) -> Result<(), redb::Error>,
) -> Result<(), RunStoreError> {
    let work = || -> Result<(), redb::Error> {
        let tx = db.begin_write()?;
        {
            let mut commits = tx.open_table(COMMITS)?;
            for commit in &batch.commits {
                let name = (commit.unit.as_str(), commit.epoch);
                if commits.get(name)?.is_none() {
                    commits.insert(name, commit.result.as_slice())?;
                }
            }
            let mut facts = tx.open_table(FACTS)?;
            for mut fact in batch.facts {
                if let Some(Event::Committed(committed)) = &mut fact.event {
                    committed.result.clear();
                }
                let number = fact.cursor.as_ref().map_or(0, |cursor| cursor.sequence);
                facts.insert(number, fact.encode_to_vec().as_slice())?;
            }
        }
        more(&tx)?;
        tx.commit()?;
        Ok(())
    };
    work().map_err(|error| failed(run, error))
}

fn read_facts(
    run: &RunId,
    db: &Database,
    after: u64,
    limit: usize,
) -> Result<Vec<v1::RunEvent>, RunStoreError> {
    let work = || -> Result<Vec<v1::RunEvent>, redb::Error> {
        let tx = db.begin_read()?;
        let (facts, commits) = (tx.open_table(FACTS)?, tx.open_table(COMMITS)?);
        let mut found = Vec::new();
        for entry in facts.range(after.saturating_add(1)..)?.take(limit) {
            let mut fact = decode(entry?.1.value())?;
            if let Some(Event::Committed(committed)) = &mut fact.event
                && let Some(result) = commits.get((committed.unit_id.as_str(), committed.epoch))?
            {
                committed.result = result.value().to_vec();
            }
            found.push(fact);
        }
        Ok(found)
    };
    work().map_err(|error| failed(run, error))
}

fn read_last(run: &RunId, db: &Database) -> Result<Option<v1::RunEvent>, RunStoreError> {
    let work = || -> Result<Option<v1::RunEvent>, redb::Error> {
        let facts = db.begin_read()?.open_table(FACTS)?;
        facts
            .last()?
            .map(|(_, bytes)| decode(bytes.value()))
            .transpose()
    };
    work().map_err(|error| failed(run, error))
}

fn read_pending(
    run: &RunId,
    db: &Database,
    facts: &[v1::RunEvent],
) -> Result<Vec<Commit>, RunStoreError> {
    let done: std::collections::HashSet<_> = facts
        .iter()
        .filter_map(|fact| match &fact.event {
            Some(Event::Committed(committed)) => {
                Some((committed.unit_id.as_str(), committed.epoch))
            }
            _ => None,
        })
        .collect();
    let work = || -> Result<Vec<Commit>, redb::Error> {
        let commits = db.begin_read()?.open_table(COMMITS)?;
        let mut pending = Vec::new();
        for entry in commits.iter()? {
            let (name, result) = entry?;
            let (unit, epoch) = name.value();
            if !done.contains(&(unit, epoch)) {
                pending.push(Commit {
                    unit: UnitId(unit.to_owned()),
                    epoch,
                    result: result.value().to_vec(),
                });
            }
        }
        Ok(pending)
    };
    work().map_err(|error| failed(run, error))
}

fn read_meta(run: &RunId, db: &Database, name: &str) -> Result<Vec<u8>, RunStoreError> {
    let work = || -> Result<Vec<u8>, redb::Error> {
        let meta = db.begin_read()?.open_table(META)?;
        Ok(meta
            .get(name)?
            .map(|value| value.value().to_vec())
            .unwrap_or_default())
    };
    work().map_err(|error| failed(run, error))
}

fn read_generation(run: &RunId, db: &Database) -> Result<u64, RunStoreError> {
    let bytes = read_meta(run, db, "generation")?;
    let bytes = bytes
        .try_into()
        .map_err(|_| failed(run, "it has no generation"))?;
    Ok(u64::from_be_bytes(bytes))
}

fn read_key(run: &RunId, db: &Database) -> Result<String, RunStoreError> {
    Ok(String::from_utf8_lossy(&read_meta(run, db, "key")?).into_owned())
}

fn decode(bytes: &[u8]) -> Result<v1::RunEvent, redb::Error> {
    v1::RunEvent::decode(bytes).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

fn failed(run: &RunId, reason: impl std::fmt::Display) -> RunStoreError {
    RunStoreError::Failed {
        run: run.clone(),
        reason: reason.to_string(),
    }
}
