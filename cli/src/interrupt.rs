//! Signals: the first asks to stop in order, the second leaves now.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first INT, TERM or HUP cancels. A second signal ends the process with 130;
/// the supervisor then reaps its children.
pub(crate) fn token() -> std::io::Result<CancellationToken> {
    let token = CancellationToken::new();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let stop = token.clone();
    tokio::spawn(async move {
        for press in 1.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
            if press > 1 {
                std::process::exit(130);
            }
            stop.cancel();
        }
    });
    Ok(token)
}
