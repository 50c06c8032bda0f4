//! What is left of a run: files for people and machines. A report is a pure fold of the run's view
//! and its attempts' records ([`fold`]); a [`Reporter`] writes it in one form.
//!
//! To add one, implement [`Reporter`] in a file of its own.

mod fold;
mod json;
mod junit;
mod model;
#[cfg(test)]
mod tests;

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_proto::v1;

pub use fold::{Records, wanted};
pub use json::Json;
pub use junit::Junit;
pub use model::{AttemptReport, CacheRow, Counts, Report, SCHEMA, Stopped, Totals, UnitReport};

/// One form of report.
pub trait Reporter: Send {
    /// A fact or progress of the run, live.
    fn on_event(&mut self, event: &v1::RunEvent);
    /// Writes the files; which they are. Fails with `REPORT_WRITE_FAILED`.
    fn finish(self: Box<Self>, report: &Report) -> Result<Vec<PathBuf>, Problem>;
}

/// Replaces a file in one step, making its directory if need be.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let dir = path
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let work = || -> std::io::Result<()> {
        fs::create_dir_all(dir)?;
        let permissions = Permissions::from_mode(0o644);
        let mut temp = tempfile::Builder::new()
            .prefix(".report-")
            .permissions(permissions)
            .tempfile_in(dir)?;
        temp.write_all(bytes)?;
        temp.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    work().map_err(|error| failed(path, &error))
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> Problem {
    Problem::new(
        ErrorCode::ReportWriteFailed,
        format!("can't write {}: {why}", path.display()),
    )
}
