//! Groups end with their handle, with their supervisor and with a killed parent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use muster_providers::child::{Child, ChildError, CommandLine, CommandSpec, Pipe, Supervisor};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::ChildStdout;
use tokio::time::timeout;

use crate::{DEADLINE, eventually, fixture, supervisor};

fn shell(script: &str) -> CommandSpec {
    let args = vec!["-c".into(), script.into()];
    let mut spec = CommandSpec::new(CommandLine {
        program: PathBuf::from("/bin/sh"),
        args,
    });
    spec.stdout = Pipe::Piped;
    spec
}

fn output(child: &mut Child) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.take_stdout().unwrap()).lines()
}

async fn next(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    timeout(DEADLINE, lines.next_line())
        .await
        .expect("a line or the end in time")
        .unwrap()
}

/// A tree of three that shares its output and does not listen to SIGTERM: the output ends when
/// the last of them does.
async fn stubborn_tree(supervisor: &Supervisor) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = supervisor
        .spawn(&shell(
            "trap '' TERM; sleep 1000 & sleep 1000 & echo started; wait",
        ))
        .unwrap();
    let mut lines = output(&mut child);
    assert_eq!(next(&mut lines).await.as_deref(), Some("started"));
    (child, lines)
}

#[tokio::test]
async fn a_killed_parent_leaves_neither_processes_nor_folders() {
    let supervisor = supervisor().await;
    let mut spec = CommandSpec::new(fixture("victim"));
    spec.stdout = Pipe::Piped;
    let mut victim = supervisor.spawn(&spec).unwrap();
    let mut lines = output(&mut victim);
    let mut told = BTreeMap::new();
    while told.len() < 3 {
        let line = next(&mut lines)
            .await
            .expect("the victim tells what it started");
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        told.insert(word.to_owned(), rest.to_owned());
    }
    let folder = Path::new(&told["folder"]);
    assert!(folder.is_dir());

    // The victim alone, not its children: they are in a group of their own.
    kill(
        Pid::from_raw(i32::try_from(victim.id()).unwrap()),
        Signal::SIGKILL,
    )
    .unwrap();

    assert_eq!(
        next(&mut lines).await,
        None,
        "the output ends when the last of the tree does"
    );
    eventually("the folder is removed", || !folder.exists()).await;
    supervisor.close().await;
}

#[tokio::test]
async fn a_grace_lets_a_child_end_by_itself_and_no_grace_does_not() {
    let supervisor = supervisor().await;
    let mut polite = supervisor
        .spawn(&shell(
            "trap 'echo bye; exit 7' TERM; echo started; while :; do sleep 0.01; done",
        ))
        .unwrap();
    let mut lines = output(&mut polite);
    assert_eq!(next(&mut lines).await.as_deref(), Some("started"));
    let status = polite.kill_group(DEADLINE).await.unwrap();
    assert_eq!(status.code(), Some(7));
    assert_eq!(next(&mut lines).await.as_deref(), Some("bye"));

    let (stubborn, mut lines) = stubborn_tree(&supervisor).await;
    let status = stubborn.kill_group(Duration::from_millis(1)).await.unwrap();
    assert!(!status.success());
    assert_eq!(next(&mut lines).await, None, "its descendants are gone too");
    supervisor.close().await;
}

#[tokio::test]
async fn a_dropped_child_is_killed_and_reaped() {
    let supervisor = supervisor().await;
    let (mut child, mut lines) = stubborn_tree(&supervisor).await;
    let folder = supervisor.temp_folder("muster-dropped-").unwrap();
    let (id, path) = (child.id(), folder.path().to_owned());
    child.adopt(folder);
    drop(child);
    assert_eq!(next(&mut lines).await, None);
    supervisor.close().await;
    assert!(
        !Path::new(&format!("/proc/{id}")).exists(),
        "a zombie would still be listed"
    );
    assert!(!path.exists());
}

#[tokio::test]
async fn closing_the_supervisor_ends_what_is_left_and_starts_nothing_more() {
    let supervisor = supervisor().await;
    let (child, mut lines) = stubborn_tree(&supervisor).await;
    supervisor.close().await;
    assert_eq!(next(&mut lines).await, None);
    let error = supervisor.spawn(&shell("true")).unwrap_err();
    assert!(matches!(error, ChildError::SupervisorGone(_)), "{error}");
    drop(child);
}

#[tokio::test]
async fn a_child_gets_exactly_the_environment_it_is_given() {
    let supervisor = supervisor().await;
    let program = PathBuf::from("/usr/bin/env");
    let mut spec = CommandSpec::new(CommandLine {
        program,
        args: Vec::new(),
    });
    spec.env = BTreeMap::from([("GREETING".into(), "hello".into())]);
    spec.stdout = Pipe::Piped;
    let mut child = supervisor.spawn(&spec).unwrap();
    let mut text = String::new();
    child
        .take_stdout()
        .unwrap()
        .read_to_string(&mut text)
        .await
        .unwrap();
    assert!(child.wait().await.unwrap().success());
    assert_eq!(text, "GREETING=hello\n");
    drop(child);
    supervisor.close().await;
}

#[tokio::test]
async fn what_can_not_start_is_named() {
    let supervisor = supervisor().await;
    let nowhere = CommandLine {
        program: PathBuf::from("/nowhere/app"),
        args: Vec::new(),
    };
    let error = supervisor
        .spawn(&CommandSpec::new(nowhere.clone()))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("/nowhere/app did not start: No such file"),
        "{error}"
    );
    let error = Supervisor::start(&nowhere).await.unwrap_err();
    assert!(
        error.to_string().starts_with("/nowhere/app did not start"),
        "{error}"
    );
    let silent = CommandLine {
        program: PathBuf::from("/bin/true"),
        args: Vec::new(),
    };
    let error = Supervisor::start(&silent).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the supervisor (/bin/true) did not become ready: it ended at once"
    );
    supervisor.close().await;
}
