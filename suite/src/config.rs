//! `muster.toml`, and [`RunSpec`]: the part of it that nodes need, with everything resolved.
//!
//! Keys are kebab-case; a bare number has its unit in its name; an unknown key is refused with
//! the nearest one. History of [`SPEC_SCHEMA`]: 1 = first.

mod check;
pub mod node;
mod parse;
mod spec;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::check::{MAX_CONTEXT, MAX_RETRIES};
pub use self::parse::ConfigError;
pub use self::spec::identity;

/// The agent that exists without being configured.
pub const DEFAULT_AGENT: &str = "default";

/// Version of [`RunSpec`].
pub const SPEC_SCHEMA: u32 = 1;

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Config {
    /// Who this is.
    pub project: Project,
    /// Which files hold tests.
    #[serde(default)]
    pub tests: Tests,
    /// What else nodes get.
    #[serde(default)]
    pub bundle: BundleConfig,
    /// At least one, by name.
    pub targets: BTreeMap<String, Target>,
    /// By name; `default` always exists.
    #[serde(default)]
    pub agents: BTreeMap<String, Agent>,
    /// Recordings.
    #[serde(default)]
    pub cache: Cache,
    /// Times.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Retries of a failed test; none = 1 when `CI` is set, else 0; at most 10.
    #[serde(default)]
    pub retries: Option<u32>,
    /// Where the node finds each secret.
    #[serde(default)]
    pub secrets: BTreeMap<String, SecretSource>,
    /// Where browsers come from.
    #[serde(default)]
    pub browser: Browser,
    /// What may be spent.
    #[serde(default)]
    pub budgets: Budgets,
}

/// `[project]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Project {
    /// 1 to 256 characters; part of every recording's key.
    pub id: String,
}

/// `[tests]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Tests {
    /// Globs; `!` in front excludes.
    pub include: Vec<String>,
}

impl Default for Tests {
    fn default() -> Self {
        Self {
            include: vec!["tests/**/*.e2e.ts".to_owned()],
        }
    }
}

/// `[bundle]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BundleConfig {
    /// Globs of further files.
    pub include: Vec<String>,
}

/// `[targets.NAME]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Target {
    /// The app under test.
    pub app: App,
    /// Where its pages may connect to.
    #[serde(default)]
    pub egress: Egress,
}

/// `[targets.NAME.egress]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Egress {
    /// What is allowed beside the app itself.
    pub policy: EgressPolicy,
    /// What is allowed too: `host`, `host:port` or `*.domain`; without a port any port. A host that
    /// is listed may have a private address.
    pub allow: Vec<String>,
}

/// What pages may connect to, from the widest to the narrowest. Metadata addresses, Muster's own
/// ports and, unless the app lives there, private ranges are denied under each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EgressPolicy {
    /// Everything else.
    #[default]
    Open,
    /// The app's site (its registrable domain) and what is listed.
    Site,
    /// The app's own origin and what is listed.
    List,
}

impl EgressPolicy {
    /// As it is written in `muster.toml`.
    pub const fn as_str(self) -> &'static str {
        match self {
            EgressPolicy::Open => "open",
            EgressPolicy::Site => "site",
            EgressPolicy::List => "list",
        }
    }
}

/// `[targets.NAME.app]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct App {
    /// `http` or `https`; with a literal loopback host and port 0 a free port is chosen, and
    /// `{port}` in `command` expands to it.
    pub url: String,
    /// What the app is, where its address changes; part of every recording's key. None = the
    /// address without its port if it is a loopback one, else the address.
    #[serde(default)]
    pub identity: Option<String>,
    /// How to start it, once per run.
    #[serde(default)]
    pub command: Option<AppCommand>,
}

/// `[targets.NAME.app.command]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AppCommand {
    /// The program; `muster` means this binary. No shell.
    pub program: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Relative to the project; none = the project.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Added to `PATH`, `HOME` and the temporary directory's variables; nothing else is inherited.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Path or address that answers 200–499 when the app is ready; none = the app's address.
    #[serde(default)]
    pub ready: Option<String>,
    /// Milliseconds.
    #[serde(default = "startup_timeout")]
    pub startup_timeout_ms: u64,
    /// Milliseconds from SIGTERM to SIGKILL.
    #[serde(default = "shutdown_timeout")]
    pub shutdown_timeout_ms: u64,
}

fn startup_timeout() -> u64 {
    60_000
}

fn shutdown_timeout() -> u64 {
    10_000
}

/// `[agents.NAME]`; nothing is inherited between agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Agent {
    /// Who decides.
    pub executor: ExecutorKind,
    /// The model of an `agent` executor; chooses last for a `decision` executor.
    pub model: Option<Model>,
    /// The model of judgments; none = `model`.
    pub judge: Option<Model>,
    /// The app's vocabulary, at most 16384 bytes; reaches models; part of the recording's key.
    pub context: String,
    /// Most actions of one goal, 1 to 100.
    pub max_steps: u32,
    /// Most model calls, or decisions, of one goal, 1 to 100.
    pub max_model_calls: u32,
    /// Looks in a row without a change after which a model is stopped, 2 to 20.
    pub idle_looks: u32,
    /// Where a `remote` executor listens.
    pub remote: Option<Remote>,
    /// The service that a `decision` executor asks after its built-in decider.
    pub decision: Option<Decision>,
    /// The model that writes what a `decision` executor types, where service or model choose; none =
    /// they choose among parameters and quoted texts.
    pub text: Option<Model>,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            executor: ExecutorKind::Decision,
            model: None,
            judge: None,
            context: String::new(),
            max_steps: 25,
            max_model_calls: 25,
            idle_looks: 6,
            remote: None,
            decision: None,
            text: None,
        }
    }
}

impl Agent {
    /// The model of judgments.
    pub fn judging(&self) -> Option<&Model> {
        self.judge.as_ref().or(self.model.as_ref())
    }
}

/// Kinds of executor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExecutorKind {
    /// A language model in a tool loop.
    Agent,
    /// Choices only: by the built-in keyless decider, then by a service, then by a model.
    Decision,
    /// Ends the run as soon as it is asked: for proving that everything replays.
    Abort,
    /// Chooses blindly among what is offered: for measuring what a suite's checks catch.
    Random,
    /// A process of one's own, which nodes dial.
    Remote,
}

impl ExecutorKind {
    /// As it is written in `muster.toml`.
    pub const fn as_str(self) -> &'static str {
        match self {
            ExecutorKind::Agent => "agent",
            ExecutorKind::Decision => "decision",
            ExecutorKind::Abort => "abort",
            ExecutorKind::Random => "random",
            ExecutorKind::Remote => "remote",
        }
    }
}

/// `[agents.NAME.remote]`: a remote executor's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Remote {
    /// `https://…`, `http://` on loopback, or `unix:/path/of/a.sock`.
    pub url: String,
    /// The node's environment variable that holds its bearer token; none = no token.
    #[serde(default)]
    pub key_env: Option<String>,
}

impl Remote {
    /// Whether an executor may be dialled there; the error says why not.
    pub fn check(&self) -> Result<(), String> {
        check::executor_address(&self.url)
    }
}

/// `[agents.NAME.decision]`: a decision service, and how sure it has to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Decision {
    /// Questions are posted to it as it is.
    pub url: String,
    /// The node's environment variable that holds its bearer token; none = no token.
    #[serde(default)]
    pub key_env: Option<String>,
    /// Least probability of what it chooses, 0 to 1; below, it counts as unsure.
    #[serde(default)]
    pub min_probability: f64,
    /// Least confidence, 0 to 1.
    #[serde(default)]
    pub min_confidence: f64,
}

/// A model at an address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Model {
    /// The vendor's name of it.
    pub name: String,
    /// E.g. `https://api.example.com/v1`.
    pub base_url: String,
    /// The wire that is spoken there.
    #[serde(default)]
    pub api: ModelApi,
    /// The node's environment variable that holds the key; none = no key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// Whether it takes pictures.
    #[serde(default)]
    pub vision: bool,
    /// Whether it may think before it answers, as its vendor sees fit; false = it is told not to.
    #[serde(default = "on")]
    pub thinking: bool,
    /// What its tokens cost; none = only what the vendor reports is known.
    #[serde(default)]
    pub price: Option<Price>,
}

fn on() -> bool {
    true
}

/// Wires of models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelApi {
    /// Chat completions, as OpenAI and many others speak them.
    #[default]
    Openai,
    /// Anthropic's messages.
    Anthropic,
}

impl Model {
    /// A model without key, price or pictures.
    pub fn new(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            api: ModelApi::default(),
            key_env: None,
            vision: false,
            thinking: true,
            price: None,
        }
    }
}

/// Prices of a model, US dollars a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Price {
    /// Input.
    pub input: f64,
    /// Input from the vendor's cache; none = as `input`.
    #[serde(default)]
    pub cached: Option<f64>,
    /// Input that is written to the vendor's cache; none = as `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Output, reasoning included.
    pub output: f64,
}

/// `[budgets]`: what may be spent; none = no limit but the agent's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Budgets {
    /// One goal or judgment.
    pub step: Spend,
    /// One attempt.
    pub test: Spend,
    /// The whole run, over all nodes.
    pub run: Spend,
}

/// Limits of what is spent; none = no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Spend {
    /// Calls to language models.
    pub model_calls: Option<u64>,
    /// Choices without a language model.
    pub decisions: Option<u64>,
    /// Actions on the page.
    pub actions: Option<u64>,
    /// Input and output tokens together.
    pub tokens: Option<u64>,
    /// US dollars, 0 to a million.
    pub usd: Option<f64>,
}

impl Spend {
    /// `usd` in millionths.
    pub fn microusd(&self) -> Option<u64> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "`usd` is checked to lie between 0 and a million"
        )]
        self.usd.map(|usd| (usd * 1e6).round() as u64)
    }
}

/// `[cache]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Cache {
    /// None = read-write locally, read-only when `CI` is set.
    pub mode: Option<CacheSetting>,
    /// Relative to the project.
    pub dir: String,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            mode: None,
            dir: ".muster/cache".to_owned(),
        }
    }
}

/// Modes of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheSetting {
    /// Replays and records.
    ReadWrite,
    /// Replays.
    ReadOnly,
    /// Neither.
    Off,
}

/// `[timeouts]`, milliseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Timeouts {
    /// One attempt: `beforeEach` and body.
    pub test_ms: u64,
    /// One action.
    pub action_ms: u64,
    /// One check.
    pub assertion_ms: u64,
    /// One navigation.
    pub navigation_ms: u64,
    /// Each `afterEach`.
    pub cleanup_ms: u64,
    /// One goal.
    pub step_ms: u64,
    /// One judgment.
    pub judgment_ms: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            test_ms: 120_000,
            action_ms: 30_000,
            assertion_ms: 5_000,
            navigation_ms: 30_000,
            cleanup_ms: 30_000,
            step_ms: 120_000,
            judgment_ms: 30_000,
        }
    }
}

/// `[secrets.NAME]`: where the node finds the value (one of `env`, `file`, `command`), what it is
/// and where it may be filled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SecretSource {
    /// An environment variable of the node.
    pub env: Option<String>,
    /// A file of the node; one line break at its end is not part of the value.
    pub file: Option<String>,
    /// A program of the node and its arguments, no shell; what it prints, likewise.
    pub command: Vec<String>,
    /// Whether the value is a TOTP seed (base32 or `otpauth://`): the current code is filled.
    pub totp: bool,
    /// Whether it is a password: then it may only fill password fields.
    pub password: bool,
    /// Origins that it may be filled on; empty = the app's own.
    pub origins: Vec<String>,
}

/// `[browser]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Browser {
    /// The binary; none = the headless shell or Chromium where Debian puts them.
    pub path: Option<String>,
    /// A browser that already runs: its DevTools address (`http://` or `ws://`).
    pub cdp_url: Option<String>,
    /// Width and height, CSS px; none = 1280×720.
    pub viewport: Option<(u32, u32)>,
}

/// What nodes need of the configuration, one blob per run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunSpec {
    /// [`SPEC_SCHEMA`].
    pub schema: u32,
    /// Project id.
    pub project: String,
    /// Resolved targets by name.
    pub targets: BTreeMap<String, TargetSpec>,
    /// Agents by name, `default` included.
    pub agents: BTreeMap<String, Agent>,
    /// Times.
    pub timeouts: Timeouts,
    /// Secret sources by name.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Viewport, CSS px.
    pub viewport: (u32, u32),
    /// What may be spent.
    #[serde(default)]
    pub budgets: Budgets,
}

/// A target with its address resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TargetSpec {
    /// Absolute.
    pub app_url: String,
    /// Part of every recording's key.
    pub app_identity: String,
    /// Where its pages may connect to.
    #[serde(default)]
    pub egress: Egress,
}
