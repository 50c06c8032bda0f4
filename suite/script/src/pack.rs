//! From a project to a bundle: every module that the test files reach, lowered, and the files of
//! `[bundle] include`.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use aho_corasick::AhoCorasick;
use muster_proto::code::ErrorCode;
use muster_proto::id::BlobDigest;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_suite::bundle::{Bundle, ModuleEntry, Packed, SCHEMA};
use muster_suite::config::Config;
use muster_suite::frame::{Limits, MAX_FRAME, ModuleSource, ToWorker, VERSION};
use muster_suite::glob::Globs;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::discover::files;
use crate::lower::lower;
use crate::resolve::{self, BUILTIN, Project};

/// Largest file of `[bundle] include`, bytes.
pub const MAX_FILE: u64 = 16 * 1024 * 1024;

/// All modules travel in one frame; this leaves room for its other parts.
const MAX_MODULES: usize = MAX_FRAME - 1024 * 1024;

/// Shorter values are refused as secrets (SECRET_UNAVAILABLE) and would match by accident.
const MIN_SECRET: usize = 6;

/// Packs what `test_files` (project-relative) need. `secrets` are the current values of declared
/// secrets, as far as the caller can read them.
///
/// # Errors
/// COLLECTION_ERROR with its place for a module that doesn't lower or an import that isn't
/// supported; SECRET_IN_BUNDLE for a dotfile or a file that holds a secret; INVALID_CONFIG for a
/// file that can't be read.
pub fn pack(
    project_dir: &Path,
    config: &Config,
    test_files: &[String],
    secrets: &[(String, Secret)],
) -> Result<Packed, Problem> {
    let project = Project::open(project_dir)
        .map_err(|error| unreadable(&project_dir.display().to_string(), &error))?;
    let guard = SecretGuard::new(secrets)?;
    let mut packer = Packer {
        project,
        guard,
        packed: Packed {
            bundle: Bundle {
                schema: SCHEMA,
                modules: BTreeMap::new(),
                files: BTreeMap::new(),
            },
            blobs: BTreeMap::new(),
        },
        frame_bytes: 0,
    };
    packer.modules(test_files)?;
    packer.files(config)?;
    Ok(packer.packed)
}

/// The request to collect `test_files` of what was packed.
///
/// # Errors
/// COLLECTION_ERROR if a module's blob is missing or is not text.
pub fn collect_request(
    packed: &Packed,
    test_files: Vec<String>,
    limits: Limits,
) -> Result<ToWorker, Problem> {
    let modules = run_modules(&packed.bundle, &packed.blobs)?;
    Ok(ToWorker::Collect {
        version: VERSION,
        modules,
        files: test_files,
        limits,
    })
}

/// The modules of a bundle as a worker takes them. `blobs` holds at least the lowered code and
/// the source map of each.
///
/// # Errors
/// COLLECTION_ERROR that names the module whose blob is missing or is not text.
pub fn run_modules(
    bundle: &Bundle,
    blobs: &BTreeMap<BlobDigest, Vec<u8>>,
) -> Result<BTreeMap<String, ModuleSource>, Problem> {
    let text = |path: &str, digest: &BlobDigest| {
        blobs
            .get(digest)
            .and_then(|bytes| String::from_utf8(bytes.clone()).ok())
            .ok_or_else(|| {
                Problem::new(
                    ErrorCode::CollectionError,
                    format!("blob {digest} of module `{path}` is missing or is not text"),
                )
            })
    };
    let source = |(path, entry): (&String, &ModuleEntry)| {
        Ok((
            path.clone(),
            ModuleSource {
                js: text(path, &entry.js)?,
                map: text(path, &entry.map)?,
            },
        ))
    };
    bundle.modules.iter().map(source).collect()
}

struct Packer {
    project: Project,
    guard: SecretGuard,
    packed: Packed,
    frame_bytes: usize,
}

impl Packer {
    fn modules(&mut self, test_files: &[String]) -> Result<(), Problem> {
        let mut waiting: VecDeque<String> = test_files.iter().cloned().collect();
        while let Some(path) = waiting.pop_front() {
            if self.packed.bundle.modules.contains_key(&path) {
                continue;
            }
            let bytes = std::fs::read(self.project.root().join(&path))
                .map_err(|error| unreadable(&path, &error))?;
            self.guard.check(&path, &bytes)?;
            let source = String::from_utf8(bytes).map_err(|_| {
                Problem::new(
                    ErrorCode::CollectionError,
                    format!("`{path}` is not UTF-8 text"),
                )
            })?;
            let project = &self.project;
            let lowered = lower(&path, &source, &mut |specifier| {
                let name = project.resolve(&path, specifier)?;
                if name != BUILTIN {
                    waiting.push_back(name.clone());
                }
                Ok(name)
            })?;
            self.frame_bytes += lowered.js.len() + lowered.map.len();
            if self.frame_bytes > MAX_MODULES {
                let message = format!(
                    "the suite's modules exceed {} MiB with `{path}`; import less, or smaller packages",
                    MAX_MODULES / 1024 / 1024
                );
                return Err(Problem::new(ErrorCode::CollectionError, message));
            }
            let entry = ModuleEntry {
                source: self.blob(source.into_bytes()),
                js: self.blob(lowered.js.into_bytes()),
                map: self.blob(lowered.map.into_bytes()),
            };
            self.packed.bundle.modules.insert(path, entry);
        }
        Ok(())
    }

    fn files(&mut self, config: &Config) -> Result<(), Problem> {
        if config.bundle.include.is_empty() {
            return Ok(());
        }
        let globs = Globs::new(&config.bundle.include)
            .map_err(|message| Problem::new(ErrorCode::InvalidConfig, message))?;
        let root = self.project.root().to_owned();
        for path in files(&root, &|name| {
            !matches!(name, ".git" | ".muster" | "node_modules")
        })? {
            if !globs.contains(&path) {
                continue;
            }
            if resolve::is_dotfile(&path) {
                let message = format!(
                    "`{path}` is a dotfile, and those are never packed; exclude it: \"!{path}\" in [bundle] include"
                );
                return Err(Problem::new(ErrorCode::SecretInBundle, message));
            }
            let full = root.join(&path);
            let inside = full
                .canonicalize()
                .is_ok_and(|real| real.starts_with(&root));
            let size = std::fs::metadata(&full)
                .map_err(|error| unreadable(&path, &error))?
                .len();
            if !inside || size > MAX_FILE {
                let why = if inside {
                    format!("has {size} bytes; the most is {MAX_FILE}")
                } else {
                    "leads out of the project by a link".to_owned()
                };
                return Err(Problem::new(
                    ErrorCode::InvalidConfig,
                    format!("`{path}` of [bundle] include {why}"),
                ));
            }
            let bytes = std::fs::read(&full).map_err(|error| unreadable(&path, &error))?;
            self.guard.check(&path, &bytes)?;
            let digest = self.blob(bytes);
            self.packed.bundle.files.insert(path, digest);
        }
        Ok(())
    }

    fn blob(&mut self, bytes: Vec<u8>) -> BlobDigest {
        let digest = BlobDigest::of(&bytes);
        self.packed.blobs.insert(digest.clone(), bytes);
        digest
    }
}

fn unreadable(path: &str, error: &std::io::Error) -> Problem {
    Problem::new(
        ErrorCode::InvalidConfig,
        format!("`{path}` can't be read: {error}"),
    )
}

/// Finds secrets in files: as written, as JSON and percent-encoded.
struct SecretGuard {
    /// One name per pattern of `matcher`.
    names: Vec<String>,
    matcher: Option<AhoCorasick>,
}

impl SecretGuard {
    fn new(secrets: &[(String, Secret)]) -> Result<Self, Problem> {
        let mut names = Vec::new();
        let mut patterns = Vec::new();
        for (name, secret) in secrets {
            let value = secret.expose();
            if value.chars().count() < MIN_SECRET {
                continue;
            }
            let json = serde_json::Value::from(value).to_string();
            let encoded = utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
            for pattern in [value.to_owned(), json.trim_matches('"').to_owned(), encoded] {
                names.push(name.clone());
                patterns.push(pattern);
            }
        }
        let matcher = (!patterns.is_empty())
            .then(|| AhoCorasick::new(patterns))
            .transpose()
            .map_err(|error| {
                Problem::new(
                    ErrorCode::SecretInBundle,
                    format!("the secrets can't be searched for: {error}"),
                )
            })?;
        Ok(Self { names, matcher })
    }

    fn check(&self, path: &str, bytes: &[u8]) -> Result<(), Problem> {
        let Some(found) = self
            .matcher
            .as_ref()
            .and_then(|matcher| matcher.find(bytes))
        else {
            return Ok(());
        };
        let name = &self.names[found.pattern().as_usize()];
        let message = format!(
            "`{path}` holds the value of the secret `{name}`; take it out and use secrets.get('{name}')"
        );
        Err(Problem::new(ErrorCode::SecretInBundle, message))
    }
}
