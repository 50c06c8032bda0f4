//! Where a coordinator listens: a private Unix socket, or loopback TCP with a token.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::secret::Secret;
use tokio::net::{TcpListener, UnixListener, UnixStream};

/// A bound listener.
pub enum Listener {
    /// A socket file of mode 0600, removed with the listener: its owner may call, nobody else.
    Unix {
        /// The socket.
        socket: UnixListener,
        /// Its file.
        file: SocketFile,
    },
    /// A loopback address, where every call needs the bearer token.
    Tcp {
        /// The socket.
        socket: TcpListener,
        /// What it is bound to.
        address: SocketAddr,
        /// The token.
        token: Secret,
    },
}

impl Listener {
    /// Binds a socket file. A socket that nobody listens on any more is replaced.
    ///
    /// Fails with `LISTEN_REFUSED` if another process listens there, something else than a socket
    /// is there, or the file can't be made or its path is too long to be dialled.
    pub async fn unix(path: impl Into<PathBuf>) -> Result<Self, Problem> {
        let path = path.into();
        if let Err(error) = std::os::unix::net::SocketAddr::from_pathname(&path) {
            return Err(refused(format!(
                "{} can't be a socket's address: {error}; use a shorter path",
                path.display()
            )));
        }
        if std::fs::symlink_metadata(&path).is_ok_and(|there| !there.file_type().is_socket()) {
            return Err(refused(format!(
                "{} exists and is no socket; name a path that is free",
                path.display()
            )));
        }
        if UnixStream::connect(&path).await.is_ok() {
            return Err(refused(format!(
                "another process already listens on {}",
                path.display()
            )));
        }
        let socket = bind_private(&path)
            .map_err(|error| refused(format!("can't listen on {}: {error}", path.display())))?;
        let file = SocketFile(path);
        Ok(Self::Unix { socket, file })
    }

    /// Binds a loopback address; port 0 takes a free one, see [`Listener::address`].
    ///
    /// Fails with `LISTEN_REFUSED` for any other address, a taken port, or an empty token.
    pub async fn tcp(address: SocketAddr, token: Secret) -> Result<Self, Problem> {
        if !address.ip().is_loopback() {
            return Err(refused(format!(
                "{address} can be reached from other machines, and access control is not configured; listen on \
                 127.0.0.1 and reach it through a tunnel"
            )));
        }
        if token.expose().is_empty() {
            return Err(refused(format!(
                "{address} needs a token: any page in a browser here can reach it"
            )));
        }
        let bind = async {
            let socket = TcpListener::bind(address).await?;
            let bound = socket.local_addr()?;
            Ok::<_, io::Error>((socket, bound))
        };
        let (socket, address) = bind.await.map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    "the port is taken; stop what listens there or use port 0".to_owned()
                }
                _ => error.to_string(),
            };
            refused(format!("can't listen on {address}: {why}"))
        })?;
        Ok(Self::Tcp {
            socket,
            address,
            token,
        })
    }

    /// The address of a TCP listener.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Unix { .. } => None,
            Self::Tcp { address, .. } => Some(*address),
        }
    }
}

/// A socket's file; it goes with its listener.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Gone already if somebody cleaned up.
        std::fs::remove_file(&self.0).unwrap_or_default();
    }
}

/// Binds inside a 0700 directory, restricts, then moves into place: at no time can another user
/// connect.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let nest = tempfile::Builder::new()
        .prefix(".m")
        .rand_bytes(4)
        .tempdir_in(parent)?;
    let inner = nest.path().join("s");
    let socket = UnixListener::bind(&inner)?;
    std::fs::set_permissions(&inner, Permissions::from_mode(0o600))?;
    std::fs::rename(&inner, path)?;
    Ok(socket)
}

fn refused(message: String) -> Problem {
    Problem::new(ErrorCode::ListenRefused, message)
}
