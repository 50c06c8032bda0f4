//! Which files of a project hold tests.

use std::path::Path;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_suite::config::Tests;
use muster_suite::glob::Globs;
use walkdir::WalkDir;

use crate::resolve;

/// Project-relative paths of the test files, sorted. Dot directories and `node_modules` are not
/// looked into.
///
/// # Errors
/// NO_TESTS that names the globs; INVALID_CONFIG for a malformed one or a project that can't be read.
pub fn discover(project_dir: &Path, tests: &Tests) -> Result<Vec<String>, Problem> {
    let globs = Globs::new(&tests.include)
        .map_err(|message| Problem::new(ErrorCode::InvalidConfig, message))?;
    let hidden = |name: &str| name.starts_with('.') || name == "node_modules";
    let mut found = files(project_dir, &|name| !hidden(name))?;
    found.retain(|file| globs.contains(file));
    if found.is_empty() {
        let globs = tests.include.join("`, `");
        let message = format!(
            "no test file in {} matches `{globs}`; see [tests] include",
            project_dir.display()
        );
        return Err(Problem::new(ErrorCode::NoTests, message));
    }
    Ok(found)
}

/// All files below `root` whose every segment `enter` lets through, sorted; links are not followed
/// into directories.
pub(crate) fn files(root: &Path, enter: &dyn Fn(&str) -> bool) -> Result<Vec<String>, Problem> {
    let walk = WalkDir::new(root)
        .min_depth(1)
        .sort_by_file_name()
        .into_iter();
    let mut found = Vec::new();
    for entry in walk.filter_entry(|entry| entry.file_name().to_str().is_some_and(enter)) {
        let entry = entry.map_err(|error| {
            Problem::new(
                ErrorCode::InvalidConfig,
                format!("the project in {} can't be read: {error}", root.display()),
            )
        })?;
        if entry.path().is_file()
            && let Ok(relative) = entry.path().strip_prefix(root)
        {
            found.push(resolve::name(relative));
        }
    }
    found.sort();
    Ok(found)
}
