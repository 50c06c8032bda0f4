//! `muster coordinator`: the dealer as a process of its own.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use muster_cache_store::StoreError;
use muster_cache_store::files::{FileBlobStore, FileReplayStore};
use muster_coordinator::{Coordinator, CoordinatorConfig, Listener};
use muster_proto::code::ErrorCode;
use muster_proto::secret::Secret;

use crate::args::CoordinatorArgs;
use crate::endpoint::{Endpoint, read_token};
use crate::failure::Failure;
use crate::interrupt;

pub(crate) async fn serve(args: CoordinatorArgs) -> Result<u8, Failure> {
    let stop = interrupt::token().map_err(|error| {
        Failure::new(
            ErrorCode::InternalError,
            format!("signals can't be caught: {error}"),
        )
    })?;
    let listener = match Endpoint::parse(&args.listen)? {
        Endpoint::Unix(path) => {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
            }
            Listener::unix(path).await?
        }
        Endpoint::Tcp(address) => {
            Listener::tcp(resolve(&address)?, own_token(&args.token_file)?).await?
        }
    };
    let replay = FileReplayStore::open(&args.cache_dir).map_err(unavailable)?;
    let blobs = FileBlobStore::open(args.state.join("blobs")).map_err(unavailable)?;
    let lease = Duration::from_millis(args.lease_ms);
    let coordinator = Coordinator::open(CoordinatorConfig {
        resume: true,
        lease,
        beat: Duration::from_millis(args.beat_ms),
        fence_margin: lease / 6,
        node_grace: Duration::from_millis(args.grace_ms),
        ..CoordinatorConfig::new(args.state.join("runs"), Arc::new(replay), Arc::new(blobs))
    })
    .await?;
    match listener.address() {
        Some(address) => println!(
            "listening on {address} with the token in {}",
            args.token_file.display()
        ),
        None => println!("listening on {}", args.listen),
    }
    let served = coordinator.serve(listener, stop).await;
    coordinator.close().await?;
    served?;
    Ok(0)
}

fn resolve(address: &str) -> Result<SocketAddr, Failure> {
    let unknown = |reason: String| {
        Failure::new(
            ErrorCode::ListenRefused,
            format!("{address} is no address to listen on: {reason}"),
        )
    };
    address
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .next()
        .ok_or_else(|| unknown("the name has no address".to_owned()))
}

/// The token of the file; a fresh one is written, for its owner alone, where there is none.
fn own_token(path: &Path) -> Result<Secret, Failure> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    match std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
    {
        Ok(mut file) => {
            let token = format!(
                "{}{}",
                uuid::Uuid::new_v4().simple(),
                uuid::Uuid::new_v4().simple()
            );
            writeln!(file, "{token}").map_err(|error| unwritable(path, &error))?;
            Ok(Secret::new(token))
        }
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => read_token(path),
        Err(error) => Err(unwritable(path, &error)),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        ErrorCode::InvalidConfig,
        format!("{} can't be written: {error}", path.display()),
    )
}

fn unavailable(error: StoreError) -> Failure {
    Failure::new(ErrorCode::CacheUnavailable, error.to_string())
}
