//! The loop: one request a turn, its calls in order, their results as text.

use std::sync::Arc;
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::step::Tier;
use muster_proto::verdict::{Verdict, VerdictStatus};
use muster_providers::model::{Message, ModelReply, ModelRequest, ToolCall};

use super::change::{Change, change};
use super::guard::{Guard, Signal};
use super::prompt;
use super::tools::{self, Call, Completion};
use crate::executor::decision::secret_names;
use crate::executor::{StepContext, verdict};
use crate::harness::{Observation, StepError, text};

/// Screens in the conversation are cut to this, bytes.
const SCREEN_BYTES: usize = 48 * 1024;
/// Outdated screens are left out of the conversation once they take more than this, bytes: in
/// batches, so that the vendor's prompt cache keeps its prefix meanwhile.
const STALE_BYTES: usize = 32 * 1024;
/// With this many turns left the model is told.
const FEW_TURNS: u32 = 5;
/// With this many turns left only a verdict is offered.
const LAST_TURNS: u32 = 2;
/// With less time left only a verdict is offered, or with less than a quarter of the step's.
const LAST_TIME: Duration = Duration::from_secs(60);
/// Turns after a verdict was forced that end the step without one.
const MAX_FORCED: u32 = 3;
/// Most tokens of an answer.
const MAX_OUTPUT: u32 = 4096;
/// Longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(120);

/// One goal being reached.
pub(super) struct Loop<'a> {
    context: &'a StepContext<'a>,
    secrets: bool,
    messages: Vec<Message>,
    /// Messages that hold a whole screen, oldest first.
    screens: Vec<usize>,
    guard: Guard,
    /// Why only a verdict is left.
    forced: Option<String>,
    forced_turns: u32,
    /// `blocked` without a valid code was sent back once.
    bounced: bool,
    /// The step's time at its start.
    time: Duration,
}

/// What a call came to.
enum Came {
    Text { text: String, failed: bool },
    Verdict(Verdict),
}

impl<'a> Loop<'a> {
    pub(super) fn new(context: &'a StepContext<'a>, screen: &Observation) -> Self {
        let shown = text::render(screen, SCREEN_BYTES);
        let first = prompt::goal(
            context.instruction,
            context.params,
            context.replayed,
            context.handed_off,
            context.ledger,
            &shown,
        );
        Self {
            context,
            secrets: !secret_names(context.params).is_empty(),
            messages: vec![Message::user(first)],
            screens: Vec::new(),
            guard: Guard::default(),
            forced: None,
            forced_turns: 0,
            bounced: false,
            time: context.harness.budget().time,
        }
    }

    pub(super) async fn run(mut self, mut screen: Arc<Observation>) -> Result<Verdict, StepError> {
        let mut first = true;
        loop {
            self.wind_down(first);
            first = false;
            if self.forced_turns > MAX_FORCED || self.context.harness.budget().model_calls == 0 {
                let summary = format!(
                    "the model gave no verdict, though only that was left: {}",
                    self.forced.unwrap_or_default()
                );
                return Ok(verdict(
                    VerdictStatus::Failed,
                    summary,
                    Some(ErrorCode::StepNoConclusion),
                ));
            }
            let reply = self.ask().await?;
            if reply.calls.is_empty() {
                let reminder = "Answer with a tool call; end with complete_step.";
                self.messages.push(Message::user(reminder));
                continue;
            }
            for call in &reply.calls {
                match self.call(call, &mut screen).await? {
                    Came::Verdict(verdict) => return Ok(verdict),
                    Came::Text { text, failed } => self.result(call, text, failed),
                }
            }
            self.forget_screens();
        }
    }

    /// Decides whether only a verdict is left.
    fn wind_down(&mut self, first: bool) {
        let budget = self.context.harness.budget();
        let short = !first && budget.time < LAST_TIME.min(self.time / 4);
        if self.forced.is_none() {
            if budget.model_calls <= LAST_TURNS {
                self.force(format!("{} turns are left", budget.model_calls));
            } else if short {
                self.force(format!("{} s are left", budget.time.as_secs()));
            } else if budget.model_calls == FEW_TURNS {
                self.messages
                    .push(Message::user(format!("{FEW_TURNS} turns are left.")));
            }
        }
        self.forced_turns += u32::from(self.forced.is_some());
    }

    fn force(&mut self, why: String) {
        self.messages.push(Message::user(format!(
            "Only complete_step is left: {why}. Give your verdict."
        )));
        self.forced = Some(why);
    }

    async fn ask(&mut self) -> Result<ModelReply, StepError> {
        let tools = if self.forced.is_some() {
            vec![tools::complete()]
        } else {
            tools::offered(self.secrets)
        };
        let request = ModelRequest {
            system: prompt::system(self.context.agent_context),
            messages: self.messages.clone(),
            tools,
            force_tool: true,
            max_output_tokens: MAX_OUTPUT,
            timeout: ANSWER,
        };
        let tier = match self.context.handed_off {
            Some(_) => Tier::Heal,
            None => Tier::Act,
        };
        let reply = self.context.harness.complete(tier, &request).await?;
        self.messages.push(Message::Assistant {
            text: reply.text.clone(),
            calls: reply.calls.clone(),
        });
        Ok(reply)
    }

    async fn call(
        &mut self,
        call: &ToolCall,
        screen: &mut Arc<Observation>,
    ) -> Result<Came, StepError> {
        let refused = |text: String| Ok(Came::Text { text, failed: true });
        match tools::parse(call) {
            Err(refusal) => refused(refusal),
            Ok(Call::Complete(completion)) => Ok(self.complete(completion)),
            Ok(_) if self.forced.is_some() => {
                refused("refused: only complete_step is left".to_owned())
            }
            Ok(Call::Observe) => {
                *screen = self.context.harness.observe().await?;
                self.screens.push(self.messages.len());
                let text = prompt::fenced("screen", &text::render(screen, SCREEN_BYTES));
                Ok(Came::Text {
                    text,
                    failed: false,
                })
            }
            Ok(Call::Act(action)) => match self.context.harness.perform(action).await {
                Ok(done) => {
                    let text = self.told(&done.before, &done.after);
                    *screen = done.after;
                    Ok(Came::Text {
                        text,
                        failed: false,
                    })
                }
                Err(StepError::Refused { code, message }) => {
                    refused(format!("not done: {code}: {message}"))
                }
                Err(StepError::Uncertain { message }) => refused(format!(
                    "may have been done: {message}; look before you go on, and don't repeat it"
                )),
                Err(stop) => Err(stop),
            },
        }
    }

    /// What an action changed.
    fn told(&mut self, before: &Observation, after: &Observation) -> String {
        let now = text::render(after, SCREEN_BYTES);
        match change(&text::render(before, SCREEN_BYTES), &now) {
            Change::None => "done; no visible effect".to_owned(),
            Change::Lines(lines) => format!(
                "done; the screen changed:\n{}",
                prompt::fenced("changes", &lines)
            ),
            Change::Whole => {
                self.screens.push(self.messages.len());
                format!("done; the screen now:\n{}", prompt::fenced("screen", &now))
            }
        }
    }

    /// Accepts a verdict, or says what is wrong with it.
    fn complete(&mut self, completion: Completion) -> Came {
        let refused = |text: &str| Came::Text {
            text: format!("refused: {text}"),
            failed: true,
        };
        if completion.summary.trim().is_empty() {
            return refused("a verdict needs a summary");
        }
        let code = completion
            .error_code
            .as_deref()
            .and_then(ErrorCode::parse)
            .filter(|code| code.model_may_pick());
        let code = match completion.status {
            VerdictStatus::Passed => None,
            VerdictStatus::Failed => Some(code.unwrap_or(ErrorCode::ActionFailed)),
            VerdictStatus::Blocked => match code.filter(|code| code.blocked().is_some()) {
                Some(code) => Some(code),
                None if !self.bounced => {
                    self.bounced = true;
                    return refused(
                        "blocked needs an errorCode that says what blocks: a credential, the environment, data, or the automation",
                    );
                }
                None => Some(ErrorCode::AutomationUnsupported),
            },
        };
        Came::Verdict(verdict(completion.status, completion.summary.trim(), code))
    }

    /// Puts a result into the conversation, and lets the guard see the call.
    fn result(&mut self, call: &ToolCall, text: String, failed: bool) {
        self.messages.push(Message::ToolResult {
            call_id: call.id.clone(),
            text,
        });
        let acts = !matches!(call.name.as_str(), "observe" | tools::COMPLETE);
        let signal = self
            .guard
            .note(&format!("{} {}", call.name, call.input), acts, failed);
        let note = match signal {
            Signal::Warn(what) => {
                format!("\nNote: {what}. Try something else, or give your verdict.")
            }
            Signal::Force(what) if self.forced.is_none() => {
                let note = format!("\nOnly complete_step is left: {what}. Give your verdict.");
                self.forced = Some(what);
                note
            }
            Signal::Fine | Signal::Force(_) => return,
        };
        if let Some(Message::ToolResult { text, .. }) = self.messages.last_mut() {
            text.push_str(&note);
        }
    }

    /// Leaves out all screens but the newest, once they take too much.
    fn forget_screens(&mut self) {
        let Some((_, stale)) = self.screens.split_last() else {
            return;
        };
        let size = |index: &usize| match &self.messages[*index] {
            Message::ToolResult { text, .. } => text.len(),
            Message::User { .. } | Message::Assistant { .. } => 0,
        };
        if stale.iter().map(size).sum::<usize>() <= STALE_BYTES {
            return;
        }
        for &index in stale {
            if let Message::ToolResult { text, .. } = &mut self.messages[index] {
                "done; an earlier screen, left out".clone_into(text);
            }
        }
        self.screens.drain(..self.screens.len() - 1);
    }
}
