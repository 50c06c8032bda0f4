//! From an interpreter's stack to the line that a person wrote.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use muster_proto::outcome::Place;
use muster_suite::frame::ModuleSource;
use oxc_sourcemap::{SourceMap, Token};

/// The modules of a worker with their source maps, each parsed when it is first needed.
#[derive(Debug)]
pub(crate) struct Sources {
    modules: BTreeMap<String, Module>,
}

#[derive(Debug)]
struct Module {
    source: ModuleSource,
    /// Of the source map, in the order of the lowered code.
    tokens: OnceLock<Vec<Token>>,
}

impl Sources {
    pub(crate) fn new(modules: BTreeMap<String, ModuleSource>) -> Self {
        let module = |(name, source)| {
            (
                name,
                Module {
                    source,
                    tokens: OnceLock::new(),
                },
            )
        };
        Self {
            modules: modules.into_iter().map(module).collect(),
        }
    }

    /// The lowered code of a module.
    pub(crate) fn js(&self, name: &str) -> Option<&str> {
        self.modules
            .get(name)
            .map(|module| module.source.js.as_str())
    }

    /// The best place in `stack`: the innermost frame in `prefer`, else in the project's own files,
    /// else in any module.
    pub(crate) fn place(&self, stack: &str, prefer: Option<&str>) -> Option<Place> {
        let frames: Vec<Frame<'_>> = stack
            .lines()
            .filter_map(frame)
            .filter(|frame| self.modules.contains_key(frame.file))
            .collect();
        let own = |frame: &&Frame<'_>| {
            !frame
                .file
                .split('/')
                .any(|segment| segment == "node_modules")
        };
        let best = frames
            .iter()
            .find(|frame| Some(frame.file) == prefer)
            .or_else(|| frames.iter().find(own))
            .or_else(|| frames.first())?;
        self.original(best)
    }

    fn original(&self, frame: &Frame<'_>) -> Option<Place> {
        let module = self.modules.get(frame.file)?;
        let place = |line: u32, column: u32| Place {
            file: frame.file.to_owned(),
            line: line + 1,
            column: column + 1,
        };
        let tokens = module.tokens.get_or_init(|| {
            let map = SourceMap::from_json_string(&module.source.map);
            map.map(|map| map.get_tokens().collect())
                .unwrap_or_default()
        });
        let on_line = |token: &Token| token.get_dst_line() == frame.line;
        let after = tokens.partition_point(|token| {
            (token.get_dst_line(), token.get_dst_col()) <= (frame.line, frame.column)
        });
        // The last token at or before the position, else the line's first.
        let token = tokens[..after]
            .last()
            .filter(|token| on_line(token))
            .or_else(|| tokens.get(after));
        Some(match token.filter(|token| on_line(token)) {
            Some(token) => place(token.get_src_line(), token.get_src_col()),
            // A module without a map (JSON) is its own source.
            None => place(frame.line, frame.column),
        })
    }
}

/// A position in lowered code, from 0.
struct Frame<'a> {
    file: &'a str,
    line: u32,
    column: u32,
}

/// `    at name (file:line:column)` or `    at file:line:column`.
fn frame(line: &str) -> Option<Frame<'_>> {
    let at = line.trim().strip_prefix("at ")?;
    let position = match at.strip_suffix(')') {
        Some(named) => named.rsplit_once('(')?.1,
        None => at,
    };
    let (rest, column) = position.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let from_zero = |text: &str| text.parse::<u32>().ok()?.checked_sub(1);
    Some(Frame {
        file,
        line: from_zero(line)?,
        column: from_zero(column)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::lower;

    fn sources() -> Sources {
        let text =
            "type A = { a: string };\n\nexport function helper(value: A) {\n  return value.a;\n}\n";
        let module = |name: &str| {
            let lowered = lower(name, text, &mut |name| Ok(name.to_owned())).unwrap();
            (
                name.to_owned(),
                ModuleSource {
                    js: lowered.js,
                    map: lowered.map,
                },
            )
        };
        Sources::new(BTreeMap::from([
            module("tests/a.e2e.ts"),
            module("tests/page.ts"),
            module("node_modules/p/i.js.ts"),
        ]))
    }

    #[test]
    fn the_innermost_frame_of_the_users_own_files_wins() {
        let sources = sources();
        let stack = "Error\n    at step (muster:step:9:1)\n    at lib (node_modules/p/i.js.ts:2:2)\n    at helper (tests/page.ts:2:2)\n    at tests/a.e2e.ts:1:8\n";
        assert_eq!(
            sources.place(stack, None).unwrap().to_string(),
            "tests/page.ts:4"
        );
        assert_eq!(
            sources
                .place(stack, Some("tests/a.e2e.ts"))
                .unwrap()
                .to_string(),
            "tests/a.e2e.ts:3"
        );
        let only = "    at lib (node_modules/p/i.js.ts:2:2)";
        assert_eq!(
            sources.place(only, None).unwrap().to_string(),
            "node_modules/p/i.js.ts:4"
        );
        assert_eq!(
            sources.place("    at call (native)\n    at muster:kernel:1:1", None),
            None
        );
    }
}
