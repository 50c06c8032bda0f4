//! The command line, as data.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A distributed runner for end-to-end suites that mix goals in plain language, judgments and
/// exact steps.
#[derive(Debug, Parser)]
#[command(
    name = "muster",
    version,
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a suite: on this machine, or over the nodes of a coordinator.
    Run(Box<RunArgs>),
    /// Show which tests a run would contain, without running any.
    List(ListArgs),
    /// Deal out work to nodes and commit their results.
    Coordinator(CoordinatorArgs),
    /// Offer this machine's browsers to a coordinator.
    Node(NodeArgs),
    /// Show a page as a model would see it.
    Snapshot(SnapshotArgs),
    /// Look at recordings, or remove them.
    Cache(CacheArgs),
    /// Serve the demo shop.
    DemoApp(DemoAppArgs),
    /// A test's interpreter (started by nodes, never by hand).
    #[command(hide = true)]
    Worker,
    /// Reaps what a dead parent leaves behind (started by nodes, never by hand).
    #[command(hide = true)]
    Supervisor,
}

/// Which project.
#[derive(Clone, Debug, Args)]
pub struct ProjectArgs {
    /// The configuration; its folder is the project [default: muster.toml here or in a folder above]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// Which tests.
#[derive(Clone, Debug, Default, Args)]
pub struct SelectArgs {
    /// Files, folders, endings of file names, globs; `FILE:LINE` picks one test
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// Only tests whose joined titles match this regular expression
    #[arg(long, value_name = "REGEX", help_heading = "Selection")]
    pub grep: Option<String>,
    /// Only tests with one of these tags
    #[arg(
        long,
        value_name = "TAG",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub tag: Vec<String>,
    /// No tests with one of these tags
    #[arg(
        long,
        value_name = "TAG",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub exclude_tag: Vec<String>,
    /// Only these targets of muster.toml
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub target: Vec<String>,
    /// Run tests that pin no agent once under each of these agents of muster.toml
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub agent: Vec<String>,
    /// Only what did not pass in the last run
    #[arg(long, help_heading = "Selection")]
    pub last_failed: bool,
}

/// `muster run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// See there.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// See there.
    #[command(flatten)]
    pub select: SelectArgs,
    /// Nodes to start in this process
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Fleet")]
    pub nodes: u32,
    /// Tests that each node runs at a time [default: half of the cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024), help_heading = "Fleet")]
    pub slots: Option<u32>,
    /// Run over the nodes of this coordinator: `unix:PATH` or `HOST:PORT`
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["nodes", "slots"], help_heading = "Fleet")]
    pub coordinator: Option<String>,
    /// File with the coordinator's token (TCP addresses need one)
    #[arg(
        long,
        value_name = "FILE",
        requires = "coordinator",
        help_heading = "Fleet"
    )]
    pub token_file: Option<PathBuf>,
    /// Retries of a failed test [default: of muster.toml]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=10), help_heading = "Policy")]
    pub retries: Option<u32>,
    /// Run every test this often; each is a result of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Policy")]
    pub repeat_each: u32,
    /// Stop after this many failed tests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Policy")]
    pub max_failures: Option<u32>,
    /// Whether goals replay and are recorded [default: of muster.toml, else read-write, read-only when CI is set]
    #[arg(long, value_name = "MODE", help_heading = "Recordings")]
    pub cache: Option<CacheModeArg>,
    /// Neither replay nor record; the same as `--cache off`
    #[arg(long, conflicts_with = "cache", help_heading = "Recordings")]
    pub no_cache: bool,
    /// Whether an executor may be asked for a goal that has no recording
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "missing",
        help_heading = "Recordings"
    )]
    pub agents: AgentsArg,
    /// Print what each step asked of models, in time, tokens and money
    #[arg(long)]
    pub debug: bool,
}

/// Modes of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CacheModeArg {
    /// Replay and record
    ReadWrite,
    /// Replay
    ReadOnly,
    /// Neither
    Off,
}

/// When an executor may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AgentsArg {
    /// When no recording replays
    Missing,
    /// Never: the run stops at the first goal that does not replay
    None,
}

/// `muster list`
#[derive(Debug, Args)]
pub struct ListArgs {
    /// See there.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// See there.
    #[command(flatten)]
    pub select: SelectArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `muster coordinator`
#[derive(Debug, Args)]
pub struct CoordinatorArgs {
    /// Where to listen: `unix:PATH`, or a loopback `HOST:PORT` with a token
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "unix:.muster/coordinator.sock"
    )]
    pub listen: String,
    /// File with the token that clients and nodes must show on TCP; made with a fresh one if it isn't there
    #[arg(long, value_name = "FILE", default_value = ".muster/token")]
    pub token_file: PathBuf,
    /// Folder of run state and blobs
    #[arg(long, value_name = "DIR", default_value = ".muster/coordinator")]
    pub state: PathBuf,
    /// Folder of recordings
    #[arg(long, value_name = "DIR", default_value = ".muster/cache")]
    pub cache_dir: PathBuf,
    /// How long a lease lasts after its last acknowledged beat, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(200..))]
    pub lease_ms: u64,
    /// How often nodes renew, milliseconds; at most a third of the lease
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(50..))]
    pub beat_ms: u64,
    /// How long a run waits for a fitting node before its tests end as unschedulable, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    pub grace_ms: u64,
}

/// `muster node`
#[derive(Debug, Args)]
pub struct NodeArgs {
    /// The coordinator: `unix:PATH` or `HOST:PORT`
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "unix:.muster/coordinator.sock"
    )]
    pub coordinator: String,
    /// File with the coordinator's token (TCP addresses need one)
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The node's name [default: the host's]
    #[arg(long)]
    pub name: Option<String>,
    /// Tests at a time [default: half of the cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub slots: Option<u32>,
    /// The browser's binary [default: where Debian puts it]
    #[arg(long, value_name = "FILE")]
    pub browser: Option<String>,
    /// A browser that already runs: its DevTools address
    #[arg(long, value_name = "URL", conflicts_with = "browser")]
    pub cdp_url: Option<String>,
    /// What this machine lends to runs: its secrets' sources, and more; see docs/fleet.md
    #[arg(long = "config", id = "node_config", value_name = "NODE.TOML")]
    pub config: Option<PathBuf>,
    /// Let every project name its own sources: for machines of the same owner
    #[arg(long, conflicts_with = "node_config")]
    pub trust_project: bool,
    /// How long running tests may go on after the first signal, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    pub grace_ms: u64,
}

/// `muster snapshot`
#[derive(Debug, Args)]
pub struct SnapshotArgs {
    /// The pages
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    /// Print role, name, description, DOM id and states of every node as JSON, one line a page
    #[arg(long)]
    pub json: bool,
    /// The browser's binary [default: where Debian puts it]
    #[arg(long, value_name = "FILE")]
    pub browser: Option<String>,
}

/// `muster cache`
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// See there.
    #[command(flatten)]
    pub project: ProjectArgs,
    /// What to do.
    #[command(subcommand)]
    pub command: CacheCommand,
}

/// Commands on recordings.
#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Show every recording: test, target, goal, age, actions
    Ls {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove recordings
    Clear {
        /// Only those of tests whose id contains this
        #[arg(value_name = "TEST")]
        test: Option<String>,
    },
}

/// `muster demo-app`
#[derive(Debug, Args)]
pub struct DemoAppArgs {
    /// Where to listen
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8123")]
    pub listen: SocketAddr,
    /// Plant a fault or a change; `--bug help` lists them
    #[arg(long, value_name = "NAME")]
    pub bug: Vec<String>,
    /// Make ids and dates the same at every start
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}
