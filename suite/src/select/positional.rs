//! What a person writes after `muster run`: a file, a directory, the end of a path, a glob, each
//! with an optional `:line`.

use globset::GlobMatcher;

use crate::collect::{CollectedFile, CollectedTest};
use crate::glob;

/// One positional.
#[derive(Clone, Debug)]
pub struct Positional {
    written: String,
    path: String,
    glob: Option<GlobMatcher>,
    line: Option<u32>,
}

impl Positional {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// What is wrong with a glob.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (path, line) = match text
            .rsplit_once(':')
            .map(|(path, line)| (path, line.parse()))
        {
            Some((path, Ok(line))) => (path, Some(line)),
            _ => (text, None),
        };
        let path = path
            .strip_prefix("./")
            .unwrap_or(path)
            .trim_end_matches('/');
        if path.is_empty() || path == "." {
            return Err(format!(
                "`{text}` names no file; leave it out to run everything"
            ));
        }
        let glob = path
            .contains(['*', '?'])
            .then(|| glob::compile(path))
            .transpose()?;
        Ok(Self {
            written: text.to_owned(),
            path: path.to_owned(),
            glob,
            line,
        })
    }

    /// Whether it means `file`, whatever its line.
    pub(super) fn covers(&self, file: &str) -> bool {
        if let Some(glob) = &self.glob {
            return glob.is_match(file);
        }
        let path = self.path.as_str();
        let in_directory = file
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        in_directory || ends_with_path(file, path) || ends_with_path(stem(file), path)
    }

    /// Whether it selects `test` of `file`: a line means the test declared there, else the nearest
    /// one declared above.
    pub(super) fn selects(&self, file: &CollectedFile, test: &CollectedTest) -> bool {
        if !self.covers(&file.file) {
            return false;
        }
        let Some(line) = self.line else { return true };
        file.tests
            .iter()
            .map(|test| test.line)
            .filter(|declared| *declared <= line)
            .max()
            == Some(test.line)
    }
}

impl std::fmt::Display for Positional {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.written)
    }
}

/// Whether `path` is the last segments of `file`.
fn ends_with_path(file: &str, path: &str) -> bool {
    file.strip_suffix(path)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
}

/// `tests/cart.e2e.ts` without what follows the name's first dot.
fn stem(file: &str) -> &str {
    let name = file.rfind('/').map_or(0, |slash| slash + 1);
    file[name..]
        .find('.')
        .map_or(file, |dot| &file[..name + dot])
}
