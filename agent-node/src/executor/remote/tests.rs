//! Stories of executors that serve the protocol in this process, as the tests wrote them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_proto::step::{EventKind, Tier};
use muster_proto::v1;
use muster_proto::v1::action::Verb;
use muster_proto::v1::answer::Answer as Told;
use muster_proto::v1::executor_service_server::{ExecutorService, ExecutorServiceServer};
use muster_proto::v1::from_executor::Message as Said;
use muster_proto::v1::request::Request as Asked;
use muster_proto::v1::to_executor::Message as Sent;
use muster_proto::verdict::{Answer, VerdictStatus};
use muster_suite::config::Remote;
use muster_suite::op::Vision;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tokio_util::task::AbortOnDropHandle;
use tonic::{Request, Response, Status, Streaming};

use super::RemoteExecutor;
use crate::executor::sketch::{App, FakeHarness};
use crate::executor::{Executor, StepContext};
use crate::harness::StepError;

const DOOR: &str = r#"
== door /login "Log in"
main
  heading "Log in"
  textbox "Email"
  textbox "Password" secure
  button "Log in" -> home

== home /home "Home"
main
  heading "Welcome"
"#;

const TOKEN: &str = "t-0123456789";

/// One side of a call, as an executor in Rust would hold it.
struct Line {
    from: Streaming<v1::ToExecutor>,
    to: mpsc::Sender<Result<v1::FromExecutor, Status>>,
    asked: u64,
}

impl Line {
    async fn hear(&mut self) -> Option<Sent> {
        self.from.message().await.ok()??.message
    }

    async fn say(&mut self, message: Said) {
        let message = v1::FromExecutor {
            message: Some(message),
        };
        // Who has hung up hears nothing.
        self.to.send(Ok(message)).await.ok();
    }

    async fn send(&mut self, seq: u64, request: Asked) -> Option<Sent> {
        let request = v1::Request {
            seq,
            request: Some(request),
        };
        self.say(Said::Request(request)).await;
        self.hear().await
    }

    async fn ask(&mut self, request: Asked) -> Told {
        self.asked += 1;
        match self.send(self.asked, request).await {
            Some(Sent::Answer(answer)) => {
                assert_eq!(answer.seq, self.asked);
                answer.answer.unwrap()
            }
            other => panic!("no answer but {other:?}"),
        }
    }

    async fn screen(&mut self) -> v1::Screen {
        match self.ask(Asked::Observe(v1::Observe {})).await {
            Told::Screen(screen) => screen,
            other => panic!("no screen but {other:?}"),
        }
    }

    async fn verdict(&mut self, status: v1::verdict::Status, code: &str) {
        let verdict = v1::Verdict {
            status: status.into(),
            summary: "as the test wrote".to_owned(),
            code: code.to_owned(),
        };
        self.say(Said::Verdict(verdict)).await;
    }
}

type Play = Pin<Box<dyn Future<Output = ()> + Send>>;
type Script = dyn Fn(v1::Begin, Line) -> Play + Send + Sync;

/// Serves one script to every call that brings the token.
struct Brain(Arc<Script>);

#[tonic::async_trait]
impl ExecutorService for Brain {
    type StepStream = ReceiverStream<Result<v1::FromExecutor, Status>>;

    async fn step(
        &self,
        request: Request<Streaming<v1::ToExecutor>>,
    ) -> Result<Response<Self::StepStream>, Status> {
        let bearer = format!("Bearer {TOKEN}");
        if request.metadata().get("authorization") != Some(&bearer.parse().unwrap()) {
            return Err(Status::unauthenticated("who are you?"));
        }
        let (to, answers) = mpsc::channel(8);
        let script = Arc::clone(&self.0);
        let mut line = Line {
            from: request.into_inner(),
            to,
            asked: 0,
        };
        tokio::spawn(async move {
            if let Some(Sent::Begin(begin)) = line.hear().await {
                script(begin, line).await;
            }
        });
        Ok(Response::new(ReceiverStream::new(answers)))
    }
}

/// A listening executor and what dials it.
struct Stage {
    executor: RemoteExecutor,
    _server: AbortOnDropHandle<()>,
}

async fn serve<F>(script: impl Fn(v1::Begin, Line) -> F + Send + Sync + 'static) -> Stage
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let brain = Brain(Arc::new(move |begin, line| Box::pin(script(begin, line))));
    let server = tonic::transport::Server::builder()
        .add_service(ExecutorServiceServer::new(brain))
        .serve_with_incoming(TcpListenerStream::new(listener));
    let server = tokio::spawn(async move { server.await.unwrap() });
    Stage {
        executor: dial(&url, Some(TOKEN)),
        _server: AbortOnDropHandle::new(server),
    }
}

fn dial(url: &str, token: Option<&str>) -> RemoteExecutor {
    let at = Remote {
        url: url.to_owned(),
        key_env: None,
    };
    let token = token.map(Secret::new);
    RemoteExecutor::new(&at, token.as_ref()).unwrap()
}

fn door() -> FakeHarness {
    FakeHarness::new(App::parse(DOOR), "door")
}

fn context<'a>(harness: &'a FakeHarness, params: &'a Value) -> StepContext<'a> {
    StepContext {
        harness,
        instruction: "Log in",
        params,
        agent_context: "",
        ledger: "open /login",
        replayed: &[],
        handed_off: None,
        vision: Vision::Off,
    }
}

/// What the step was ended with.
async fn stopped(executor: &RemoteExecutor, harness: &FakeHarness) -> Problem {
    match executor.run_step(&context(harness, &Value::Null)).await {
        Err(StepError::Stop(problem)) => problem,
        other => panic!("not stopped but {other:?}"),
    }
}

fn element(screen: &v1::Screen, name: &str) -> u64 {
    let mut elements = screen.elements.iter();
    let found = elements.find(|one| one.name == name && one.role != "heading");
    found.unwrap_or_else(|| panic!("no {name:?}")).id
}

fn act(verb: Verb) -> Asked {
    Asked::Act(v1::Action { verb: Some(verb) })
}

fn tap(element: u64) -> Asked {
    act(Verb::Tap(v1::OnElement { element }))
}

#[tokio::test]
async fn a_goal_is_reached_over_the_wire() {
    let stage = serve(|begin, mut line| async move {
        assert_eq!(begin.ask(), v1::Ask::Act);
        assert_eq!((begin.instruction.as_str(), begin.protocol), ("Log in", 1));
        assert_eq!(begin.secrets, ["pw"]);
        assert_eq!(begin.ledger, "open /login");
        assert!(begin.left.unwrap().remaining_ms > 0);
        let screen = line.screen().await;
        assert!(screen.text.contains("textbox \"Email\""), "{}", screen.text);
        let typed = v1::TypeText {
            element: element(&screen, "Email"),
            text: "a@b.c".to_owned(),
            after: false,
        };
        line.ask(act(Verb::Type(typed))).await;
        let typed = v1::TypeSecret {
            element: element(&screen, "Password"),
            name: "pw".to_owned(),
        };
        line.ask(act(Verb::TypeSecret(typed))).await;
        let call = v1::Count {
            model: "own-1".to_owned(),
            input_tokens: 120,
            ..v1::Count::default()
        };
        line.ask(Asked::Count(call)).await;
        line.ask(Asked::Count(v1::Count::default())).await;
        let note = v1::Note {
            text: "the button is next".to_owned(),
        };
        line.say(Said::Note(note)).await;
        match line.ask(tap(element(&screen, "Log in"))).await {
            Told::Done(done) => {
                assert!(done.changed);
                assert_eq!(done.after.unwrap().location, "/home");
            }
            other => panic!("not done but {other:?}"),
        }
        line.verdict(v1::verdict::Status::Passed, "").await;
    });
    let stage = stage.await;
    let harness = door();
    let params = json!({"password": {"kind": "secret", "name": "pw"}});
    let verdict = stage.executor.run_step(&context(&harness, &params)).await;
    let verdict = verdict.unwrap();
    assert_eq!(
        (verdict.status, verdict.code),
        (VerdictStatus::Passed, None)
    );
    assert_eq!(
        harness.done(),
        [
            "type \"a@b.c\" into textbox \"Email\"",
            "type <pw> into textbox \"Password\"",
            "tap button \"Log in\""
        ]
    );
    assert_eq!(harness.decisions(), 1);
    let (tier, call) = harness.told().remove(0);
    assert_eq!(
        (tier, call.model.as_str(), call.tokens.input),
        (Tier::Act, "own-1", 120)
    );
    assert_eq!(harness.events(), [(EventKind::Noted, "remote".to_owned())]);
}

#[tokio::test]
async fn a_request_that_is_sent_again_is_answered_and_not_done_again() {
    let stage = serve(|_, mut line| async move {
        let screen = line.screen().await;
        let typed = v1::TypeText {
            element: element(&screen, "Email"),
            text: "once".to_owned(),
            after: false,
        };
        let asked = act(Verb::Type(typed));
        let answer = |sent| match sent {
            Some(Sent::Answer(answer)) => answer.answer,
            other => panic!("no answer but {other:?}"),
        };
        let first = answer(line.send(2, asked.clone()).await);
        assert_eq!(answer(line.send(2, asked).await), first);
        line.verdict(v1::verdict::Status::Passed, "").await;
    });
    let stage = stage.await;
    let harness = door();
    let verdict = stage
        .executor
        .run_step(&context(&harness, &Value::Null))
        .await;
    assert_eq!(verdict.unwrap().status, VerdictStatus::Passed);
    assert_eq!(harness.done(), ["type \"once\" into textbox \"Email\""]);
}

#[tokio::test]
async fn what_may_have_been_done_and_what_was_not_are_told_apart() {
    let stage = serve(|_, mut line| async move {
        let screen = line.screen().await;
        let told = line.ask(tap(element(&screen, "Log in"))).await;
        assert!(matches!(told, Told::MaybeDone(_)), "{told:?}");
        let told = line.ask(tap(7_000)).await;
        assert!(matches!(told, Told::NotDone(_)), "{told:?}");
        let told = line.ask(Asked::Act(v1::Action { verb: None })).await;
        assert!(
            matches!(&told, Told::NotDone(no) if no.code == "AUTOMATION_UNSUPPORTED" && no.message.contains("scroll_to")),
            "{told:?}"
        );
        let told = line.ask(Asked::Look(v1::Look {})).await;
        assert!(
            matches!(&told, Told::NotDone(no) if no.code == "POLICY_DENIED"),
            "{told:?}"
        );
        line.verdict(v1::verdict::Status::Failed, "ACTION_FAILED")
            .await;
    });
    let harness = door().unsure(1).seeing(true);
    let stage = stage.await;
    let verdict = stage
        .executor
        .run_step(&context(&harness, &Value::Null))
        .await;
    assert_eq!(verdict.unwrap().code, Some(ErrorCode::ActionFailed));
    assert_eq!(harness.done(), ["tap button \"Log in\""]);
}

#[tokio::test]
async fn gaps_and_other_contents_break_the_protocol_and_the_executor_is_told() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    for (seqs, why) in [
        (&[1, 3][..], "request 3 where 2 was due"),
        (&[0][..], "request 0 where 1 was due"),
        (&[1, 2, 1][..], "request 1 again with another content"),
        (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 1][..], "the last 8 can be"),
    ] {
        let told = Arc::clone(&heard);
        let stage = serve(move |_, mut line| {
            let told = Arc::clone(&told);
            async move {
                for (at, seq) in seqs.iter().enumerate() {
                    let first = at == 0 || seqs.len() > 9;
                    let request = match first {
                        true => Asked::Observe(v1::Observe {}),
                        false => Asked::Look(v1::Look {}),
                    };
                    if let Some(Sent::Stop(stop)) = line.send(*seq, request).await {
                        told.lock().unwrap().push(stop.code);
                    }
                }
            }
        });
        let problem = stopped(&stage.await.executor, &door()).await;
        assert_eq!(problem.code, ErrorCode::ModelOutputInvalid);
        assert!(problem.message.contains(why), "{problem}");
    }
    assert_eq!(*heard.lock().unwrap(), ["MODEL_OUTPUT_INVALID"; 4]);
}

#[tokio::test]
async fn messages_are_bounded_in_size_and_number() {
    let note = |bytes: usize| {
        Said::Note(v1::Note {
            text: "x".repeat(bytes),
        })
    };
    let large = serve(move |_, mut line| async move { line.say(note(300_000)).await });
    let problem = stopped(&large.await.executor, &door()).await;
    assert_eq!(problem.code, ErrorCode::ModelOutputInvalid, "{problem}");
    let many = serve(move |_, mut line| async move {
        for _ in 0..1001 {
            line.say(note(1)).await;
        }
    });
    let problem = stopped(&many.await.executor, &door()).await;
    assert_eq!(problem.code, ErrorCode::ModelOutputInvalid);
    assert!(problem.message.contains("1000 messages"), "{problem}");
}

#[tokio::test]
async fn an_executor_that_is_gone_or_silent_is_no_failure_of_the_product() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let problem = stopped(&dial(&nobody, None), &door()).await;
    assert_eq!(problem.code, ErrorCode::ModelProviderFailed);
    assert!(problem.message.contains(&nobody), "{problem}");

    let gone = serve(|_, mut line| async move {
        line.screen().await;
    });
    let problem = stopped(&gone.await.executor, &door()).await;
    assert_eq!(problem.code, ErrorCode::ModelProviderFailed);
    assert!(problem.message.contains("without a verdict"), "{problem}");

    // It doesn't even hear that the step is over.
    let silent = serve(|_, line| async move {
        std::future::pending::<()>().await;
        drop(line);
    });
    let silent = silent.await;
    let harness = door().lasting(Duration::from_secs(2));
    let told = timeout(Duration::from_secs(2), stopped(&silent.executor, &harness));
    let problem = told.await.expect("it is told before the step ends");
    assert_eq!(problem.code, ErrorCode::ModelProviderFailed);
    assert!(problem.message.contains("said nothing"), "{problem}");
}

#[test]
fn silence_is_told_from_running_late() {
    let patience = |left: u64, heard: bool| {
        super::talk::patience(Duration::from_secs(left), heard).as_secs_f64()
    };
    assert_eq!(patience(600, true), 120.0);
    assert_eq!(patience(600, false), 120.0);
    // Just before the step ends.
    assert_eq!(patience(60, true), 59.5);
    assert_eq!(patience(4, false), 3.5);
    // The step's own end comes first.
    assert_eq!(patience(4, true), 120.0);
}

#[tokio::test]
async fn a_wrong_token_and_an_address_in_the_clear_are_configuration() {
    let stage = serve(|_, _| async {}).await;
    let stranger = dial(&stage.executor.url, Some("another-token"));
    let problem = stopped(&stranger, &door()).await;
    assert_eq!(problem.code, ErrorCode::ModelUnavailable);
    assert!(problem.message.contains("who are you?"), "{problem}");
    let at = Remote {
        url: "http://brain.example.com".to_owned(),
        key_env: None,
    };
    assert!(RemoteExecutor::new(&at, None).is_err());
    // What listens there speaks no TLS.
    let url = stage.executor.url.replace("http:", "https:");
    let problem = stopped(&dial(&url, None), &door()).await;
    assert_eq!(problem.code, ErrorCode::ModelProviderFailed, "{problem}");
}

#[tokio::test]
async fn statements_are_judged_and_data_is_read_to_its_schema() {
    let stage = serve(|begin, mut line| async move {
        let screen = line.screen().await;
        let heading = screen.elements.iter().find(|one| one.role == "heading");
        let text = heading.unwrap().name.clone();
        if begin.ask() == v1::Ask::Assert {
            let judgment = v1::Judgment {
                answer: v1::judgment::Answer::Holds.into(),
                explanation: format!(" the heading says {text} "),
            };
            return line.say(Said::Judgment(judgment)).await;
        }
        let schema: Value = serde_json::from_str(&begin.schema_json).unwrap();
        let data_json = (schema["type"] != "null").then(|| json!(text).to_string());
        line.say(Said::Extracted(v1::Extracted { data_json })).await;
    });
    let stage = stage.await;
    let (harness, none) = (door(), Value::Null);
    let context = context(&harness, &none);
    let judgment = stage.executor.judge(&context).await.unwrap();
    assert_eq!(judgment.answer, Answer::Holds);
    assert_eq!(judgment.explanation, "the heading says Log in");
    let extract = async |schema: Value| stage.executor.extract(&context, &schema).await;
    let data = extract(json!({"type": "string"})).await;
    assert_eq!(data, Ok(Some(json!("Log in"))));
    assert_eq!(extract(json!({"type": "null"})).await, Ok(None));
    let misfit = extract(json!({"type": "number"})).await;
    assert!(
        matches!(&misfit, Err(StepError::Stop(problem)) if problem.code == ErrorCode::ModelOutputInvalid),
        "{misfit:?}"
    );
}

#[tokio::test]
async fn an_answer_to_another_question_is_invalid() {
    let stage = serve(|_, mut line| async move {
        let judgment = v1::Judgment {
            answer: v1::judgment::Answer::Holds.into(),
            explanation: "it holds".to_owned(),
        };
        line.say(Said::Judgment(judgment)).await;
    });
    let problem = stopped(&stage.await.executor, &door()).await;
    assert_eq!(problem.code, ErrorCode::ModelOutputInvalid);
    let odd = serve(|_, mut line| async move {
        line.verdict(v1::verdict::Status::Failed, "NO_SUCH_CODE")
            .await;
    });
    let problem = stopped(&odd.await.executor, &door()).await;
    assert!(problem.message.contains("NO_SUCH_CODE"), "{problem}");
}
