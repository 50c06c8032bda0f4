//! One interpreter with one file's modules, its limits, and the calls into its kernel.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::{Place, Problem};
use muster_suite::frame::{CallResult, FromWorker, Limits};
use rquickjs::context::intrinsic;
use rquickjs::function::{Args, IntoArgs};
use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{
    CatchResultExt, Context, Ctx, Error, Exception, Function, JsLifetime, Module, Object, Runtime,
    Value,
};
use tokio::time::Instant;

use super::door::Door;
use crate::places::Sources;
use crate::prelude;
use crate::resolve::BUILTIN;

type Intrinsics = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
);

/// An interpreter. Cheap to make (under a millisecond), never used twice.
pub(super) struct Realm {
    context: Context,
    runtime: Runtime,
    door: Arc<Door>,
    slice: Arc<Slice>,
}

/// How one stretch of JavaScript ended.
#[derive(Default)]
pub(super) struct Turn {
    /// The limit that ended it, if one did.
    pub(super) problem: Option<Problem>,
}

/// The kernel's exports, kept alive by the interpreter.
#[derive(JsLifetime)]
struct Kernel<'js> {
    exports: Object<'js>,
}

impl Realm {
    /// Evaluates the prelude.
    ///
    /// # Errors
    /// WORKER_CRASHED if the limits are too small for the prelude; INTERNAL_ERROR if it is broken.
    pub(super) fn open(sources: Arc<Sources>, limits: Limits, seed: u64) -> Result<Self, Problem> {
        let refused = |error: Error| {
            Problem::new(
                ErrorCode::WorkerCrashed,
                format!("the interpreter doesn't start within its limits: {error}"),
            )
        };
        let runtime = Runtime::new().map_err(refused)?;
        runtime.set_memory_limit(usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX));
        runtime.set_max_stack_size(usize::try_from(limits.stack_bytes).unwrap_or(usize::MAX));
        let modules = Modules {
            sources: Arc::clone(&sources),
        };
        runtime.set_loader(modules.clone(), modules);
        let slice = Arc::new(Slice::new(limits.slice_ms));
        let watch = Arc::clone(&slice);
        runtime.set_interrupt_handler(Some(Box::new(move || watch.over())));
        runtime.set_host_promise_rejection_tracker(Some(Box::new(track)));
        let context = Context::custom::<Intrinsics>(&runtime).map_err(refused)?;
        let realm = Self {
            context,
            runtime,
            door: Door::new(sources, limits, seed),
            slice,
        };
        realm.connect()?;
        Ok(realm)
    }

    fn connect(&self) -> Result<(), Problem> {
        let broken = |what: String| {
            Problem::new(
                ErrorCode::InternalError,
                format!("the prelude is broken: {what}"),
            )
        };
        // No slice runs: a busy machine must not interrupt our own code.
        let evaluated = self.context.with(|ctx| -> Result<(), String> {
            let connect = || -> rquickjs::Result<()> {
                let (module, done) = Module::declare(
                    ctx.clone(),
                    prelude::KERNEL,
                    prelude::source(prelude::KERNEL).unwrap_or_default(),
                )?
                .eval()?;
                done.finish::<()>()?;
                let exports = module.namespace()?;
                exports
                    .get::<_, Function>("connect")?
                    .call::<_, ()>((self.door.object(&ctx)?,))?;
                ctx.store_userdata(Kernel { exports })
                    .map_err(|_| Error::Unknown)?;
                Ok(())
            };
            connect().catch(&ctx).map_err(|error| error.to_string())
        });
        evaluated.map_err(broken)
    }

    pub(super) fn take_outgoing(&self) -> Vec<FromWorker> {
        self.door.take_outgoing()
    }

    pub(super) fn take_finished(&self) -> Option<String> {
        self.door.take_finished()
    }

    /// The problem of a test that nothing can wake: no step, no timer and no job is under way.
    pub(super) fn stalled(&self) -> Option<Problem> {
        if !self.door.idle() || self.runtime.is_job_pending() {
            return None;
        }
        // A test that holds all its memory can't even report that.
        let usage = self.runtime.memory_usage();
        let full = usage.malloc_limit > 0 && usage.malloc_size > usage.malloc_limit / 10 * 9;
        let message = if full {
            self.door.memory_message()
        } else {
            "it awaits a promise that nothing can settle: no step and no timer is under way"
                .to_owned()
        };
        Some(Problem::new(ErrorCode::Error, message))
    }

    /// Waits for the soonest timer; forever if there is none.
    pub(super) async fn timer(&self) -> u64 {
        match self.door.next_timer() {
            Some((at, id)) => {
                tokio::time::sleep_until(at).await;
                id
            }
            None => std::future::pending().await,
        }
    }

    pub(super) fn load(&self, file: &str, secrets: Option<&[String]>) -> Turn {
        self.turn("load", (file, secrets.map(<[String]>::to_vec)))
    }

    pub(super) fn run(&self, index: usize, base_url: &str, cleanup_timeout_ms: u64) -> Turn {
        self.turn("run", (index, base_url, cleanup_timeout_ms as f64))
    }

    pub(super) fn reply(&self, id: u64, result: &CallResult) -> Turn {
        self.door.answered(id);
        let json =
            serde_json::to_string(result).expect("a frame's part serializes as it did on the wire");
        self.turn("reply", (id as f64, json))
    }

    pub(super) fn fire(&self, id: u64) -> Turn {
        self.door.expired(id);
        self.turn("fire", (id as f64,))
    }

    /// Gives up the body; with `hooks_too`, whatever runs.
    pub(super) fn abandon(&self, problem: &Problem, hooks_too: bool) -> Turn {
        let json =
            serde_json::to_string(problem).expect("a problem serializes as it did on the wire");
        self.turn("abandon", (json, hooks_too))
    }

    /// Calls the kernel, then runs jobs until none is left. What still runs when the slice is over is
    /// interrupted, and the jobs that are left get one more slice; then no more.
    fn turn<A: for<'js> IntoArgs<'js>>(&self, name: &str, args: A) -> Turn {
        self.slice.begin();
        let mut place = self.context.with(|ctx| {
            let call = || -> rquickjs::Result<()> {
                let exports = ctx
                    .userdata::<Kernel<'_>>()
                    .map(|kernel| kernel.exports.clone())
                    .ok_or(Error::Unknown)?;
                let function: Function<'_> = exports.get(name)?;
                let mut list = Args::new(ctx.clone(), args.num_args());
                args.into_args(&mut list)?;
                function.call_arg::<()>(list)
            };
            // The kernel's functions throw only when they are interrupted, or out of memory.
            call().err().and_then(|_| self.interrupted_at(&ctx))
        });
        let mut slices = 1;
        loop {
            if self.slice.over() {
                slices += 1;
                if slices > 2 {
                    break;
                }
                self.slice.begin();
            }
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => break,
                Err(failed) => place = place.or(failed.0.with(|ctx| self.interrupted_at(&ctx))),
            }
        }
        self.slice.end();
        let problem = || Problem {
            place,
            ..Problem::new(ErrorCode::TestTimeout, self.door.slice_message())
        };
        Turn {
            problem: (slices > 1).then(problem),
        }
    }

    /// Takes the pending exception; where it was thrown.
    fn interrupted_at(&self, ctx: &Ctx<'_>) -> Option<Place> {
        let stack: String = ctx.catch().into_exception()?.stack()?;
        self.door.place_of(&stack)
    }
}

/// Tells the kernel of a promise that was rejected without a listener, or got one since.
fn track<'js>(ctx: Ctx<'js>, promise: Value<'js>, reason: Value<'js>, handled: bool) {
    let tell = || -> rquickjs::Result<()> {
        let Some(exports) = ctx
            .userdata::<Kernel<'_>>()
            .map(|kernel| kernel.exports.clone())
        else {
            return Ok(());
        };
        exports
            .get::<_, Function<'_>>("track")?
            .call((promise, reason, handled))
    };
    // At the interpreter's limits it can't be told; the limit is the failure then.
    let _ = tell().catch(&ctx);
}

/// The time that JavaScript may run without a pause.
struct Slice {
    base: Instant,
    length: Duration,
    /// Milliseconds after `base`; 0 = no slice runs.
    deadline: AtomicU64,
}

impl Slice {
    fn new(length_ms: u64) -> Self {
        Self {
            base: Instant::now(),
            length: Duration::from_millis(length_ms),
            deadline: AtomicU64::new(0),
        }
    }

    fn begin(&self) {
        let deadline = (self.base.elapsed() + self.length).as_millis().max(1);
        self.deadline.store(
            u64::try_from(deadline).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// Whether time is up; called by the interpreter every few thousand operations.
    fn over(&self) -> bool {
        let deadline = self.deadline.load(Ordering::Relaxed);
        deadline > 0 && self.base.elapsed().as_millis() >= u128::from(deadline)
    }

    fn end(&self) {
        self.deadline.store(0, Ordering::Relaxed);
    }
}

/// Looks modules up: the prelude's for the prelude, the frame's for everyone.
#[derive(Clone)]
struct Modules {
    sources: Arc<Sources>,
}

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        let internal = prelude::is_internal(base) && prelude::source(name).is_some();
        if name == BUILTIN || internal || self.sources.js(name).is_some() {
            return Ok(name.to_owned());
        }
        Err(Exception::throw_reference(
            ctx,
            &format!(
                "`{name}` is not in the bundle; an import() whose name is computed can't be packed"
            ),
        ))
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let source = prelude::source(name)
            .or_else(|| self.sources.js(name))
            .unwrap_or_default();
        Module::declare(ctx.clone(), name, source)
    }
}
