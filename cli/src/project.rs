//! The project: a folder with a `muster.toml`.

use std::path::{Path, PathBuf};

use muster_proto::code::ErrorCode;
use muster_suite::config::Config;

use crate::args::ProjectArgs;
use crate::env::Env;
use crate::failure::Failure;

/// A loaded project.
pub(crate) struct Project {
    /// Absolute.
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
}

impl Project {
    /// Finds and reads the configuration.
    pub(crate) fn load(args: &ProjectArgs, env: &Env) -> Result<Self, Failure> {
        let path = match &args.config {
            Some(path) => {
                let path = env.cwd.join(path);
                if !path.is_file() {
                    return Err(Failure::new(
                        ErrorCode::ConfigNotFound,
                        format!(
                            "there is no file {}; --config names a muster.toml",
                            path.display()
                        ),
                    ));
                }
                path
            }
            None => find(&env.cwd)?,
        };
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Failure::new(
                ErrorCode::ConfigNotFound,
                format!("{} can't be read: {error}", path.display()),
            )
        })?;
        let name = path.file_name().map_or_else(
            || path.display().to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        let config = Config::parse(&text, &name).map_err(muster_proto::outcome::Problem::from)?;
        let dir = path
            .parent()
            .map_or_else(|| env.cwd.clone(), Path::to_path_buf);
        Ok(Self { dir, config })
    }

    /// Where reports, recordings and run state are kept.
    pub(crate) fn output(&self) -> PathBuf {
        self.dir.join(".muster")
    }

    /// Where recordings are kept.
    pub(crate) fn cache_dir(&self) -> PathBuf {
        self.dir.join(&self.config.cache.dir)
    }
}

fn find(cwd: &Path) -> Result<PathBuf, Failure> {
    cwd.ancestors()
        .map(|folder| folder.join("muster.toml"))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            Failure::new(
                ErrorCode::ConfigNotFound,
                format!(
                    "there is no muster.toml in {} or a folder above; name one with --config",
                    cwd.display()
                ),
            )
        })
}
