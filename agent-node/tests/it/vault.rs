//! Sources of secrets on a real machine: variables, files, programs, seeds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::harness::{AttemptHarness, Ground, Scope, Vault};
use muster_engine::fake::FakePage;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_providers::child::Supervisor;
use muster_suite::config::SecretSource;
use muster_suite::config::node::{NodeFile, NodePolicy};
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::live::fixture;

type Sources = BTreeMap<String, SecretSource>;

struct Stage {
    harness: AttemptHarness,
    scope: Scope,
    supervisor: Supervisor,
}

impl Stage {
    async fn new(folder: &Path, declared: Sources, policy: NodePolicy) -> Self {
        let supervisor = Supervisor::start(&fixture("supervisor")).await.unwrap();
        let ground = Ground {
            env: Arc::new(BTreeMap::from([
                ("WORD".to_owned(), "hunter2222".to_owned()),
                ("PATH".to_owned(), "/usr/bin:/bin".to_owned()),
            ])),
            folder: folder.to_owned(),
            supervisor: supervisor.clone(),
            policy: Arc::new(policy),
        };
        let vault = Vault::open(&declared, ground).await;
        let app = Url::parse("http://shop.test/").unwrap();
        let page = Arc::new(FakePage::new(Vec::new()));
        Self {
            harness: AttemptHarness::new(page, app, vault, declared),
            scope: Scope::phase(&CancellationToken::new(), Duration::from_secs(60)),
            supervisor,
        }
    }

    async fn secret(&self, name: &str) -> Result<String, Problem> {
        let secret = self.harness.secret(&self.scope, name).await?;
        Ok(secret.expose().to_owned())
    }

    async fn unavailable(&self, name: &str, why: &str) {
        let problem = self.secret(name).await.unwrap_err();
        assert_eq!(problem.code, ErrorCode::SecretUnavailable);
        assert!(problem.message.contains(why), "{problem}");
    }

    fn redacted(&self, text: &str) -> String {
        self.harness.redactor().text(text)
    }
}

fn env(name: &str) -> SecretSource {
    SecretSource {
        env: Some(name.to_owned()),
        ..SecretSource::default()
    }
}

fn file(name: &str) -> SecretSource {
    SecretSource {
        file: Some(name.to_owned()),
        ..SecretSource::default()
    }
}

fn command(words: &[&str]) -> SecretSource {
    SecretSource {
        command: words.iter().map(|word| (*word).to_owned()).collect(),
        ..SecretSource::default()
    }
}

fn sources<const N: usize>(sources: [(&str, SecretSource); N]) -> Sources {
    sources
        .map(|(name, source)| (name.to_owned(), source))
        .into()
}

#[tokio::test]
async fn variables_files_and_programs_hold_secrets_and_old_values_stay_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let written = folder.path().join("word");
    std::fs::write(&written, "first-value\r\n").unwrap();
    let declared = sources([
        ("word", env("WORD")),
        ("kept", file("word")),
        (
            "told",
            command(&["sh", "-c", "echo told-$WORD; echo loud >&2"]),
        ),
        ("literal", command(&["echo", "$WORD; `id`"])),
    ]);
    let stage = Stage::new(folder.path(), declared, NodePolicy::Project).await;
    assert_eq!(stage.redacted("first-value"), "<secret:kept>");
    assert_eq!(stage.redacted("told-other"), "told-other");
    assert_eq!(stage.secret("word").await.unwrap(), "hunter2222");
    assert_eq!(stage.secret("told").await.unwrap(), "told-hunter2222");
    assert_eq!(stage.redacted("told-hunter2222"), "<secret:told>");
    let literal = stage.secret("literal").await.unwrap();
    assert_eq!(literal, "$WORD; `id`", "there is no shell");

    std::fs::write(&written, "second-value").unwrap();
    assert_eq!(stage.secret("kept").await.unwrap(), "second-value");
    assert_eq!(
        stage.redacted("first-value second-value"),
        "<secret:kept> <secret:kept>"
    );
    stage.supervisor.close().await;
}

#[tokio::test]
async fn a_source_that_fails_says_which_and_nothing_of_what_it_printed() {
    let folder = tempfile::tempdir().unwrap();
    let declared = sources([
        ("unset", env("UNSET")),
        ("nofile", file("nowhere")),
        ("noprogram", command(&["./nowhere"])),
        (
            "fails",
            command(&["sh", "-c", "echo leak-out; echo leak-err >&2; exit 3"]),
        ),
        ("floods", command(&["yes"])),
        ("short", command(&["echo", "12345"])),
    ]);
    let stage = Stage::new(folder.path(), declared, NodePolicy::Project).await;
    for (name, why) in [
        ("unset", "set UNSET there"),
        ("nofile", "nowhere"),
        ("noprogram", "did not start"),
        ("fails", "which failed"),
        ("floods", "is longer than"),
        ("short", "shorter than 6"),
    ] {
        stage.unavailable(name, why).await;
    }
    let problem = stage.secret("fails").await.unwrap_err();
    assert!(!problem.message.contains("leak"), "{problem}");
    stage.supervisor.close().await;
}

#[tokio::test]
async fn only_the_nodes_own_file_names_sources_on_a_fleet() {
    let folder = tempfile::tempdir().unwrap();
    let declared = sources([("word", env("WORD")), ("other", env("WORD"))]);
    let own = NodeFile {
        secrets: sources([("word", command(&["echo", "of-the-node"]))]),
        ..NodeFile::default()
    };
    let stage = Stage::new(folder.path(), declared, NodePolicy::Own(own)).await;
    assert_eq!(stage.secret("word").await.unwrap(), "of-the-node");
    stage.unavailable("other", "add [secrets.other]").await;
    assert_eq!(stage.redacted("hunter2222"), "hunter2222", "never read");
    stage.supervisor.close().await;
}

#[tokio::test]
async fn a_seed_yields_a_code_and_both_are_redacted() {
    const SEED: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("seed"), SEED).unwrap();
    std::fs::write(folder.path().join("bad"), "no seed at all!").unwrap();
    let code = |name| SecretSource {
        totp: true,
        ..file(name)
    };
    let declared = sources([("code", code("seed")), ("bad", code("bad"))]);
    let stage = Stage::new(folder.path(), declared, NodePolicy::Project).await;
    let code = stage.secret("code").await.unwrap();
    assert!(code.len() == 6 && code.bytes().all(|byte| byte.is_ascii_digit()));
    assert_eq!(
        stage.redacted(&format!("{code} {SEED}")),
        "<secret:code> <secret:code>"
    );
    stage.unavailable("bad", "neither base32").await;
    stage.supervisor.close().await;
}

#[tokio::test]
async fn a_machine_says_where_its_own_secret_goes_whatever_the_project_says() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = SecretSource {
        origins: vec!["http://collector.test".to_owned()],
        ..env("WORD")
    };
    let own = NodeFile {
        secrets: sources([
            (
                "bound",
                SecretSource {
                    password: true,
                    origins: vec!["http://shop.test/path".to_owned()],
                    ..env("WORD")
                },
            ),
            ("free", env("WORD")),
        ]),
        ..NodeFile::default()
    };
    let declared = sources([("bound", wanted.clone()), ("free", wanted)]);
    let stage = Stage::new(folder.path(), declared, NodePolicy::Own(own)).await;
    let origins = |name| stage.harness.exact_sink(name).origins.unwrap();
    assert_eq!(origins("bound"), ["http://shop.test"]);
    assert_eq!(
        origins("free"),
        ["http://shop.test", "http://collector.test"]
    );
    assert_eq!(stage.harness.is_password("bound"), Ok(true));
    assert_eq!(stage.harness.is_password("free"), Ok(false));
    stage.supervisor.close().await;
}
