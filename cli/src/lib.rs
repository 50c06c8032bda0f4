//! Every command of `muster`, and the wiring of the rooms.
//!
//! Reading order: [`args`] (the command line), [`run`] (the main job), then the small commands.
//! [`env`] is the only place that reads the environment. A new command is a file of its own, a
//! variant of [`args::Command`] and an arm in [`main`].

mod app;
pub mod args;
mod cache;
mod collect;
mod coordinator;
mod demo_app;
mod endpoint;
mod env;
mod failure;
mod fleet;
mod interrupt;
mod ledger;
mod list;
mod node;
mod plan;
mod progress;
mod project;
mod run;
mod snapshot;
mod summary;
#[cfg(feature = "switches")]
mod switches;
mod telemetry;

use std::process::ExitCode;

use clap::Parser as _;

use crate::args::{Cli, Command};
use crate::env::Env;
use crate::failure::Failure;

/// Parses the command line, runs the command, prints what went wrong, and answers with the exit
/// code: 0, 1 test, 2 configuration, 3 infrastructure, 4 internal, 130 interrupted.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing to do where the terminal is gone.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let env = Env::read();
    #[cfg(feature = "switches")]
    let _lifted = switches::lifted(&env);
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("muster: no threads to run on: {error}");
            return ExitCode::from(3);
        }
    };
    let code = runtime.block_on(async {
        let telemetry = telemetry::start(&env);
        let result = dispatch(cli.command, &env).await;
        telemetry.flush();
        match result {
            Ok(code) => code,
            Err(failure) => {
                eprintln!("{}", failure.render());
                failure.exit_code()
            }
        }
    });
    runtime.shutdown_background();
    ExitCode::from(code)
}

async fn dispatch(command: Command, env: &Env) -> Result<u8, Failure> {
    match command {
        Command::Run(args) => run::run(*args, env).await,
        Command::List(args) => list::list(args, env).await,
        Command::Coordinator(args) => coordinator::serve(args).await,
        Command::Node(args) => node::serve(args, env).await,
        Command::Snapshot(args) => snapshot::snapshot(args, env).await,
        Command::Cache(args) => cache::cache(args, env).await,
        Command::DemoApp(args) => demo_app::serve(args).await,
        Command::Worker | Command::Supervisor => {
            unreachable!("main dispatches the hidden commands before parsing")
        }
    }
}
