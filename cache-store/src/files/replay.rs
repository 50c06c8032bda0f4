//! Recordings as files.
//!
//! An entry is one file: a header line with its generation, then the envelope's bytes as they
//! came. Writers of a key hold a lock file; readers need none, since a file is replaced whole. When
//! an entry goes, its generation moves into the lock file, so that a later write continues the
//! count and a node that read the deleted entry can't overwrite the new one.
//!
//! History of the header: `muster-entry/1 <generation>` = first.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use muster_proto::id::ReplayKey;
use muster_proto::recording::MAX_BYTES;
use nix::fcntl::Flock;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::{STORE, blocking, disk};
use crate::{Entry, EntryInfo, Page, ReplayStore, StoreError, Swap};

const HEADER: &str = "muster-entry/1 ";
const SUFFIX: &str = ".entry";
/// Most entries in a page of a listing.
const PAGE: usize = 1000;
/// Namespaces and keys become file names: what could leave the directory is escaped.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_');

/// Entries at `<root>/<namespace>/<key>.entry`, locks at `<root>/<namespace>/locks/<key>`.
#[derive(Clone, Debug)]
pub struct FileReplayStore {
    root: PathBuf,
}

impl FileReplayStore {
    /// A store in `root`, which is made (0700) if it is missing.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let root = root.into();
        disk::private_dir(&root)?;
        Ok(Self { root })
    }

    fn namespace(&self, namespace: &str) -> PathBuf {
        self.root.join(escape(namespace))
    }

    fn files(&self, namespace: &str, key: &ReplayKey) -> Files {
        let dir = self.namespace(namespace);
        let name = escape(key.as_str());
        Files {
            entry: dir.join(format!("{name}{SUFFIX}")),
            lock: dir.join("locks").join(name),
            key: key.clone(),
        }
    }
}

/// The two files of a key.
struct Files {
    entry: PathBuf,
    lock: PathBuf,
    key: ReplayKey,
}

impl Files {
    fn read(&self) -> Result<Option<Entry>, StoreError> {
        let Some(mut bytes) = disk::read(&self.entry)? else {
            return Ok(None);
        };
        let end = bytes
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(bytes.len());
        let generation =
            parse_header(&bytes[..end]).ok_or_else(|| self.damaged("its header is broken"))?;
        bytes.drain(..(end + 1).min(bytes.len()));
        Ok(Some(Entry {
            generation,
            envelope: bytes,
        }))
    }

    fn info(&self) -> Result<Option<EntryInfo>, StoreError> {
        let file = match File::open(&self.entry) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(disk::unavailable(&self.entry, &error)),
        };
        let whole = file
            .metadata()
            .map_err(|error| disk::unavailable(&self.entry, &error))?
            .len();
        let mut header = Vec::new();
        BufReader::new(file.take(64))
            .read_until(b'\n', &mut header)
            .map_err(|error| disk::unavailable(&self.entry, &error))?;
        let size = whole - header.len() as u64;
        let generation = parse_header(header.trim_ascii_end())
            .ok_or_else(|| self.damaged("its header is broken"))?;
        Ok(Some(EntryInfo {
            key: self.key.clone(),
            generation,
            size,
        }))
    }

    fn put_if(&self, expected: u64, envelope: &[u8]) -> Result<Swap, StoreError> {
        let mut lock = self.lock()?;
        let current = self.current()?;
        if current != expected {
            return Ok(Swap::Conflict(current));
        }
        let last = if current == 0 {
            self.deleted_at(&mut lock)?
        } else {
            current
        };
        let generation = last + 1;
        disk::replace(
            &self.entry,
            &[format!("{HEADER}{generation}\n").as_bytes(), envelope],
        )?;
        Ok(Swap::Done(generation))
    }

    fn delete_if(&self, expected: u64) -> Result<Swap, StoreError> {
        let mut lock = self.lock()?;
        let current = self.current()?;
        if current != expected {
            return Ok(Swap::Conflict(current));
        }
        if current == 0 {
            return self.remove_damaged();
        }
        // First the count, then the entry: a crash in between leaves the entry, whose own
        // generation is the one that counts.
        self.remember(&mut lock, current)?;
        fs::remove_file(&self.entry).map_err(|error| disk::unavailable(&self.entry, &error))?;
        Ok(Swap::Done(0))
    }

    /// Removes a file that has no generation of its own; the count in the lock file stands.
    fn remove_damaged(&self) -> Result<Swap, StoreError> {
        match fs::remove_file(&self.entry) {
            Ok(()) => Ok(Swap::Done(0)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Swap::Conflict(0)),
            Err(error) => Err(disk::unavailable(&self.entry, &error)),
        }
    }

    fn lock(&self) -> Result<Flock<File>, StoreError> {
        disk::private_dir(self.lock.parent().unwrap_or(Path::new(".")))?;
        disk::lock(&self.lock)
    }

    /// The generation now; 0 = no entry. A damaged entry counts as none, so that whoever read it,
    /// and expects none, can replace it.
    fn current(&self) -> Result<u64, StoreError> {
        match self.info() {
            Ok(info) => Ok(info.map_or(0, |info| info.generation)),
            Err(StoreError::Damaged { .. }) => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The generation of the entry that was deleted last; 0 = none was.
    fn deleted_at(&self, lock: &mut Flock<File>) -> Result<u64, StoreError> {
        let mut text = String::new();
        lock.rewind()
            .and_then(|()| lock.read_to_string(&mut text))
            .map_err(|error| disk::unavailable(&self.lock, &error))?;
        if text.is_empty() {
            Ok(0)
        } else {
            text.trim()
                .parse()
                .map_err(|_| self.damaged("its lock file is broken"))
        }
    }

    fn remember(&self, lock: &mut Flock<File>, generation: u64) -> Result<(), StoreError> {
        let text = format!("{generation}\n");
        lock.rewind()
            .and_then(|()| lock.write_all(text.as_bytes()))
            .and_then(|()| lock.set_len(text.len() as u64))
            .and_then(|()| lock.sync_all())
            .map_err(|error| disk::unavailable(&self.lock, &error))
    }

    fn damaged(&self, reason: &str) -> StoreError {
        StoreError::Damaged {
            store: STORE,
            key: self.key.0.clone(),
            reason: reason.to_owned(),
        }
    }
}

#[async_trait]
impl ReplayStore for FileReplayStore {
    async fn get(&self, namespace: &str, key: &ReplayKey) -> Result<Option<Entry>, StoreError> {
        let files = self.files(namespace, key);
        blocking(move || files.read()).await
    }

    async fn put_if(
        &self,
        namespace: &str,
        key: &ReplayKey,
        expected: u64,
        envelope: &[u8],
    ) -> Result<Swap, StoreError> {
        if envelope.len() > MAX_BYTES {
            return Err(StoreError::TooLarge {
                what: format!("recording {key}"),
                size: envelope.len() as u64,
                limit: MAX_BYTES as u64,
            });
        }
        let files = self.files(namespace, key);
        let envelope = envelope.to_vec();
        blocking(move || files.put_if(expected, &envelope)).await
    }

    async fn delete_if(
        &self,
        namespace: &str,
        key: &ReplayKey,
        expected: u64,
    ) -> Result<Swap, StoreError> {
        let files = self.files(namespace, key);
        blocking(move || files.delete_if(expected)).await
    }

    async fn info(
        &self,
        namespace: &str,
        key: &ReplayKey,
    ) -> Result<Option<EntryInfo>, StoreError> {
        let files = self.files(namespace, key);
        blocking(move || files.info()).await
    }

    async fn list(
        &self,
        namespace: &str,
        prefix: &str,
        cursor: Option<&str>,
    ) -> Result<Page, StoreError> {
        let store = self.clone();
        let (namespace, prefix) = (namespace.to_owned(), prefix.to_owned());
        let cursor = cursor.map(str::to_owned);
        blocking(move || store.page(&namespace, &prefix, cursor.as_deref())).await
    }
}

impl FileReplayStore {
    /// A cursor is the last key of the page before.
    fn page(
        &self,
        namespace: &str,
        prefix: &str,
        cursor: Option<&str>,
    ) -> Result<Page, StoreError> {
        let mut keys = self.keys(&self.namespace(namespace))?;
        keys.retain(|key| {
            key.starts_with(prefix) && cursor.is_none_or(|cursor| key.as_str() > cursor)
        });
        keys.sort_unstable();
        let more = keys.len() > PAGE;
        keys.truncate(PAGE);
        let next = if more { keys.last().cloned() } else { None };
        let mut entries = Vec::with_capacity(keys.len());
        for key in keys {
            match self.files(namespace, &ReplayKey(key)).info() {
                Ok(Some(info)) => entries.push(info),
                // Gone since the directory was read.
                Ok(None) => {}
                // Told, so that it can be seen and removed.
                Err(StoreError::Damaged { key, .. }) => entries.push(EntryInfo {
                    key: ReplayKey(key),
                    generation: 0,
                    size: 0,
                }),
                Err(error) => return Err(error),
            }
        }
        Ok(Page { entries, next })
    }

    fn keys(&self, dir: &Path) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(disk::unavailable(dir, &error)),
        };
        let mut keys = Vec::new();
        for entry in entries {
            let name = entry
                .map_err(|error| disk::unavailable(dir, &error))?
                .file_name();
            let key = name
                .to_str()
                .and_then(|name| name.strip_suffix(SUFFIX))
                .and_then(unescape);
            keys.extend(key);
        }
        Ok(keys)
    }
}

fn parse_header(line: &[u8]) -> Option<u64> {
    let generation = std::str::from_utf8(line)
        .ok()?
        .strip_prefix(HEADER)?
        .parse()
        .ok()?;
    (generation > 0).then_some(generation)
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

fn unescape(name: &str) -> Option<String> {
    percent_decode_str(name)
        .decode_utf8()
        .ok()
        .map(|text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_damaged_entry_is_reported_listed_and_can_be_replaced_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileReplayStore::open(dir.path()).unwrap();
        let key = ReplayKey::from("aa");
        store.put_if("local", &key, 0, b"{}").await.unwrap();
        fs::write(dir.path().join("local/aa.entry"), b"{\"no\": \"header\"}").unwrap();
        let error = store.get("local", &key).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        let listed = store.list("local", "", None).await.unwrap().entries;
        assert_eq!(
            listed
                .iter()
                .map(|info| info.generation)
                .collect::<Vec<_>>(),
            [0]
        );
        assert!(matches!(
            store.put_if("local", &key, 0, b"{}").await.unwrap(),
            Swap::Done(_)
        ));
        assert_eq!(
            store.get("local", &key).await.unwrap().unwrap().envelope,
            b"{}"
        );
        fs::write(dir.path().join("local/aa.entry"), b"again").unwrap();
        assert_eq!(
            store.delete_if("local", &key, 0).await.unwrap(),
            Swap::Done(0)
        );
        assert_eq!(store.get("local", &key).await.unwrap(), None);
        assert_eq!(
            store.delete_if("local", &key, 0).await.unwrap(),
            Swap::Conflict(0)
        );
    }

    #[tokio::test]
    async fn names_never_leave_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let store = FileReplayStore::open(dir.path().join("cache")).unwrap();
        let key = ReplayKey::from("../../up");
        store.put_if("..", &key, 0, b"{}").await.unwrap();
        assert_eq!(
            store.list("..", "../", None).await.unwrap().entries[0].key,
            key
        );
        let names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["cache"]);
    }

    #[tokio::test]
    async fn one_of_many_writers_at_once_wins() {
        let dir = tempfile::tempdir().unwrap();
        let key = ReplayKey::from("aa");
        let mut writers = tokio::task::JoinSet::new();
        for n in 0..16 {
            // A store each, as separate processes would have.
            let store = FileReplayStore::open(dir.path()).unwrap();
            let key = key.clone();
            writers.spawn(async move {
                store
                    .put_if("local", &key, 0, format!("{{\"n\":{n}}}").as_bytes())
                    .await
                    .unwrap()
            });
        }
        let swaps = writers.join_all().await;
        assert_eq!(
            swaps.iter().filter(|swap| **swap == Swap::Done(1)).count(),
            1
        );
        assert_eq!(
            swaps
                .iter()
                .filter(|swap| **swap == Swap::Conflict(1))
                .count(),
            15
        );
    }
}
