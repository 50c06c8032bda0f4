//! `report.json`: everything, for machines.

use std::path::PathBuf;

use muster_proto::outcome::Problem;
use muster_proto::v1;

use super::{Report, Reporter, failed, write};

/// Writes [`Report`] as JSON.
pub struct Json {
    path: PathBuf,
}

impl Json {
    /// To this file.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

impl Reporter for Json {
    fn on_event(&mut self, _: &v1::RunEvent) {}

    fn finish(self: Box<Self>, report: &Report) -> Result<Vec<PathBuf>, Problem> {
        let mut bytes =
            serde_json::to_vec_pretty(report).map_err(|error| failed(&self.path, &error))?;
        bytes.push(b'\n');
        write(&self.path, &bytes)?;
        Ok(vec![self.path])
    }
}
