//! The loop: one request a turn, its calls in order, their results as text.

use std::sync::Arc;
use std::time::Duration;

use muster_engine::page::Pointer;
use muster_proto::action::Action;
use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard as Rule;
use muster_proto::step::{EventKind, Tier};
use muster_proto::verdict::{Verdict, VerdictStatus};
use muster_providers::model::{Image, ModelReply, ModelRequest, ReplyEnd, Tool, ToolCall};

use super::call::{self, Call, Completion, Touch};
use super::change::{Change, change};
use super::conversation::{Conversation, Told};
use super::guard::{Guard, Kind, Made, Signal};
use super::prompt::{self, Fence};
use super::state::{interactive, resets, state};
use super::tools;
use crate::executor::decision::secret_names;
use crate::executor::{StepContext, verdict};
use crate::harness::part::{self, Part};
use crate::harness::{At, Observation, StepError, called};

/// Screens in the conversation are cut to this, bytes.
const SCREEN_BYTES: usize = 48 * 1024;
/// … and to this once the vendor refused the conversation's length.
const SMALL_SCREEN_BYTES: usize = 8 * 1024;
/// Most input of a call, bytes.
const MAX_INPUT: usize = 64 * 1024;
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
    tier: Tier,
    secrets: bool,
    /// Whether the model sees and pixels were not refused.
    pictures: bool,
    fence: Fence,
    conversation: Conversation,
    /// A picture that follows the answers of this round.
    picture: Option<Image>,
    screen_bytes: usize,
    guard: Guard,
    /// The action whose outcome is unknown, until a look.
    uncertain: Option<String>,
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
    Text {
        told: Told,
        text: String,
        kind: Kind,
        failed: bool,
    },
    Verdict(Verdict),
}

impl Came {
    fn refused(kind: Kind, text: String) -> Self {
        Came::Text {
            told: Told::Line,
            text,
            kind,
            failed: true,
        }
    }
}

impl<'a> Loop<'a> {
    pub(super) fn new(context: &'a StepContext<'a>, idle_looks: u32, screen: &Observation) -> Self {
        let fence = Fence::new();
        let first = prompt::goal(
            &fence,
            context.instruction,
            context.params,
            context.replayed,
            context.handed_off,
            context.ledger,
        );
        let shown = fence.around("screen", &whole(screen, SCREEN_BYTES));
        let tier = match context.handed_off {
            Some(_) => Tier::Heal,
            None => Tier::Act,
        };
        Self {
            context,
            tier,
            secrets: !secret_names(context.params).is_empty(),
            pictures: context
                .harness
                .model(tier)
                .is_some_and(|model| model.vision),
            conversation: Conversation::new(fence.clone(), first, shown),
            fence,
            picture: None,
            screen_bytes: SCREEN_BYTES,
            guard: Guard::new(idle_looks, state(screen)),
            uncertain: None,
            forced: None,
            forced_turns: 0,
            bounced: false,
            time: context.harness.budget().time,
        }
    }

    pub(super) async fn run(mut self, mut screen: Arc<Observation>) -> Result<Verdict, StepError> {
        if self.pictures && !interactive(&screen) {
            // Nothing can be named there: a canvas, a picture, a page that is still empty.
            self.look().await?;
            self.show();
        }
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
            let reply = match self.ask(&screen).await {
                Err(StepError::Refused {
                    code: code @ ErrorCode::ContextOverflow,
                    message,
                }) => return Ok(verdict(VerdictStatus::Blocked, message, Some(code))),
                reply => reply?,
            };
            if reply.calls.is_empty() {
                let cut = match reply.end {
                    ReplyEnd::Cut => format!("Your answer was cut at {MAX_OUTPUT} tokens. "),
                    ReplyEnd::Whole | ReplyEnd::Declined => String::new(),
                };
                self.conversation.keep(format!(
                    "{cut}Answer with a tool call; end with complete_step."
                ));
            }
            for call in reply.calls.iter().map(call::plain) {
                let call = &call;
                // Taken before the call: afterwards its target may be gone.
                let (signature, target) = signature(call, &screen);
                let before = Arc::clone(&screen);
                match self.call(call, &signature, &mut screen).await? {
                    Came::Verdict(verdict) => return Ok(verdict),
                    Came::Text {
                        told,
                        text,
                        kind,
                        failed,
                    } => {
                        let made = Made {
                            kind,
                            signature: &signature,
                            field: &target,
                            failed,
                            stays: call.name == "navigate" && before.location == screen.location,
                            state: &state(&screen),
                        };
                        let note = self.watched(made);
                        self.conversation.answer(call, told, text + &note);
                    }
                }
            }
            self.show();
            let input = reply.usage.map_or(0, |usage| usage.input);
            self.conversation.tidy(input);
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
                self.conversation
                    .keep(format!("{FEW_TURNS} turns are left."));
            }
        }
        self.forced_turns += u32::from(self.forced.is_some());
    }

    fn force(&mut self, why: String) {
        self.conversation.keep(format!(
            "Only complete_step is left: {why}. Give your verdict."
        ));
        self.forced = Some(why);
    }

    /// One turn. A conversation that is too long is shortened and sent again, once.
    async fn ask(&mut self, screen: &Observation) -> Result<ModelReply, StepError> {
        let mut reply = self.send().await;
        if let Err(StepError::Refused {
            code: ErrorCode::ContextOverflow,
            ..
        }) = reply
        {
            self.screen_bytes = SMALL_SCREEN_BYTES;
            let small = whole(screen, self.screen_bytes);
            self.conversation
                .shrink(self.fence.around("screen", &small));
            reply = self.send().await;
        }
        let reply = reply?;
        self.conversation.said(&reply);
        Ok(reply)
    }

    async fn send(&self) -> Result<ModelReply, StepError> {
        let request = ModelRequest {
            system: prompt::system(self.context.agent_context),
            messages: self.conversation.messages(),
            tools: self.tools(),
            force_tool: true,
            max_output_tokens: MAX_OUTPUT,
            continues: true,
            timeout: ANSWER,
        };
        self.context.harness.complete(self.tier, &request).await
    }

    fn tools(&self) -> Vec<Tool> {
        match self.forced {
            Some(_) => vec![tools::complete()],
            None => {
                let means = self.context.harness.means();
                tools::offered(tools::Offer {
                    secrets: self.secrets,
                    vision: self.pictures && means.pixels,
                    files: means.files,
                })
            }
        }
    }

    async fn call(
        &mut self,
        call: &ToolCall,
        signature: &str,
        screen: &mut Arc<Observation>,
    ) -> Result<Came, StepError> {
        if Rule::ToolSchema.holds() && call.input.len() > MAX_INPUT {
            let what = format!("{} bytes for {}", call.input.len(), call.name);
            self.denied(Rule::ToolSchema, &what);
            let text = format!("refused: {what}; a call takes at most {MAX_INPUT}");
            return Ok(Came::refused(Kind::Other, text));
        }
        match call::parse(call) {
            Err(refusal) => Ok(Came::refused(Kind::Other, refusal)),
            Ok(Call::Complete(completion)) => Ok(self.complete(completion)),
            Ok(_) if self.forced.is_some() => {
                let text = "refused: only complete_step is left".to_owned();
                Ok(Came::refused(Kind::Other, text))
            }
            Ok(Call::Observe(wanted)) => {
                *screen = self.context.harness.observe().await?;
                self.uncertain = None;
                let shown = part::render(screen, &wanted, self.screen_bytes);
                Ok(Came::Text {
                    told: match wanted.is_whole() {
                        true => Told::Screen,
                        false => Told::Part,
                    },
                    text: self.fence.around("screen", &shown),
                    kind: Kind::Look,
                    failed: false,
                })
            }
            Ok(Call::Screenshot) => match self.look().await? {
                None => Ok(Came::Text {
                    told: Told::Line,
                    text: "done; the picture follows".to_owned(),
                    kind: Kind::Look,
                    failed: false,
                }),
                Some(refusal) => Ok(Came::refused(Kind::Look, refusal)),
            },
            Ok(Call::Act(_) | Call::At { .. })
                if Rule::ActionOnce.holds() && self.uncertain.as_deref() == Some(signature) =>
            {
                self.denied(Rule::ActionOnce, signature);
                let text = "refused: the same action may have been done; observe first".to_owned();
                Ok(Came::refused(Kind::Act, text))
            }
            Ok(Call::Act(action)) => self.act(action, signature, screen).await,
            Ok(Call::At { x, y, touch }) => match self.context.harness.at(x, y).await {
                Ok(At::Control(target)) => self.act(touch.on(target), signature, screen).await,
                Ok(At::Bare) => self.touch(x, y, touch, signature, screen).await,
                Err(error) => self.not_done(error, signature),
            },
        }
    }

    /// Does something at a point where nothing stands that has a name.
    async fn touch(
        &mut self,
        x: u32,
        y: u32,
        touch: Touch,
        signature: &str,
        screen: &mut Arc<Observation>,
    ) -> Result<Came, StepError> {
        let pointer = match touch {
            Touch::Hover => Pointer::Hover,
            Touch::Tap | Touch::Type(_) | Touch::Press(_) => Pointer::Tap,
            Touch::Select(_) => {
                let text = "refused: there is no select at that point".to_owned();
                return Ok(Came::refused(Kind::Act, text));
            }
        };
        let (before, after) = match self.context.harness.point(x, y, pointer).await {
            Ok(done) => done,
            Err(error) => return self.not_done(error, signature),
        };
        *screen = Arc::clone(&after);
        match touch {
            // Into what the tap gave the focus.
            Touch::Type(text) => {
                let typed = Action::TypeText { text };
                self.act(typed, signature, screen).await
            }
            Touch::Press(key) => {
                let pressed = Action::Press {
                    target: None,
                    key,
                    times: 1,
                };
                self.act(pressed, signature, screen).await
            }
            Touch::Tap | Touch::Hover | Touch::Select(_) => {
                let (told, text) = self.told(&before, &after);
                Ok(Came::Text {
                    told,
                    text,
                    kind: Kind::Act,
                    failed: false,
                })
            }
        }
    }

    async fn act(
        &mut self,
        action: Action<muster_engine::NodeId>,
        signature: &str,
        screen: &mut Arc<Observation>,
    ) -> Result<Came, StepError> {
        let selects = matches!(action, Action::Select { .. });
        let target = action.target().copied();
        match self.context.harness.perform(action).await {
            Ok(done) => {
                let (told, text) = self.told(&done.before, &done.after);
                let kind = match selects && resets(target, &done.before, &done.after) {
                    true => Kind::Reset,
                    false => Kind::Act,
                };
                *screen = done.after;
                Ok(Came::Text {
                    told,
                    text,
                    kind,
                    failed: false,
                })
            }
            Err(error) => self.not_done(error, signature),
        }
    }

    /// What the model is told of an action that was refused or is unknown.
    fn not_done(&mut self, error: StepError, signature: &str) -> Result<Came, StepError> {
        match error {
            StepError::Refused { code, message } => Ok(Came::refused(
                Kind::Act,
                format!("not done: {code}: {message}"),
            )),
            StepError::Uncertain { message } => {
                self.uncertain = Some(signature.to_owned());
                let text = format!(
                    "may have been done: {message}; look before you go on, and don't repeat it"
                );
                Ok(Came::refused(Kind::Act, text))
            }
            stop @ StepError::Stop(_) => Err(stop),
        }
    }

    /// What an action changed.
    fn told(&self, before: &Observation, after: &Observation) -> (Told, String) {
        let now = whole(after, self.screen_bytes);
        match change(&whole(before, self.screen_bytes), &now) {
            Change::None => (Told::Line, "done; no visible effect".to_owned()),
            Change::Lines(lines) => {
                let lines = self.fence.around("changes", &lines);
                (Told::Part, format!("done; the screen changed:\n{lines}"))
            }
            Change::Whole => {
                let shown = self.fence.around("screen", &now);
                (Told::Screen, format!("done; the screen now:\n{shown}"))
            }
        }
    }

    /// Takes a picture for the end of the round, or says why there is none. Closed pixels stay so.
    async fn look(&mut self) -> Result<Option<String>, StepError> {
        if !self.pictures {
            return Ok(Some(
                "refused: there are no pictures in this step".to_owned(),
            ));
        }
        match self.context.harness.screenshot().await {
            Ok(image) => {
                self.picture = Some(image);
                Ok(None)
            }
            Err(StepError::Refused { code, message }) => {
                self.pictures = code != ErrorCode::PolicyDenied;
                Ok(Some(format!("not done: {code}: {message}")))
            }
            Err(StepError::Uncertain { message }) => Ok(Some(format!("not done: {message}"))),
            Err(stop) => Err(stop),
        }
    }

    /// Puts the round's picture into the conversation.
    fn show(&mut self) {
        if let Some(image) = self.picture.take() {
            self.conversation.picture(image);
        }
    }

    fn denied(&self, rule: Rule, what: &str) {
        self.context
            .harness
            .note(EventKind::Denied, rule.as_str(), what);
    }

    /// Lets the guard see a call; what the model is told of it.
    fn watched(&mut self, made: Made<'_>) -> String {
        let signal = self.guard.note(made);
        if !Rule::LoopStalled.holds() {
            return String::new();
        }
        let (what, note) = match signal {
            Signal::Warn(what) => {
                let note = format!("\nNote: {what}. Try something else, or give your verdict.");
                (what, note)
            }
            Signal::Force(what) if self.forced.is_none() => {
                let note = format!("\nOnly complete_step is left: {what}. Give your verdict.");
                self.forced = Some(what.clone());
                (what, note)
            }
            Signal::Fine | Signal::Force(_) => return String::new(),
        };
        let rule = Rule::LoopStalled.as_str();
        self.context.harness.note(EventKind::Stalled, rule, &what);
        note
    }

    /// Accepts a verdict, or says what is wrong with it.
    fn complete(&mut self, completion: Completion) -> Came {
        let refused = |text: &str| Came::refused(Kind::Other, format!("refused: {text}"));
        if completion.summary.trim().is_empty() {
            return refused("a verdict needs a summary");
        }
        let code = completion
            .error_code
            .as_deref()
            .and_then(ErrorCode::parse)
            .filter(|code| code.model_may_pick() || !Rule::VerdictCode.holds());
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
}

/// All of a screen, as far as it fits.
fn whole(screen: &Observation, bytes: usize) -> String {
    part::render(screen, &Part::default(), bytes)
}

/// A call without its wording: the tool, its target by role and name, and the rest of its input;
/// and the target alone.
fn signature(call: &ToolCall, screen: &Observation) -> (String, String) {
    let Ok(serde_json::Value::Object(mut input)) = serde_json::from_str(&call.input) else {
        return (format!("{} {}", call.name, call.input), String::new());
    };
    let named = input
        .get("target")
        .and_then(|target| target.as_str())
        .and_then(|target| target.trim().trim_start_matches('#').strip_prefix('n'))
        .and_then(|digits| digits.parse().ok())
        .and_then(|id| screen.node(muster_engine::NodeId(id)))
        .map(called)
        .unwrap_or_default();
    if !named.is_empty() {
        input.insert("target".to_owned(), named.clone().into());
    }
    let parts: std::collections::BTreeMap<_, _> = input.iter().collect();
    (format!("{} {parts:?}", call.name), named)
}
