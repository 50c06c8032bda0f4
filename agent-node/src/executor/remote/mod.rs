//! An executor of the user's own: a process in any language that serves `executor.proto`. The node
//! dials it, one call a step, and stays the one who authorizes, does, counts and redacts.
//!
//! [`talk`] is the conversation: sequence numbers, bounds and silence; [`screen`] is what it is
//! shown. What it can't do is what the wire has no message for: reading a secret, calling a model
//! of the node, changing what was recorded.

mod screen;
mod talk;
#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use muster_cache_store::remote::Bearer;
use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use muster_proto::step::Tier;
use muster_proto::v1;
use muster_proto::verdict::{Answer, Judgment, Verdict, VerdictStatus};
use muster_proto::wire::VERBS;
use muster_suite::config::Remote;
use serde_json::Value;
use tonic::transport::{ClientTlsConfig, Endpoint};

use super::agent::schema::{self, Misfit};
use super::decision::secret_names;
use super::{Executor, StepContext, verdict};
use crate::harness::StepError;
use talk::{Conclusion, Talk};

/// Version of the protocol; also the executor's in recordings.
const PROTOCOL: u32 = 1;
/// Most time for connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// How often a silent connection is probed. Pings of HTTP/2 are not used: gRPC's own servers take
/// them for abuse.
const PROBE: Duration = Duration::from_secs(10);
/// Longest explanation of a judgment, characters.
const MAX_EXPLANATION: usize = 2000;

/// A remote executor, by its address. Each step is a connection of its own.
pub struct RemoteExecutor {
    url: String,
    transport: Endpoint,
    bearer: Bearer,
}

impl RemoteExecutor {
    /// Nothing is connected yet. The error says what is wrong with the address or the token.
    pub fn new(at: &Remote, token: Option<&Secret>) -> Result<Self, String> {
        at.check()?;
        let no_address = |error| format!("{:?} is no address: {error}", at.url);
        let mut transport = Endpoint::from_shared(at.url.clone())
            .map_err(no_address)?
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            .tcp_keepalive(Some(PROBE));
        if at.url.starts_with("https:") {
            transport = transport
                .tls_config(ClientTlsConfig::new().with_native_roots())
                .map_err(no_address)?;
        }
        let bearer = match token {
            None => Bearer::none(),
            Some(token) => Bearer::new(token)
                .ok_or("the token holds characters that a header can't; copy it again")?,
        };
        Ok(Self {
            url: at.url.clone(),
            transport,
            bearer,
        })
    }

    /// One step, from its first message to what it came to.
    async fn step(
        &self,
        context: &StepContext<'_>,
        ask: v1::Ask,
        schema: Option<&Value>,
    ) -> Result<Conclusion, StepError> {
        let tier = match (ask, context.handed_off) {
            (v1::Ask::Assert | v1::Ask::Extract, _) => Tier::Judge,
            (_, Some(_)) => Tier::Heal,
            (_, None) => Tier::Act,
        };
        let begin = v1::Begin {
            protocol: PROTOCOL,
            ask: ask.into(),
            instruction: context.instruction.to_owned(),
            params_json: context.params.to_string(),
            secrets: secret_names(context.params),
            agent_context: context.agent_context.to_owned(),
            ledger: context.ledger.to_owned(),
            replayed: context.replayed.to_vec(),
            handed_off: context.handed_off.unwrap_or_default().to_owned(),
            schema_json: schema.map(Value::to_string).unwrap_or_default(),
            verbs: VERBS.map(str::to_owned).to_vec(),
            left: Some(talk::left(context.harness)),
        };
        let mut talk = Talk::begin(self, context.harness, tier, begin).await?;
        let concluded = talk.run().await;
        talk.end(concluded.as_ref().err()).await;
        concluded
    }

    /// The answer is not what was asked for.
    fn invalid(&self, what: &str) -> StepError {
        StepError::Stop(Problem::new(
            ErrorCode::ModelOutputInvalid,
            format!("the remote executor at {} {what}", self.url),
        ))
    }
}

#[async_trait]
impl Executor for RemoteExecutor {
    fn name(&self) -> &'static str {
        "remote"
    }

    fn version(&self) -> &'static str {
        "1"
    }

    async fn run_step(&self, context: &StepContext<'_>) -> Result<Verdict, StepError> {
        let Conclusion::Verdict(said) = self.step(context, v1::Ask::Act, None).await? else {
            return Err(self.invalid("was asked for a verdict and ended with something else"));
        };
        let status = match said.status() {
            v1::verdict::Status::Passed => VerdictStatus::Passed,
            v1::verdict::Status::Failed => VerdictStatus::Failed,
            v1::verdict::Status::Blocked => VerdictStatus::Blocked,
            v1::verdict::Status::Unspecified => {
                return Err(self.invalid("gave a verdict without a status"));
            }
        };
        let code = match said.code.as_str() {
            "" => None,
            text => Some(ErrorCode::parse(text).ok_or_else(|| {
                let text: String = text.chars().take(80).collect();
                self.invalid(&format!("gave a verdict with the unknown code {text:?}"))
            })?),
        };
        Ok(verdict(status, said.summary, code))
    }

    async fn judge(&self, context: &StepContext<'_>) -> Result<Judgment, StepError> {
        let Conclusion::Judgment(said) = self.step(context, v1::Ask::Assert, None).await? else {
            return Err(self.invalid("was asked for a judgment and ended with something else"));
        };
        let answer = match said.answer() {
            v1::judgment::Answer::Holds => Answer::Holds,
            v1::judgment::Answer::Fails => Answer::Fails,
            v1::judgment::Answer::Inconclusive => Answer::Inconclusive,
            v1::judgment::Answer::Unspecified => {
                return Err(self.invalid("gave a judgment without an answer"));
            }
        };
        let explanation = said.explanation.trim();
        if explanation.is_empty() {
            return Err(self.invalid("gave a judgment without an explanation"));
        }
        Ok(Judgment {
            answer,
            explanation: explanation.chars().take(MAX_EXPLANATION).collect(),
        })
    }

    async fn extract(
        &self,
        context: &StepContext<'_>,
        schema: &Value,
    ) -> Result<Option<Value>, StepError> {
        let said = self.step(context, v1::Ask::Extract, Some(schema)).await?;
        let Conclusion::Extracted(said) = said else {
            return Err(self.invalid("was asked for data and ended with something else"));
        };
        let Some(data) = said.data_json else {
            return Ok(None);
        };
        let data: Value = serde_json::from_str(&data)
            .map_err(|error| self.invalid(&format!("gave data that is no JSON: {error}")))?;
        match schema::validate(schema, &data) {
            Ok(()) => Ok(Some(data)),
            Err(Misfit::Data(why)) => {
                Err(self.invalid(&format!("gave data that does not fit the schema: {why}")))
            }
            Err(Misfit::Schema(why)) => Err(StepError::Stop(Problem::new(
                ErrorCode::InvalidArgument,
                format!("the schema can't be used: {why}"),
            ))),
        }
    }
}
