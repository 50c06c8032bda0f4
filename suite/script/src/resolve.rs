//! What an import specifier means in a project: `muster`, a relative file, or an ES module of a
//! package in `node_modules`.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

/// The built-in module's one name; `e2e` is an alias.
pub(crate) const BUILTIN: &str = "muster";

const EXTENSIONS: [&str; 5] = ["ts", "mts", "js", "mjs", "json"];

/// Conditions of `exports`, in our order; the file's own order isn't kept by the JSON parser.
const CONDITIONS: [&str; 4] = ["import", "module", "browser", "default"];

const SUPPORTED: &str = "a test may import 'muster', relative .ts, .js and .json files, and ES-module packages that need no Node.js";

/// Modules of Node.js that are often written without `node:`.
const NODE_MODULES: [&str; 24] = [
    "assert",
    "buffer",
    "child_process",
    "cluster",
    "crypto",
    "dns",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "readline",
    "stream",
    "tls",
    "tty",
    "util",
    "worker_threads",
    "zlib",
];

/// A project's files.
#[derive(Debug)]
pub(crate) struct Project {
    root: PathBuf,
}

impl Project {
    /// The project in `root`.
    pub(crate) fn open(root: &Path) -> std::io::Result<Self> {
        Ok(Self {
            root: root.canonicalize()?,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The module that `specifier` means in the module `from`: [`BUILTIN`] or a project-relative path.
    pub(crate) fn resolve(&self, from: &str, specifier: &str) -> Result<String, String> {
        if specifier == BUILTIN || specifier == "e2e" {
            return Ok(BUILTIN.to_owned());
        }
        if specifier.starts_with("./")
            || specifier.starts_with("../")
            || specifier == "."
            || specifier == ".."
        {
            let directory = Path::new(from).parent().unwrap_or(Path::new(""));
            let joined = normal(&directory.join(specifier)).ok_or_else(|| {
                format!("`{specifier}` leaves the project; tests may only import files inside it")
            })?;
            return self
                .module(&joined)
                .ok_or_else(|| format!("`{specifier}` is not a file here (tried .ts, .mts, .js, .mjs, .json and index)"))
                .and_then(|path| self.permitted(specifier, path));
        }
        let bare = specifier.strip_prefix("node:").unwrap_or(specifier);
        let head = bare.split('/').next().unwrap_or_default();
        if specifier.starts_with("node:") {
            return Err(format!(
                "`{specifier}` is a module of Node.js, and tests don't run in it; {SUPPORTED}"
            ));
        }
        if specifier.starts_with(['/', '#']) || specifier.contains(':') || specifier.is_empty() {
            return Err(format!("`{specifier}` can't be imported; {SUPPORTED}"));
        }
        match self.package(from, specifier) {
            Err(_) if NODE_MODULES.contains(&head) => Err(format!(
                "`{specifier}` is a module of Node.js, and tests don't run in it; {SUPPORTED}"
            )),
            found => found.and_then(|path| self.permitted(specifier, path)),
        }
    }

    /// A file that the bundle may hold: no dotfile, and not outside by way of a link.
    fn permitted(&self, specifier: &str, path: PathBuf) -> Result<String, String> {
        let name = name(&path);
        if is_dotfile(&name) {
            return Err(format!(
                "`{specifier}` is a dotfile or lies in a dot directory; those are never packed"
            ));
        }
        match self.root.join(&path).canonicalize() {
            Ok(real) if real.starts_with(&self.root) => Ok(name),
            _ => Err(format!(
                "`{specifier}` leads out of the project by a link; tests may only import files inside it"
            )),
        }
    }

    /// The file that a path without or with extension means.
    fn module(&self, path: &Path) -> Option<PathBuf> {
        let is_file = |path: &PathBuf| self.root.join(path).is_file();
        let known = |path: &Path| {
            path.extension()
                .and_then(|extension| extension.to_str())
                .is_some_and(|found| EXTENSIONS.contains(&found))
        };
        let with =
            |path: &Path, extension: &str| PathBuf::from(format!("{}.{extension}", path.display()));
        let mut candidates = Vec::new();
        if known(path) {
            candidates.push(path.to_owned());
        }
        // TypeScript's habit: the import names the output, `./cart.js` for `cart.ts`.
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("js") => candidates.push(path.with_extension("ts")),
            Some("mjs") => candidates.push(path.with_extension("mts")),
            _ => {}
        }
        candidates.extend(EXTENSIONS.iter().map(|extension| with(path, extension)));
        candidates.extend(
            EXTENSIONS
                .iter()
                .map(|extension| with(&path.join("index"), extension)),
        );
        candidates.into_iter().find(is_file)
    }

    fn package(&self, from: &str, specifier: &str) -> Result<PathBuf, String> {
        let segments = if specifier.starts_with('@') { 2 } else { 1 };
        let split = specifier
            .match_indices('/')
            .nth(segments - 1)
            .map_or(specifier.len(), |(at, _)| at);
        let (package, rest) = specifier.split_at(split);
        let start = Path::new(from).parent().unwrap_or(Path::new(""));
        let folder = start
            .ancestors()
            .map(|folder| folder.join("node_modules").join(package))
            .find(|folder| self.root.join(folder).join("package.json").is_file())
            .ok_or_else(|| format!("package `{package}` is not in node_modules; install it or check the name ({SUPPORTED})"))?;
        let text = std::fs::read_to_string(self.root.join(&folder).join("package.json"))
            .map_err(|error| format!("package.json of `{package}` can't be read: {error}"))?;
        let manifest: Value = serde_json::from_str(&text)
            .map_err(|error| format!("package.json of `{package}` is not JSON: {error}"))?;
        let entry = match manifest.get("exports") {
            Some(exports) => exported(exports, &format!(".{rest}"))
                .ok_or_else(|| format!("package `{package}` exports no ES module as `.{rest}`"))?,
            None if !rest.is_empty() => format!(".{rest}"),
            None => ["module", "main"]
                .iter()
                .find_map(|key| manifest.get(key).and_then(Value::as_str))
                .unwrap_or("index.js")
                .to_owned(),
        };
        let path = normal(&folder.join(&entry)).filter(|path| path.starts_with(&folder));
        if entry.ends_with(".cjs") {
            return Err(format!(
                "package `{package}` offers only a CommonJS module (`{entry}`); ES modules can be imported"
            ));
        }
        path.and_then(|path| self.module(&path))
            .ok_or_else(|| format!("package `{package}` has no file `{entry}`"))
    }
}

/// The target of `exports` for a subpath such as `.` or `./feature`.
fn exported(exports: &Value, subpath: &str) -> Option<String> {
    if let Value::Object(entries) = exports
        && entries.keys().any(|key| key.starts_with('.'))
    {
        if let Some(target) = entries.get(subpath) {
            return condition(target);
        }
        return entries.iter().find_map(|(key, target)| {
            let (head, tail) = key.split_once('*')?;
            let star = subpath.strip_prefix(head)?.strip_suffix(tail)?;
            Some(condition(target)?.replace('*', star))
        });
    }
    (subpath == ".").then(|| condition(exports)).flatten()
}

fn condition(target: &Value) -> Option<String> {
    match target {
        Value::String(path) => Some(path.clone()),
        Value::Array(choices) => choices.iter().find_map(condition),
        Value::Object(conditions) => CONDITIONS
            .iter()
            .find_map(|name| conditions.get(*name).and_then(condition)),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// `path` without `.` and `..`; none if it leaves the project.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(segment) => normal.push(segment),
            Component::CurDir => {}
            Component::ParentDir => {
                if !normal.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normal)
}

/// `path` with `/`.
pub(crate) fn name(path: &Path) -> String {
    path.components()
        .map(|component| component.as_os_str().to_string_lossy())
        .collect::<Vec<_>>()
        .join("/")
}

/// Whether a segment of `name` starts with a dot.
pub(crate) fn is_dotfile(name: &str) -> bool {
    name.split('/').any(|segment| segment.starts_with('.'))
}
