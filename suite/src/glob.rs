//! Globs over project-relative paths: `*` and `?` stay within a segment, `**` crosses them, `!` in
//! front excludes.

use globset::{GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};

/// A set of globs: a path is in it if one includes it and none excludes it.
#[derive(Clone, Debug)]
pub struct Globs {
    include: GlobSet,
    exclude: GlobSet,
}

impl Globs {
    /// Compiles `patterns`.
    ///
    /// # Errors
    /// The first malformed pattern and what is wrong with it.
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Result<Self, String> {
        let mut include = GlobSetBuilder::new();
        let mut exclude = GlobSetBuilder::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            match pattern.strip_prefix('!') {
                Some(pattern) => exclude.add(compile(pattern)?.glob().clone()),
                None => include.add(compile(pattern)?.glob().clone()),
            };
        }
        let built = |builder: GlobSetBuilder| builder.build().map_err(|error| error.to_string());
        Ok(Self {
            include: built(include)?,
            exclude: built(exclude)?,
        })
    }

    /// Whether `path` (relative, with `/`) is in the set.
    pub fn contains(&self, path: &str) -> bool {
        self.include.is_match(path) && !self.exclude.is_match(path)
    }
}

/// One glob.
///
/// # Errors
/// What is wrong with it.
pub fn compile(pattern: &str) -> Result<GlobMatcher, String> {
    let trimmed = pattern.strip_prefix("./").unwrap_or(pattern);
    if trimmed.is_empty() {
        return Err("a glob is empty".to_owned());
    }
    if trimmed.starts_with('/') || trimmed.split('/').any(|segment| segment == "..") {
        return Err(format!(
            "glob `{pattern}` leaves the project: write it relative to muster.toml, without `..`"
        ));
    }
    GlobBuilder::new(trimmed)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("glob `{pattern}`: {}", error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stay_within_a_segment_and_exclusions_win() {
        let globs = Globs::new(&["tests/**/*.e2e.ts", "!tests/old/**"]).unwrap();
        assert!(globs.contains("tests/cart.e2e.ts"));
        assert!(globs.contains("tests/a/b/cart.e2e.ts"));
        assert!(!globs.contains("tests/old/cart.e2e.ts"));
        assert!(!globs.contains("tests/cart.ts"));
        assert!(
            !Globs::new(&["tests/*.ts"])
                .unwrap()
                .contains("tests/a/b.ts")
        );
    }

    #[test]
    fn a_glob_that_leaves_the_project_is_refused() {
        assert!(
            Globs::new(&["../x/*.ts"])
                .unwrap_err()
                .contains("leaves the project")
        );
        assert!(
            Globs::new(&["/etc/*"])
                .unwrap_err()
                .contains("leaves the project")
        );
        assert!(
            Globs::new(&["tests/[a.ts"])
                .unwrap_err()
                .contains("tests/[a.ts")
        );
    }
}
