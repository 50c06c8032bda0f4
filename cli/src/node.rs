//! `muster node`: this machine's browsers for a coordinator.

use std::net::ToSocketAddrs as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use muster_agent_node::executor::ConfiguredBrains;
use muster_agent_node::node::{self, BrowserSource, NodeConfig, NodeError};
use muster_proto::code::ErrorCode;
use muster_suite::config::node::{NodeFile, NodePolicy};

use crate::args::NodeArgs;
use crate::endpoint::{Endpoint, read_token};
use crate::env::Env;
use crate::failure::Failure;
use crate::{fleet, interrupt};

pub(crate) async fn serve(args: NodeArgs, env: &Env) -> Result<u8, Failure> {
    let stop = interrupt::token().map_err(|error| {
        Failure::new(
            ErrorCode::InternalError,
            format!("signals can't be caught: {error}"),
        )
    })?;
    let (policy, folder) = policy(&args, env)?;
    let slots = args.slots.unwrap_or_else(fleet::default_slots);
    let name = args.name.clone().unwrap_or_else(host_name);
    let coordinator = match Endpoint::parse(&args.coordinator)? {
        Endpoint::Unix(path) => node::Endpoint::Unix(env.cwd.join(path)),
        Endpoint::Tcp(address) => tcp(&address, &args)?,
    };
    let denied_ports = match &coordinator {
        node::Endpoint::Tcp { address, .. } => vec![address.port()],
        node::Endpoint::Unix(_) => Vec::new(),
    };
    println!("{name} offers {slots} slots to {}", args.coordinator);
    let config = NodeConfig {
        name,
        coordinator,
        slots,
        worker: fleet::own_command(env, "worker"),
        supervisor: fleet::own_command(env, "supervisor"),
        browser: match args.cdp_url {
            Some(url) => BrowserSource::Fixed(url),
            None => BrowserSource::Local(args.browser.map(PathBuf::from)),
        },
        brains: Arc::new(ConfiguredBrains::new(env.vars.clone(), policy.clone())),
        env: env.vars.clone(),
        policy,
        folder,
        denied_ports,
        grace: Duration::from_millis(args.grace_ms),
    };
    node::run(config, stop).await.map_err(|error| match error {
        NodeError::Setup(problem) => Failure::from(problem),
        NodeError::Refused { ref problem, .. } => Failure::new(problem.code, error.to_string()),
    })?;
    Ok(0)
}

/// Whose word counts, and the folder that relative files of secrets are in.
fn policy(args: &NodeArgs, env: &Env) -> Result<(NodePolicy, PathBuf), Failure> {
    let Some(path) = &args.config else {
        let policy = if args.trust_project {
            NodePolicy::Project
        } else {
            NodePolicy::Own(NodeFile::default())
        };
        return Ok((policy, env.cwd.clone()));
    };
    let path = env.cwd.join(path);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Failure::new(
            ErrorCode::ConfigNotFound,
            format!("{} can't be read: {error}", path.display()),
        )
    })?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file = NodeFile::parse(&text, &name).map_err(muster_proto::outcome::Problem::from)?;
    let folder = path.parent().unwrap_or(&env.cwd).to_path_buf();
    Ok((NodePolicy::Own(file), folder))
}

fn tcp(address: &str, args: &NodeArgs) -> Result<node::Endpoint, Failure> {
    let unknown = |reason: String| {
        Failure::new(
            ErrorCode::CoordinatorUnavailable,
            format!("{address} can't be found: {reason}"),
        )
    };
    let resolved = address
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .next()
        .ok_or_else(|| unknown("the name has no address".to_owned()))?;
    let token = args.token_file.as_deref().ok_or_else(|| {
        Failure::new(
            ErrorCode::InvalidConfig,
            format!("{address} needs the coordinator's token: name its file with --token-file"),
        )
    })?;
    Ok(node::Endpoint::Tcp {
        address: resolved,
        token: read_token(token)?,
    })
}

fn host_name() -> String {
    nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok())
        .unwrap_or_else(|| "node".to_owned())
}
