//! Nodes: one stream each, opened by the node.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::id::NodeId;
use muster_proto::outcome::Problem;
use muster_proto::v1;
use muster_proto::v1::coordinator_message::Message as ToNode;
use muster_proto::v1::node_message::Message as FromNode;
use muster_proto::v1::node_service_server::NodeService;
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::{Request, Response, Status, Streaming};

use super::HangUp;
use crate::dispatch::{Command, Dispatch, OUTBOX, Outbox, Session};
use crate::schedule::{Event, Offer, Token};

/// How long a new stream may take to say hello.
const HELLO: Duration = Duration::from_secs(10);
/// Most attempts at once on one node.
const MAX_SLOTS: u32 = 1024;

/// The service.
pub(crate) struct NodeApi {
    pub(crate) dispatch: Dispatch,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    /// Tells a node's streams apart.
    pub(crate) sessions: AtomicU64,
}

#[tonic::async_trait]
impl NodeService for NodeApi {
    type AttachStream = ReceiverStream<Result<v1::CoordinatorMessage, Status>>;

    async fn attach(
        &self,
        request: Request<Streaming<v1::NodeMessage>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let hang_up = HangUp::of(&request);
        let (outbox, messages) = mpsc::channel(OUTBOX);
        let stream = Stream {
            inbox: request.into_inner(),
            outbox,
            dispatch: self.dispatch.clone(),
            session: self.sessions.fetch_add(1, Ordering::Relaxed),
        };
        let stop = self.stop.clone();
        // The node waits for the response before it says hello, so its stream gets a task.
        self.tasks
            .spawn(async move { stream.serve(stop, hang_up).await });
        Ok(Response::new(ReceiverStream::new(messages)))
    }
}

/// One node's stream. When it ends the node's leases last until they expire.
struct Stream {
    inbox: Streaming<v1::NodeMessage>,
    outbox: Outbox,
    dispatch: Dispatch,
    session: u64,
}

impl Stream {
    async fn serve(mut self, stop: CancellationToken, hang_up: CancellationToken) {
        let cut = CancellationToken::new();
        let ended = tokio::select! {
            node = self.hello(&cut) => node,
            () = stop.cancelled() => return,
            () = hang_up.cancelled() => return,
        };
        let node = match ended {
            Ok(node) => node,
            Err(problem) => return self.refuse(&problem).await,
        };
        let ended = tokio::select! {
            ended = self.messages(&node) => ended,
            () = cut.cancelled() => Ok(()),
            () = stop.cancelled() => Ok(()),
            () = hang_up.cancelled() => Ok(()),
        };
        if let Err(problem) = ended {
            self.refuse(&problem).await;
        }
        let detach = Command::Detach {
            node,
            session: self.session,
        };
        if self.dispatch.send(detach).await.is_err() {
            tracing::debug!("a stream ended after the coordinator");
        }
    }

    /// `cut` is what the loop cancels when it lets the stream go.
    async fn hello(&mut self, cut: &CancellationToken) -> Result<NodeId, Problem> {
        let first = tokio::time::timeout(HELLO, self.inbox.message()).await;
        let Ok(Ok(Some(v1::NodeMessage {
            message: Some(FromNode::Hello(hello)),
        }))) = first
        else {
            return Err(broken("a stream begins with a hello"));
        };
        if hello.node_id.is_empty() {
            return Err(broken("the hello names no node"));
        }
        if hello.slots == 0 || hello.slots > MAX_SLOTS {
            return Err(Problem::new(
                ErrorCode::InvalidConfig,
                format!(
                    "a node offers 1 to {MAX_SLOTS} slots, not {}; start it with --slots",
                    hello.slots
                ),
            ));
        }
        let node = NodeId(hello.node_id);
        tracing::info!(
            muster.node.id = %node,
            muster.node.name = hello.name,
            muster.node.version = hello.version,
            muster.node.slots = hello.slots,
            muster.harness.policy.digest = hello.policy_digest,
            "node attached"
        );
        let attach = Command::Attach {
            node: node.clone(),
            offer: Offer {
                capabilities: BTreeSet::from_iter(hello.capabilities),
                slots: hello.slots as usize,
            },
            held: tokens(hello.held),
            session: Session {
                id: self.session,
                outbox: self.outbox.clone(),
                _cut: cut.clone().drop_guard(),
            },
        };
        self.send(attach).await.map(|()| node)
    }

    /// Hands messages on until the node hangs up or breaks the protocol.
    async fn messages(&mut self, node: &NodeId) -> Result<(), Problem> {
        loop {
            let message = tokio::select! {
                message = self.inbox.message() => message,
                // The node is gone.
                () = self.outbox.closed() => return Ok(()),
            };
            let message = match message {
                Ok(Some(v1::NodeMessage {
                    message: Some(message),
                })) => message,
                // A message of a newer version.
                Ok(Some(v1::NodeMessage { message: None })) => continue,
                Ok(None) => return Ok(()),
                Err(status) => {
                    tracing::info!(muster.node.id = %node, %status, "a node's stream broke");
                    return Ok(());
                }
            };
            match message {
                FromNode::Hello(_) => return Err(broken("a second hello in one stream")),
                FromNode::Beat(beat) => {
                    let (number, held) = (beat.number, tokens(beat.held));
                    self.send(Command::Node(Event::Beat {
                        node: node.clone(),
                        number,
                        held,
                    }))
                    .await?;
                }
                FromNode::Progress(progress) => {
                    self.dispatch.offer(Command::Progress {
                        node: node.clone(),
                        progress,
                    });
                }
                FromNode::Result(result) => {
                    let event = read_result(node, result)?;
                    self.send(Command::Node(event)).await?;
                }
                FromNode::Settle(_) => {
                    return Err(Problem::new(
                        ErrorCode::UnsupportedCapability,
                        "this coordinator settles recordings with the result only; send them there",
                    ));
                }
                FromNode::Drain(drain) => {
                    let (returned, reason) = (tokens(drain.returned), drain.reason);
                    self.send(Command::Node(Event::Drained {
                        node: node.clone(),
                        returned,
                        reason,
                    }))
                    .await?;
                }
            }
        }
    }

    async fn send(&self, command: Command) -> Result<(), Problem> {
        let stopping = |_| {
            Problem::new(
                ErrorCode::CoordinatorUnavailable,
                "the coordinator is stopping; dial again",
            )
        };
        self.dispatch.send(command).await.map_err(stopping)
    }

    async fn refuse(&self, problem: &Problem) {
        tracing::warn!(%problem, "a node's stream is refused");
        let refused = v1::Refused {
            problem: Some(problem.into()),
        };
        let message = v1::CoordinatorMessage {
            message: Some(ToNode::Refused(refused)),
        };
        // A node that doesn't read need not know.
        self.outbox.try_send(Ok(message)).unwrap_or_default();
    }
}

/// A result that can't be what its lease says costs the lease, not the stream.
fn read_result(node: &NodeId, result: v1::Result) -> Result<Event, Problem> {
    let token = Token::from(
        result
            .token
            .ok_or_else(|| broken("a result without its lease's token"))?,
    );
    let reason = match v1::AttemptResult::decode(result.result.as_slice()) {
        Ok(decoded)
            if (&decoded.run_id, &decoded.unit_id, decoded.epoch)
                == (&token.run.0, &token.unit.0, token.epoch) =>
        {
            return Ok(Event::Result {
                node: node.clone(),
                token,
                result: result.result,
            });
        }
        Ok(decoded) => format!(
            "its node sent the result of unit {} epoch {}",
            decoded.unit_id, decoded.epoch
        ),
        Err(error) => format!("its node sent a result that can't be read: {error}"),
    };
    Ok(Event::Unreadable {
        node: node.clone(),
        token,
        reason,
    })
}

fn tokens(tokens: Vec<v1::LeaseToken>) -> Vec<Token> {
    tokens.into_iter().map(Token::from).collect()
}

fn broken(what: &str) -> Problem {
    Problem::new(
        ErrorCode::InternalError,
        format!("{what}; node and coordinator may be of different versions"),
    )
}
