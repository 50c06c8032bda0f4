//! What JavaScript can call: the prelude's `native` object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use muster_proto::outcome::Place;
use muster_suite::frame::{FromWorker, Limits};
use muster_suite::op::Op;
use rquickjs::prelude::{Func, Opt};
use rquickjs::{Ctx, Exception, Object};
use tokio::time::Instant;

use super::web;
use crate::places::Sources;

/// Steps that may wait for an answer at once.
const MAX_WAITING: usize = 1024;
/// Longest step, bytes of JSON.
const MAX_OP: usize = 1024 * 1024;
/// Bytes of steps that may wait to be written.
const MAX_OUTGOING: usize = 16 * 1024 * 1024;
/// Console lines of one attempt; further ones are dropped, with a note.
const MAX_LINES: usize = 1000;
/// Longest console line, bytes.
const MAX_LINE: usize = 8192;
/// Timers that may run at once.
const MAX_TIMERS: usize = 10_000;

/// The state behind the door.
pub(super) struct Door {
    sources: Arc<Sources>,
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    outgoing: Vec<FromWorker>,
    outgoing_bytes: usize,
    finished: Option<String>,
    last_call: u64,
    /// Steps without an answer.
    waiting: BTreeSet<u64>,
    last_timer: u64,
    /// Due times, soonest first, with the timer's number.
    due: BTreeSet<(Instant, u64)>,
    timers: BTreeMap<u64, Instant>,
    lines: usize,
    random: u64,
}

impl Door {
    pub(super) fn new(sources: Arc<Sources>, limits: Limits, seed: u64) -> Arc<Self> {
        Arc::new(Self {
            sources,
            limits,
            state: Mutex::new(State {
                random: seed,
                ..State::default()
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_outgoing(&self) -> Vec<FromWorker> {
        let mut state = self.state();
        state.outgoing_bytes = 0;
        std::mem::take(&mut state.outgoing)
    }

    pub(super) fn take_finished(&self) -> Option<String> {
        self.state().finished.take()
    }

    /// Whether nothing that could call JavaScript again is under way.
    pub(super) fn idle(&self) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.timers.is_empty() && state.finished.is_none()
    }

    /// The soonest timer.
    pub(super) fn next_timer(&self) -> Option<(Instant, u64)> {
        self.state().due.first().copied()
    }

    /// The timer is due and forgotten, unless it is set again.
    pub(super) fn expired(&self, id: u64) {
        self.state().stop(id);
    }

    /// The step has its answer.
    pub(super) fn answered(&self, id: u64) {
        self.state().waiting.remove(&id);
    }

    /// Where a stack is in the user's source.
    pub(super) fn place_of(&self, stack: &str) -> Option<Place> {
        self.sources.place(stack, None)
    }

    /// The problem of JavaScript that ran too long.
    pub(super) fn slice_message(&self) -> String {
        format!(
            "JavaScript ran for more than {} ms without a pause; a loop may not end, or it waits without await",
            self.limits.slice_ms
        )
    }

    /// The problem of JavaScript that took too much memory.
    pub(super) fn memory_message(&self) -> String {
        format!(
            "out of memory: a test may use {} MiB",
            self.limits.memory_bytes / 1024 / 1024
        )
    }

    /// Makes the object that the prelude connects to.
    pub(super) fn object<'js>(self: &Arc<Self>, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let object = Object::new(ctx.clone())?;
        let door = Arc::clone(self);
        object.set(
            "send",
            Func::from(
                move |ctx: Ctx<'js>, op: String, place: Option<Object<'js>>| {
                    door.send(&ctx, &op, place)
                },
            ),
        )?;
        let door = Arc::clone(self);
        object.set(
            "place",
            Func::from(
                move |ctx: Ctx<'js>, stack: Opt<String>, prefer: Opt<String>| {
                    door.place(&ctx, stack.0.as_deref(), prefer.0.as_deref())
                },
            ),
        )?;
        let door = Arc::clone(self);
        object.set(
            "log",
            Func::from(move |level: String, text: String| door.log(level, text)),
        )?;
        let door = Arc::clone(self);
        object.set(
            "timer",
            Func::from(move |ctx: Ctx<'js>, wait: f64, own: bool| door.timer(&ctx, wait, own)),
        )?;
        let door = Arc::clone(self);
        object.set(
            "again",
            Func::from(move |id: f64, wait: f64| door.state().start(id as u64, wait)),
        )?;
        let door = Arc::clone(self);
        object.set(
            "cancel",
            Func::from(move |id: f64| door.state().stop(id as u64)),
        )?;
        let door = Arc::clone(self);
        object.set(
            "random",
            Func::from(move || f64::from(door.state().random())),
        )?;
        let door = Arc::clone(self);
        object.set(
            "finish",
            Func::from(move |json: String| door.state().finished = Some(json)),
        )?;
        let door = Arc::clone(self);
        object.set(
            "failed",
            Func::from(move || door.state().outgoing.push(FromWorker::Failed {})),
        )?;
        let door = Arc::clone(self);
        object.set(
            "bodyEnded",
            Func::from(move |failed: bool| {
                door.state().outgoing.push(FromWorker::BodyEnded { failed });
            }),
        )?;
        let door = Arc::clone(self);
        object.set("memoryMessage", Func::from(move || door.memory_message()))?;
        let door = Arc::clone(self);
        object.set("sliceMessage", Func::from(move || door.slice_message()))?;
        web::install(&object)?;
        Ok(object)
    }

    fn send(&self, ctx: &Ctx<'_>, op: &str, place: Option<Object<'_>>) -> rquickjs::Result<f64> {
        let mut state = self.state();
        if op.len() > MAX_OP {
            return Err(Exception::throw_range(
                ctx,
                &format!("a step has {} bytes; the most is {MAX_OP}", op.len()),
            ));
        }
        if state.waiting.len() >= MAX_WAITING || state.outgoing_bytes + op.len() > MAX_OUTGOING {
            return Err(Exception::throw_range(
                ctx,
                "too many steps at once; await them",
            ));
        }
        let length = op.len();
        let op: Op = serde_json::from_str(op).map_err(|error| {
            Exception::throw_type(ctx, &format!("the step is malformed: {error}"))
        })?;
        state.last_call += 1;
        let id = state.last_call;
        state.waiting.insert(id);
        state.outgoing_bytes += length;
        state.outgoing.push(FromWorker::Call {
            id,
            op,
            place: place.as_ref().and_then(read_place),
        });
        Ok(id as f64)
    }

    fn place<'js>(
        &self,
        ctx: &Ctx<'js>,
        stack: Option<&str>,
        prefer: Option<&str>,
    ) -> rquickjs::Result<Option<Object<'js>>> {
        let Some(place) = stack.and_then(|stack| self.sources.place(stack, prefer)) else {
            return Ok(None);
        };
        let object = Object::new(ctx.clone())?;
        object.set("file", place.file)?;
        object.set("line", place.line)?;
        object.set("column", place.column)?;
        Ok(Some(object))
    }

    fn log(&self, level: String, mut text: String) {
        let mut state = self.state();
        state.lines += 1;
        if state.lines > MAX_LINES + 1 {
            return;
        }
        if state.lines == MAX_LINES + 1 {
            text = format!("… only {MAX_LINES} lines are kept");
        }
        let mut end = text.len().min(MAX_LINE);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        state.outgoing.push(FromWorker::Console { level, text });
    }

    /// The runner's own timers don't count: a test that floods still gets its clean-up.
    fn timer(&self, ctx: &Ctx<'_>, wait: f64, own: bool) -> rquickjs::Result<f64> {
        let mut state = self.state();
        if !own && state.timers.len() >= MAX_TIMERS {
            return Err(Exception::throw_range(
                ctx,
                &format!("more than {MAX_TIMERS} timers run at once"),
            ));
        }
        state.last_timer += 1;
        let id = state.last_timer;
        state.start(id, wait);
        Ok(id as f64)
    }
}

impl State {
    /// `wait` is milliseconds, made sound by the prelude.
    fn start(&mut self, id: u64, wait: f64) {
        self.stop(id);
        let at =
            Instant::now() + Duration::from_secs_f64(wait.clamp(0.0, 2_147_483_647.0) / 1000.0);
        self.timers.insert(id, at);
        self.due.insert((at, id));
    }

    fn stop(&mut self, id: u64) {
        if let Some(at) = self.timers.remove(&id) {
            self.due.remove(&(at, id));
        }
    }

    /// SplitMix64's upper half.
    fn random(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 32) as u32
    }
}

fn read_place(object: &Object<'_>) -> Option<Place> {
    Some(Place {
        file: object.get("file").ok()?,
        line: object.get("line").ok()?,
        column: object.get("column").ok()?,
    })
}
