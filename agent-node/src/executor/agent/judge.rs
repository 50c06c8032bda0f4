//! Judgments of the current screen, by its text, a picture or both: a statement, or data. One repair,
//! then the answer is invalid.

use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::step::{EventKind, Tier};
use muster_proto::verdict::{Answer, Judgment};
use muster_providers::model::{Image, Message, ModelReply, ModelRequest, ReplyEnd, Tool};
use muster_suite::op::Vision;
use serde::Deserialize;
use serde_json::{Value, json};

use super::prompt;
use super::schema::{self, Misfit};
use crate::executor::StepContext;
use crate::harness::{StepError, text};

/// The screen is cut to this, bytes.
const SCREEN_BYTES: usize = 48 * 1024;
/// Most tokens of an answer.
const MAX_OUTPUT: u32 = 8192;
/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(120);
/// A rejected answer is shown to the model up to here, characters.
const MAX_REJECTED: usize = 2000;
/// Rounds: one, and a repair.
const ROUNDS: u32 = 2;

const STATEMENT: &str = "Say whether the requested statement holds: holds, fails, or inconclusive where the screen doesn't tell.";
const DATA: &str = "Read the requested data off the screen. What is not on the screen is not found; never make it up.";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    answer: Answer,
    explanation: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    found: bool,
    #[serde(default)]
    data: Value,
}

/// Judges a statement.
pub(super) async fn judge(context: &StepContext<'_>) -> Result<Judgment, StepError> {
    let tool = Tool {
        name: "judge".to_owned(),
        description: "Gives the judgment.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {
                "answer": {"type": "string", "enum": ["holds", "fails", "inconclusive"]},
                "explanation": {"type": "string", "description": "What on the screen shows it; under 600 characters."},
            },
            "required": ["answer", "explanation"],
            "additionalProperties": false,
        }),
    };
    answered(context, STATEMENT, tool, |input| {
        let said: Said =
            serde_json::from_str(input).map_err(|error| Misfit::Data(error.to_string()))?;
        if said.explanation.trim().is_empty() {
            return Err(Misfit::Data("the explanation is empty".to_owned()));
        }
        Ok(Judgment {
            answer: said.answer,
            explanation: said.explanation.trim().to_owned(),
        })
    })
    .await
}

/// Reads data that fits `wanted`; none = it is not on the screen.
pub(super) async fn extract(
    context: &StepContext<'_>,
    wanted: &Value,
) -> Result<Option<Value>, StepError> {
    let tool = Tool {
        name: "extract".to_owned(),
        description: "Gives the data, or says that the screen doesn't have it.".to_owned(),
        schema: json!({
            "type": "object",
            "properties": {"found": {"type": "boolean"}, "data": wanted},
            "required": ["found"],
            "additionalProperties": false,
        }),
    };
    answered(context, DATA, tool, |input| {
        let read: Read =
            serde_json::from_str(input).map_err(|error| Misfit::Data(error.to_string()))?;
        if !read.found {
            return Ok(None);
        }
        schema::validate(wanted, &read.data)?;
        Ok(Some(read.data))
    })
    .await
}

async fn answered<T>(
    context: &StepContext<'_>,
    task: &str,
    tool: Tool,
    accept: impl Fn(&str) -> Result<T, Misfit>,
) -> Result<T, StepError> {
    let screen = context.harness.observe().await?;
    let picture = picture(context).await?;
    let text = (context.vision != Vision::Only).then(|| text::render(&screen, SCREEN_BYTES));
    let shown = prompt::Shown {
        text: text.as_deref(),
        pictured: picture.is_some(),
    };
    let fence = prompt::Fence::new();
    let first = prompt::judgment(
        &fence,
        context.instruction,
        context.params,
        screen.revision,
        screen.snapshot.viewport,
        &shown,
    );
    let mut messages = vec![Message::User {
        text: first,
        images: picture.into_iter().collect(),
    }];
    let name = tool.name.clone();
    let mut wrong = String::new();
    for _ in 0..ROUNDS {
        let request = ModelRequest {
            system: prompt::judge_system(task, context.agent_context),
            messages: messages.clone(),
            tools: vec![tool.clone()],
            force_tool: true,
            max_output_tokens: MAX_OUTPUT,
            continues: false,
            timeout: ANSWER,
        };
        let reply = context.harness.complete(Tier::Judge, &request).await?;
        let given = given(&reply, &name);
        match given
            .as_ref()
            .map_err(|why| Misfit::Data(why.clone()))
            .and_then(|input| accept(input))
        {
            Ok(answer) => return Ok(answer),
            Err(Misfit::Schema(why)) => {
                return Err(StepError::Stop(Problem::new(
                    ErrorCode::InvalidArgument,
                    format!("the schema can't be used: {why}"),
                )));
            }
            Err(Misfit::Data(why)) => wrong = why,
        }
        let rejected: String = given
            .unwrap_or(reply.text)
            .chars()
            .take(MAX_REJECTED)
            .collect();
        let repair = format!(
            "Your answer was rejected: {wrong}\n{}\nAnswer again by the tool {name}.",
            fence.around("answer", &rejected)
        );
        messages.push(Message::user(repair));
    }
    let message = format!("the model's answer stayed invalid after one repair: {wrong}");
    Err(StepError::Stop(Problem::new(
        ErrorCode::ModelOutputInvalid,
        message,
    )))
}

/// The picture that is wanted. Where the text can do without it, why there is none is noted.
async fn picture(context: &StepContext<'_>) -> Result<Option<Image>, StepError> {
    if context.vision.is_off() {
        return Ok(None);
    }
    match (context.harness.screenshot().await, context.vision) {
        (Ok(image), _) => Ok(Some(image)),
        (Err(StepError::Refused { message, .. }), Vision::Only) => Err(StepError::Refused {
            code: ErrorCode::PolicyDenied,
            message: format!("there is no picture to judge: {message}"),
        }),
        (Err(StepError::Refused { message, .. }), _) => {
            let harness = context.harness;
            harness.note(EventKind::Noted, "visionDegraded", &message);
            Ok(None)
        }
        (Err(error), _) => Err(error),
    }
}

/// The one call's input.
fn given(reply: &ModelReply, name: &str) -> Result<String, String> {
    match reply.calls.as_slice() {
        [call] if call.name == name => Ok(call.input.clone()),
        [] if reply.end == ReplyEnd::Cut => Err(format!("it was cut at {MAX_OUTPUT} tokens")),
        [] => Err(format!("there is no call of {name}")),
        [call] => Err(format!("{:?} was called instead of {name}", call.name)),
        calls => Err(format!("there are {} calls instead of one", calls.len())),
    }
}
