//! Keeps one stream to the coordinator open: dials, reads, dials again with growing pauses.
//!
//! What it means is the session's business; this file knows no lease.

use std::time::Duration;

use muster_proto::code::{Class, ErrorCode};
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message;
use muster_proto::v1::node_service_client::NodeServiceClient;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tonic::{Code, Status};

use super::dial::Line;

/// Messages that wait for the socket.
pub(super) const OUTBOUND: usize = 64;
/// Events that wait for the session.
const EVENTS: usize = 64;
/// How long a coordinator may take to answer the call that opens a stream, and then to welcome.
const OPEN: Duration = Duration::from_secs(10);
/// The first pause between two dials; each further one is twice as long, up to [`LONGEST`].
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(5);

/// What the session hears.
#[derive(Debug)]
pub(super) enum LinkEvent {
    /// A stream is being opened. The first message into it must be a hello, and must not wait.
    Opening(Outbound),
    /// The coordinator says something.
    Message(Box<Message>),
    /// The stream ended; another will be opened.
    Closed,
    /// The coordinator will not have us; no other stream will be opened.
    Refused(Problem),
}

/// Our half of a stream.
#[derive(Debug)]
pub(super) struct Outbound {
    pub(super) messages: mpsc::Sender<v1::NodeMessage>,
    /// Ends the stream, so that another is opened.
    pub(super) hang_up: CancellationToken,
}

/// The link's task. When nobody hears its events any more it lets the stream end, so that what
/// was said last gets out, and opens no other; `stop` ends it at once.
pub(super) fn keep(
    line: Line,
    stop: CancellationToken,
) -> (mpsc::Receiver<LinkEvent>, impl Future<Output = ()>) {
    let (events, heard) = mpsc::channel(EVENTS);
    let work = async move {
        let mut pause = PAUSE;
        loop {
            let ended = match one_stream(&line, &events, &stop).await {
                Some(ended) => ended,
                None => return,
            };
            match ended {
                Ended::Refused(problem) => {
                    events.send(LinkEvent::Refused(problem)).await.ok();
                    return;
                }
                Ended::Broken { reason, heard } => {
                    tracing::warn!(reason, "no stream to the coordinator");
                    if events.send(LinkEvent::Closed).await.is_err() {
                        return;
                    }
                    if heard {
                        pause = PAUSE;
                    }
                }
            }
            // Nodes that lost the same coordinator must not come back in step.
            tokio::select! {
                () = sleep(pause.mul_f64(rand::random_range(0.5..1.0))) => {}
                () = events.closed() => return,
                () = stop.cancelled() => return,
            }
            pause = (pause * 2).min(LONGEST);
        }
    };
    (heard, work)
}

fn silent() -> Status {
    Status::deadline_exceeded(format!("it said nothing for {} s", OPEN.as_secs()))
}

/// How a stream ended.
enum Ended {
    Refused(Problem),
    Broken {
        reason: String,
        /// The coordinator had said something, so that it is worth dialling soon.
        heard: bool,
    },
}

/// Opens a stream and reads it to its end. None = the session is over.
async fn one_stream(
    line: &Line,
    events: &mpsc::Sender<LinkEvent>,
    stop: &CancellationToken,
) -> Option<Ended> {
    let (messages, outgoing) = mpsc::channel(OUTBOUND);
    let hang_up = stop.child_token();
    let outbound = Outbound {
        messages,
        hang_up: hang_up.clone(),
    };
    events.send(LinkEvent::Opening(outbound)).await.ok()?;

    let mut heard = false;
    let read = async {
        let mut client =
            NodeServiceClient::with_interceptor(line.channel.clone(), line.bearer.clone());
        let opening = timeout(OPEN, client.attach(ReceiverStream::new(outgoing))).await;
        let mut stream = match opening {
            Ok(Ok(response)) => response.into_inner(),
            Ok(Err(status)) => return Err(status),
            Err(_) => return Err(silent()),
        };
        let mut first = Some(OPEN);
        loop {
            let next = match first.take() {
                Some(within) => timeout(within, stream.message())
                    .await
                    .map_err(|_| silent())?,
                None => stream.message().await,
            };
            let Some(message) = next? else { break };
            heard = true;
            match message.message {
                Some(Message::Refused(v1::Refused { problem })) => {
                    let problem = problem.as_ref().map(Problem::from);
                    return Ok(problem.unwrap_or_else(|| {
                        Problem::new(ErrorCode::InternalError, "it gave no reason")
                    }));
                }
                // With nobody to hear it we still read on: our last words may be on their way.
                Some(message) => events
                    .send(LinkEvent::Message(Box::new(message)))
                    .await
                    .unwrap_or_default(),
                // A newer coordinator's word.
                None => tracing::debug!(
                    "the coordinator sent a message that this version does not know"
                ),
            }
        }
        Err(Status::unavailable("the coordinator closed the stream"))
    };
    let ended = tokio::select! {
        ended = read => ended,
        () = hang_up.cancelled() => Err(Status::unavailable("we hung up")),
    };
    if stop.is_cancelled() {
        return None;
    }
    Some(match ended {
        // It is stopping, or lost its stores: another replica, or itself later, will have us.
        Ok(problem) if problem.class() == Class::Infrastructure => Ended::Broken {
            reason: problem.to_string(),
            heard: false,
        },
        Ok(problem) => Ended::Refused(problem),
        Err(status) => match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => Ended::Refused(Problem::new(
                ErrorCode::InvalidConfig,
                format!("{}; check the node's token", status.message()),
            )),
            Code::Unimplemented => Ended::Refused(Problem::new(
                ErrorCode::InvalidConfig,
                "it is no Muster coordinator, or one of another version",
            )),
            _ => Ended::Broken {
                reason: status.message().to_owned(),
                heard,
            },
        },
    })
}
