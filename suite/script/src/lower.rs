//! One module: TypeScript or JavaScript in, plain JavaScript and its source map out.
//!
//! Import specifiers are rewritten to the names that modules have in the bundle, so that a worker
//! resolves nothing: it looks names up.

use std::path::Path;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::{Place, Problem};
use muster_suite::text;
use oxc::allocator::Allocator;
use oxc::ast::ast::{
    ExportAllDeclaration, ExportFromDeclaration, Expression, ImportDeclaration,
    ImportDeclarationSpecifier, ImportExpression, StringLiteral,
};
use oxc::ast_visit::{VisitMut, walk_mut};
use oxc::codegen::{Codegen, CodegenOptions, CommentOptions};
use oxc::diagnostics::OxcDiagnostic;
use oxc::parser::Parser;
use oxc::semantic::SemanticBuilder;
use oxc::span::{SourceType, Span};
use oxc::transformer::{TransformOptions, Transformer};

use crate::prelude::EXPORTS;
use crate::resolve::BUILTIN;

/// A lowered module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered {
    /// JavaScript.
    pub js: String,
    /// Source map (JSON) without the source's text.
    pub map: String,
}

/// The name in the bundle that an import specifier means, or why it may not be imported.
pub type Resolve<'a> = dyn FnMut(&str) -> Result<String, String> + 'a;

/// Lowers the module `source` at the project-relative `path`.
///
/// # Errors
/// COLLECTION_ERROR at the place of a syntax error or of an import that `resolve` refuses.
pub fn lower(path: &str, source: &str, resolve: &mut Resolve<'_>) -> Result<Lowered, Problem> {
    let module = Module { path, source };
    if path.ends_with(".json") {
        return module.json();
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, module.source_type()).parse();
    module.refuse(parsed.diagnostics.errors())?;
    let mut program = parsed.program;
    if !parsed.module_record.has_module_syntax && looks_like_commonjs(source) {
        return Err(module.problem(
            0,
            format!("`{path}` is a CommonJS module (it uses `require` or `exports`); only ES modules can be imported"),
        ));
    }
    let semantic = SemanticBuilder::new()
        .with_check_syntax_error(true)
        .with_enum_eval(true)
        .build(&program);
    module.refuse(semantic.diagnostics.errors())?;
    let options = TransformOptions::default();
    let transformed = Transformer::new(&allocator, Path::new(path), &options)
        .build_with_scoping(semantic.semantic.into_scoping(), &mut program);
    module.refuse(transformed.diagnostics.errors())?;
    let mut imports = Imports {
        allocator: &allocator,
        resolve,
        refused: None,
    };
    imports.visit_program(&mut program);
    if let Some((span, message)) = imports.refused {
        return Err(module.problem(span.start, message));
    }
    let options = CodegenOptions {
        source_map_path: Some(path.into()),
        comments: CommentOptions::disabled(),
        ..CodegenOptions::default()
    };
    let generated = Codegen::new().with_options(options).build(&program);
    let mut map = generated.map.expect("a path was given, so there is a map");
    map.set_source_contents(Vec::new());
    Ok(Lowered {
        js: generated.code,
        map: map.to_json_string(),
    })
}

/// Whether a file without module syntax is meant for `require`.
fn looks_like_commonjs(source: &str) -> bool {
    ["module.exports", "exports.", "require("]
        .iter()
        .any(|mark| source.contains(mark))
}

struct Module<'a> {
    path: &'a str,
    source: &'a str,
}

impl Module<'_> {
    fn source_type(&self) -> SourceType {
        let typescript = Path::new(self.path)
            .extension()
            .is_some_and(|extension| extension == "ts" || extension == "mts");
        if typescript {
            SourceType::ts()
        } else {
            SourceType::mjs()
        }
    }

    fn json(&self) -> Result<Lowered, Problem> {
        let value: serde_json::Value =
            serde_json::from_str(self.source).map_err(|error| Problem {
                place: Some(Place {
                    file: self.path.to_owned(),
                    line: u32::try_from(error.line()).unwrap_or(0),
                    column: u32::try_from(error.column()).unwrap_or(0),
                }),
                ..Problem::new(
                    ErrorCode::CollectionError,
                    format!("`{}` is not JSON: {error}", self.path),
                )
            })?;
        // A string within a string: `__proto__` stays a key, which it wouldn't in an object literal.
        let text = serde_json::Value::String(value.to_string());
        Ok(Lowered {
            js: format!("export default JSON.parse({text});\n"),
            map: serde_json::json!({"version": 3, "sources": [self.path], "names": [], "mappings": ""}).to_string(),
        })
    }

    fn refuse<'d>(
        &self,
        mut errors: impl Iterator<Item = &'d OxcDiagnostic>,
    ) -> Result<(), Problem> {
        let Some(error) = errors.next() else {
            return Ok(());
        };
        let offset = error.labels.first().map_or(0, |label| label.span().start);
        let help = error
            .help
            .as_ref()
            .map(|help| format!(" ({help})"))
            .unwrap_or_default();
        Err(self.problem(offset, format!("{}{help}", error.message)))
    }

    fn problem(&self, offset: u32, message: String) -> Problem {
        Problem {
            place: Some(text::place(self.path, self.source, offset as usize)),
            ..Problem::new(ErrorCode::CollectionError, message)
        }
    }
}

/// Rewrites every static specifier and every literal dynamic one; the others fail when they run.
struct Imports<'a, 'r, 'f> {
    allocator: &'a Allocator,
    resolve: &'r mut Resolve<'f>,
    refused: Option<(Span, String)>,
}

impl<'a> Imports<'a, '_, '_> {
    /// The interpreter would name neither the line nor the nearest name.
    fn check_names(&mut self, declaration: &ImportDeclaration<'a>) {
        let mut specifiers = declaration.specifiers.iter().flatten();
        let unknown = specifiers.find_map(|specifier| match specifier {
            ImportDeclarationSpecifier::ImportSpecifier(named) => {
                let name = named.imported.name();
                (!EXPORTS.contains(&name.as_str())).then(|| (named.span, name.to_string()))
            }
            ImportDeclarationSpecifier::ImportDefaultSpecifier(default) => {
                Some((default.span, "default".to_owned()))
            }
            ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => None,
        });
        if let Some((span, name)) = unknown {
            let hint = match text::nearest(&name, EXPORTS.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("it exports {}", EXPORTS.join(", ")),
            };
            self.refused
                .get_or_insert((span, format!("'{BUILTIN}' exports no `{name}`; {hint}")));
        }
    }

    fn rewrite(&mut self, literal: &mut StringLiteral<'a>) {
        if self.refused.is_some() {
            return;
        }
        match (self.resolve)(literal.value.as_str()) {
            Ok(name) => {
                literal.value = oxc::str::Str::from(self.allocator.alloc_str(&name));
                literal.raw = None;
            }
            Err(message) => self.refused = Some((literal.span, message)),
        }
    }
}

impl<'a> VisitMut<'a> for Imports<'a, '_, '_> {
    fn visit_import_declaration(&mut self, declaration: &mut ImportDeclaration<'a>) {
        self.rewrite(&mut declaration.source);
        if declaration.source.value.as_str() == BUILTIN {
            self.check_names(declaration);
        }
        declaration.with_clause = None;
    }

    fn visit_export_from_declaration(&mut self, declaration: &mut ExportFromDeclaration<'a>) {
        self.rewrite(&mut declaration.source);
        declaration.with_clause = None;
    }

    fn visit_export_all_declaration(&mut self, declaration: &mut ExportAllDeclaration<'a>) {
        self.rewrite(&mut declaration.source);
        declaration.with_clause = None;
    }

    fn visit_import_expression(&mut self, expression: &mut ImportExpression<'a>) {
        if let Expression::StringLiteral(literal) = &mut expression.source {
            self.rewrite(literal);
            expression.options = None;
        }
        walk_mut::walk_import_expression(self, expression);
    }
}
