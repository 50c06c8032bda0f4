//! The last words of a process, for errors.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// Bytes that are kept.
const KEPT: usize = 4096;
/// Lines that are shown.
const SHOWN: usize = 5;

/// Drains a stream and keeps its end.
#[derive(Debug)]
pub struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Ends with the stream.
    reader: JoinHandle<()>,
}

impl Tail {
    /// Starts to drain; ends with the stream.
    pub fn of(mut stream: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let reader = tokio::spawn({
            let kept = Arc::clone(&kept);
            async move {
                let mut chunk = [0; 1024];
                while let Ok(read @ 1..) = stream.read(&mut chunk).await {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(&chunk[..read]);
                    let surplus = kept.len().saturating_sub(KEPT);
                    kept.drain(..surplus);
                }
            }
        });
        Self { kept, reader }
    }

    /// The last lines, joined by ` | `, once the stream has ended or a second has passed.
    pub async fn last_lines(self) -> String {
        // Late words are lost, no more.
        tokio::time::timeout(Duration::from_secs(1), self.reader)
            .await
            .ok();
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let mut lines: Vec<&str> = text
            .lines()
            .rev()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .take(SHOWN)
            .collect();
        lines.reverse();
        lines.join(" | ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_long_stream_is_kept() {
        let text: String = (0..2000).map(|n| format!("line {n}\n\n")).collect();
        let tail = Tail::of(std::io::Cursor::new(text));
        assert_eq!(
            tail.last_lines().await,
            "line 1995 | line 1996 | line 1997 | line 1998 | line 1999"
        );
    }
}
