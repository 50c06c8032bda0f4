//! The `muster` binary. The hidden commands run before anything else exists: no runtime, no
//! threads, nothing read from the environment.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args_os()
        .nth(1)
        .as_deref()
        .and_then(|word| word.to_str())
    {
        Some("worker") => muster_script::worker_main(),
        Some("supervisor") => muster_providers::child::supervise(),
        _ => muster_cli::main(),
    }
}
