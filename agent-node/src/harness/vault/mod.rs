//! A node's secrets for one attempt: where each comes from, and what is known of it already.
//!
//! Values of variables and files are read when the attempt begins, so that they are redacted from
//! its first line on, and again at each fill, so that a rotated value counts. A command runs at its
//! fill, without a shell, and its standard error is never read. Whatever [`Vault::resolve`] yields
//! is for the harness alone. The vault also keeps the attempt's redactor, which grows with each value
//! that comes to be known; whoever holds a vault redacts by what is known by then.

mod totp;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_providers::child::{CommandLine, CommandSpec, Pipe, Supervisor};
use muster_redact::Redactor;
use muster_suite::config::SecretSource;
use muster_suite::config::node::NodePolicy;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use totp::Totp;

/// Longest value of a file or a command, bytes.
const MAX_VALUE: u64 = 64 << 10;

/// Most time for a command.
const COMMAND: Duration = Duration::from_secs(10);

/// Secrets of an attempt.
#[derive(Clone)]
pub struct Vault(Arc<Shelf>);

struct Shelf {
    /// Where they are found.
    sources: BTreeMap<String, SecretSource>,
    /// Values that were there at the start.
    known: BTreeMap<String, Secret>,
    /// None = the values above are all there is.
    ground: Option<Ground>,
    /// Knows them, and what was learned since.
    redactor: RwLock<Arc<Redactor>>,
}

/// What sources stand on.
pub struct Ground {
    /// The node's environment.
    pub env: Arc<BTreeMap<String, String>>,
    /// Where relative files and programs are.
    pub folder: PathBuf,
    /// Starts commands.
    pub supervisor: Supervisor,
    /// Whose sources count.
    pub policy: Arc<NodePolicy>,
}

/// A value at its fill, and what else an app may show once it has it.
pub(super) struct Resolved {
    /// What is filled.
    pub(super) value: Secret,
    /// The seed and the neighbouring codes of a one-time code; empty for anything else.
    pub(super) beside: Vec<Secret>,
}

impl From<Arc<BTreeMap<String, Secret>>> for Vault {
    /// Values that are given, and come from nowhere else.
    fn from(known: Arc<BTreeMap<String, Secret>>) -> Self {
        Self::of(BTreeMap::new(), (*known).clone(), None)
    }
}

impl Vault {
    /// The secrets that a run declares, on this node. What has no value yet is told at its fill.
    pub async fn open(declared: &BTreeMap<String, SecretSource>, ground: Ground) -> Self {
        let sources = match &*ground.policy {
            NodePolicy::Project => declared.clone(),
            NodePolicy::Own(file) => file
                .secrets
                .iter()
                .filter(|(name, _)| declared.contains_key(*name))
                .map(|(name, source)| (name.clone(), source.clone()))
                .collect(),
        };
        let mut known = BTreeMap::new();
        for (name, source) in &sources {
            if !source.command.is_empty() {
                continue;
            }
            if let Ok(value) = ground.value(name, source).await {
                known.insert(name.clone(), value);
            }
        }
        Self::of(sources, known, Some(ground))
    }

    fn of(
        sources: BTreeMap<String, SecretSource>,
        known: BTreeMap<String, Secret>,
        ground: Option<Ground>,
    ) -> Self {
        Self(Arc::new(Shelf {
            redactor: RwLock::new(Arc::new(Redactor::new(&known))),
            sources,
            known,
            ground,
        }))
    }

    /// Takes out every value that is known by now, seeds of one-time codes among them.
    pub fn redactor(&self) -> Arc<Redactor> {
        let redactor = self.0.redactor.read();
        Arc::clone(&redactor.unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes in a value that came to be known. Values known before stay known.
    pub(super) fn learn(&self, name: &str, value: &Secret) {
        let redactor = self.0.redactor.write();
        let mut redactor = redactor.unwrap_or_else(PoisonError::into_inner);
        *redactor = Arc::new(redactor.with(name, value));
    }

    /// The machine's own declaration of a secret; none where the project's counts.
    pub(super) fn own(&self, name: &str) -> Option<&SecretSource> {
        match &*self.0.ground.as_ref()?.policy {
            NodePolicy::Project => None,
            NodePolicy::Own(_) => self.0.sources.get(name),
        }
    }

    /// The current value, for its fill. `now` is Unix time, seconds.
    pub(super) async fn resolve(&self, name: &str, now: u64) -> Result<Resolved, Problem> {
        let Some(ground) = &self.0.ground else {
            let value = self.0.known.get(name).cloned().ok_or_else(|| {
                unavailable(name, "has no value on this node; set its source there")
            })?;
            return Ok(Resolved {
                value,
                beside: Vec::new(),
            });
        };
        let Some(source) = self.0.sources.get(name) else {
            return Err(unavailable(
                name,
                &format!(
                    "has no source on this node; add [secrets.{name}] to the file that \
                     `muster node --config` names, or start the node with --trust-project where \
                     the project's own sources may count"
                ),
            ));
        };
        let value = ground.value(name, source).await?;
        if !source.totp {
            return Ok(Resolved {
                value,
                beside: Vec::new(),
            });
        }
        let seed = Totp::parse(value.expose()).map_err(|why| unavailable(name, why))?;
        let [code, before, after] = seed.codes(now).map(Secret::new);
        Ok(Resolved {
            value: code,
            beside: vec![value, before, after],
        })
    }
}

impl Ground {
    async fn value(&self, name: &str, source: &SecretSource) -> Result<Secret, Problem> {
        if let Some(variable) = &source.env {
            return self.env.get(variable).map(Secret::new).ok_or_else(|| {
                unavailable(
                    name,
                    &format!("has no value on this node; set {variable} there"),
                )
            });
        }
        let bytes = match &source.file {
            Some(file) => read(&self.folder.join(file)).await,
            None => self.output(&source.command).await,
        };
        let text = bytes
            .and_then(|bytes| String::from_utf8(bytes).map_err(|_| "is not UTF-8".to_owned()))
            .map_err(|why| unavailable(name, &format!("can't be read on this node: it {why}")))?;
        let value = text.strip_suffix('\n').unwrap_or(&text);
        Ok(Secret::new(value.strip_suffix('\r').unwrap_or(value)))
    }

    /// What a command prints. Whatever else it says is never looked at: it may hold the value.
    async fn output(&self, command: &[String]) -> Result<Vec<u8>, String> {
        let [program, args @ ..] = command else {
            return Err("names no env, file or command".to_owned());
        };
        let mut spec = CommandSpec::new(CommandLine {
            program: PathBuf::from(program),
            args: args.iter().map(Into::into).collect(),
        });
        let env = self.env.iter();
        spec.env = env
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        spec.cwd = Some(self.folder.clone());
        spec.stdout = Pipe::Piped;
        let mut child = self
            .supervisor
            .spawn(&spec)
            .map_err(|_| format!("names a command that did not start: {program}"))?;
        let stdout = child.take_stdout();
        let told = timeout(COMMAND, async {
            let bytes = match stdout {
                Some(stdout) => bounded(stdout).await?,
                None => Vec::new(),
            };
            let status = child.wait().await.map_err(|error| error.to_string())?;
            if status.success() {
                Ok(bytes)
            } else {
                Err(format!(
                    "comes from {program}, which failed ({status}); run it by hand there"
                ))
            }
        })
        .await;
        child.kill_group(Duration::ZERO).await;
        told.unwrap_or_else(|_| {
            Err(format!(
                "comes from {program}, which did not end within {} s",
                COMMAND.as_secs()
            ))
        })
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file = tokio::fs::File::open(path)
        .await
        .map_err(|error| format!("is in {}: {error}", path.display()))?;
    bounded(file).await
}

async fn bounded(from: impl tokio::io::AsyncRead + Unpin) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    from.take(MAX_VALUE + 1)
        .read_to_end(&mut bytes)
        .await
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MAX_VALUE {
        return Err(format!("is longer than {MAX_VALUE} bytes"));
    }
    Ok(bytes)
}

fn unavailable(name: &str, why: &str) -> Problem {
    Problem::new(
        ErrorCode::SecretUnavailable,
        format!("secret {name:?} {why}"),
    )
}
