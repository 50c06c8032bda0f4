//! The app under test: started once per run, waited for, ended with its whole process group.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_providers::child::{Child, CommandLine, CommandSpec, Pipe, Supervisor};
use muster_providers::http;
use muster_suite::config::{App, AppCommand};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::env::Env;
use crate::failure::Failure;
use crate::project::Project;

/// How often a starting app is asked whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Bytes of an app's output that are kept.
const KEPT: usize = 16 * 1024;
/// Last lines of them that a failure shows.
const TAIL: usize = 20;

/// The apps of a run, by target.
pub(crate) struct Apps {
    running: Vec<RunningApp>,
    /// The resolved address of every target.
    pub(crate) urls: BTreeMap<String, String>,
}

struct RunningApp {
    child: Child,
    shutdown: Duration,
}

impl Apps {
    /// Starts the command of every target in `targets`, and waits until each is ready.
    pub(crate) async fn start(
        project: &Project,
        targets: &[String],
        supervisor: &Supervisor,
        env: &Env,
    ) -> Result<Self, Failure> {
        let mut apps = Self {
            running: Vec::new(),
            urls: BTreeMap::new(),
        };
        for name in targets {
            let app = &project.config.targets[name].app;
            let url = resolve(app).await?;
            if let Some(command) = &app.command {
                match RunningApp::start(project, name, command, &url, supervisor, env).await {
                    Ok(running) => apps.running.push(running),
                    Err(problem) => {
                        apps.stop().await;
                        return Err(problem.into());
                    }
                }
            }
            apps.urls.insert(name.clone(), url.to_string());
        }
        Ok(apps)
    }

    /// Resolves when one of the apps ends by itself.
    pub(crate) async fn died(&mut self) -> String {
        let waits = self.running.iter_mut().map(|app| {
            Box::pin(async move {
                match app.child.wait().await {
                    Ok(status) => format!("the app's command ended ({status})"),
                    Err(error) => format!("the app's command is lost: {error}"),
                }
            })
        });
        let waits: Vec<_> = waits.collect();
        if waits.is_empty() {
            return std::future::pending().await;
        }
        futures::future::select_all(waits).await.0
    }

    /// Ends every app and waits.
    pub(crate) async fn stop(self) {
        let ends = self
            .running
            .into_iter()
            .map(|app| app.child.kill_group(app.shutdown));
        futures::future::join_all(ends).await;
    }
}

impl RunningApp {
    async fn start(
        project: &Project,
        target: &str,
        command: &AppCommand,
        url: &Url,
        supervisor: &Supervisor,
        env: &Env,
    ) -> Result<Self, Problem> {
        let ready = match &command.ready {
            Some(ready) => url.join(ready).map_err(|error| {
                Problem::new(
                    ErrorCode::InvalidConfig,
                    format!(
                        "targets.{target}.app.command.ready = {ready:?} is no address: {error}"
                    ),
                )
            })?,
            None => url.clone(),
        };
        if http::status(&ready, ASK_EVERY * 10).await.is_ok() {
            return Err(Problem::new(
                ErrorCode::AppAlreadyRunning,
                format!(
                    "something answers at {ready} already; stop it, or write port 0 in targets.{target}.app.url for a free port"
                ),
            ));
        }
        let started = command_line(command, url, env);
        let args: Vec<_> = started
            .args
            .iter()
            .map(|arg| arg.to_string_lossy())
            .collect();
        eprintln!(
            "starting the app of {target}: {} {}",
            command.program,
            args.join(" ")
        );
        let mut spec = CommandSpec::new(started);
        spec.env = environment(command, url, env);
        spec.cwd = Some(
            command
                .cwd
                .as_ref()
                .map_or_else(|| project.dir.clone(), |cwd| project.dir.join(cwd)),
        );
        spec.stdout = Pipe::Piped;
        spec.stderr = Pipe::Piped;
        let mut child = supervisor.spawn(&spec).map_err(|error| {
            Problem::new(
                ErrorCode::AppUnreachable,
                format!("the app of target {target} did not start: {error}"),
            )
        })?;
        let output = Tail::default();
        output.follow(child.take_stdout().expect("stdout was asked for"));
        output.follow(child.take_stderr().expect("stderr was asked for"));

        let timeout = Duration::from_millis(command.startup_timeout_ms);
        let deadline = Instant::now() + timeout;
        let why = loop {
            match http::status(&ready, ASK_EVERY * 10).await {
                Ok(200..=499) => {
                    return Ok(Self {
                        child,
                        shutdown: Duration::from_millis(command.shutdown_timeout_ms),
                    });
                }
                _ if Instant::now() >= deadline => {
                    break format!("was not ready at {ready} within {} s", timeout.as_secs());
                }
                Ok(_) | Err(_) => {}
            }
            tokio::select! {
                () = sleep(ASK_EVERY) => {}
                status = child.wait() => break match status {
                    Ok(status) => format!("ended before it was ready ({status})"),
                    Err(error) => format!("is lost: {error}"),
                },
            }
        };
        child.kill_group(Duration::ZERO).await;
        Err(Problem::new(
            ErrorCode::AppUnreachable,
            format!(
                "the app of target {target} ({}) {why}{}",
                command.program,
                output.render()
            ),
        ))
    }
}

/// The app's address with its port: port 0 on loopback becomes a free one.
async fn resolve(app: &App) -> Result<Url, Failure> {
    let invalid = |reason: String| {
        Failure::new(
            ErrorCode::InvalidAppUrl,
            format!("app.url = {:?}: {reason}", app.url),
        )
    };
    let mut url = Url::parse(&app.url).map_err(|error| invalid(error.to_string()))?;
    if url.port() != Some(0) {
        return Ok(url);
    }
    let host: IpAddr = url
        .host_str()
        .map(|host| host.trim_matches(['[', ']']))
        .and_then(|host| host.parse().ok())
        .filter(IpAddr::is_loopback)
        .ok_or_else(|| {
            invalid("port 0 needs a literal loopback address, e.g. http://127.0.0.1:0".to_owned())
        })?;
    let listener = TcpListener::bind(SocketAddr::new(host, 0))
        .await
        .map_err(|error| invalid(error.to_string()))?;
    let port = listener
        .local_addr()
        .map_err(|error| invalid(error.to_string()))?
        .port();
    url.set_port(Some(port))
        .expect("an http address may have a port");
    Ok(url)
}

fn expand(text: &str, url: &Url) -> String {
    text.replace(
        "{port}",
        &url.port_or_known_default().unwrap_or_default().to_string(),
    )
}

fn command_line(command: &AppCommand, url: &Url, env: &Env) -> CommandLine {
    let program = if command.program == "muster" {
        env.exe.clone()
    } else {
        command.program.clone().into()
    };
    CommandLine {
        program,
        args: command
            .args
            .iter()
            .map(|arg| expand(arg, url).into())
            .collect(),
    }
}

/// `PATH`, `HOME` and where temporary files go, then what the command names.
fn environment(command: &AppCommand, url: &Url, env: &Env) -> BTreeMap<OsString, OsString> {
    ["PATH", "HOME", "TMPDIR", "TMP", "TEMP"]
        .iter()
        .filter_map(|&name| Some((name.into(), env.vars.get(name)?.into())))
        .chain(
            command
                .env
                .iter()
                .map(|(name, value)| (name.into(), expand(value, url).into())),
        )
        .collect()
}

/// The end of an app's output.
#[derive(Clone, Default)]
struct Tail(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

impl Tail {
    /// Reads until the stream ends, whatever bytes come, so that the app never meets a full or a
    /// closed pipe.
    fn follow(&self, mut stream: impl AsyncRead + Send + Unpin + 'static) -> JoinHandle<()> {
        let tail = self.clone();
        tokio::spawn(async move {
            let mut chunk = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut chunk).await {
                let mut kept = tail
                    .0
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..read]);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
        })
    }

    fn render(&self) -> String {
        let kept = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() {
            return "; it printed nothing".to_owned();
        }
        let last = &lines[lines.len().saturating_sub(TAIL)..];
        let lines: Vec<String> = last.iter().map(|line| format!("\n    {line}")).collect();
        format!("; it printed:{}", lines.concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn output_that_is_no_text_is_read_on_and_bounded() {
        let tail = Tail::default();
        let mut output = b"caf\xe9\n".to_vec();
        output.extend(vec![b'x'; 2 * KEPT]);
        output.extend(b"\ncaf\xe9\nready\n");
        tail.follow(std::io::Cursor::new(output)).await.unwrap();
        let said = tail.render();
        assert!(said.ends_with("x\n    caf\u{fffd}\n    ready"), "{said}");
        assert!(tail.0.lock().unwrap().len() <= KEPT);
    }
}
