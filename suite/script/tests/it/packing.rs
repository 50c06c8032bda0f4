//! What travels in a bundle and what doesn't.

use std::os::unix::fs::symlink;

use muster_proto::code::ErrorCode;
use muster_proto::id::BlobDigest;
use muster_proto::secret::Secret;
use muster_script::{discover, run_modules};
use muster_suite::config::Tests;

use crate::support::{CONFIG, FILE, Project, line};

fn with_include(globs: &str) -> String {
    format!("{CONFIG}[bundle]\ninclude = [{globs}]\n")
}

#[test]
fn a_bundle_holds_what_the_tests_reach_and_what_is_named() {
    let project = Project::new(&[
        (
            FILE,
            "import { a } from './a';\nimport type { T } from './types';\nexport const b: T = a;\n",
        ),
        ("tests/a.ts", "export { a } from './deep/b.js';\n"),
        ("tests/deep/b.ts", "export const a = 1;\n"),
        ("tests/types.ts", "export type T = number;\n"),
        ("tests/unrelated.ts", "export const c = 1;\n"),
        ("fixtures/users.csv", "ada\n"),
        ("fixtures/big/more.csv", "bob\n"),
    ]);
    let packed = project
        .pack_with(&with_include("\"fixtures/*.csv\""), &[FILE], &[])
        .unwrap();
    assert_eq!(
        packed.bundle.modules.keys().collect::<Vec<_>>(),
        [FILE, "tests/a.ts", "tests/deep/b.ts"]
    );
    assert_eq!(
        packed.bundle.files.keys().collect::<Vec<_>>(),
        ["fixtures/users.csv"]
    );
    for (digest, bytes) in &packed.blobs {
        assert_eq!(*digest, BlobDigest::of(bytes));
    }
    let modules = run_modules(&packed.bundle, &packed.blobs).unwrap();
    assert_eq!(
        modules["tests/a.ts"].js,
        "export { a } from \"tests/deep/b.ts\";\n"
    );
    let mut blobs = packed.blobs.clone();
    blobs.remove(&packed.bundle.modules["tests/a.ts"].map);
    assert!(
        run_modules(&packed.bundle, &blobs)
            .unwrap_err()
            .message
            .contains("`tests/a.ts`")
    );
}

#[test]
fn the_same_project_packs_to_the_same_bundle() {
    let files = [(FILE, "export const a: number = 1;\n")];
    assert_eq!(
        Project::new(&files).pack().unwrap().bundle,
        Project::new(&files).pack().unwrap().bundle
    );
}

#[test]
fn dotfiles_never_travel() {
    let project = Project::new(&[
        (FILE, ""),
        ("config/.env", "A=1"),
        ("config/.aws/key", "k"),
        ("config/ok", ""),
    ]);
    let problem = project
        .pack_with(&with_include("\"config/**\""), &[FILE], &[])
        .unwrap_err();
    assert_eq!(problem.code, ErrorCode::SecretInBundle);
    assert!(
        problem.message.contains("`config/.aws/key` is a dotfile"),
        "{problem}"
    );
    let excluded = with_include("\"config/**\", \"!config/.env\", \"!config/.aws/**\"");
    assert_eq!(
        project
            .pack_with(&excluded, &[FILE], &[])
            .unwrap()
            .bundle
            .files
            .len(),
        1
    );
    let project = Project::new(&[(FILE, "import './.hidden';\n"), ("tests/.hidden.ts", "")]);
    assert!(project.pack().unwrap_err().message.contains("dotfile"));
}

#[test]
fn a_secret_never_travels_in_any_of_its_spellings() {
    let secrets = [
        ("admin".to_owned(), Secret::new("hunter\"22 ä")),
        ("short".to_owned(), Secret::new("abc")),
    ];
    for leak in [
        "const p = 'hunter\"22 ä';",
        "const p = \"hunter\\\"22 ä\";",
        "const p = 'hunter%2222%20%C3%A4';",
    ] {
        let project = Project::of(leak);
        let problem = project.pack_with(CONFIG, &[FILE], &secrets).unwrap_err();
        assert_eq!(problem.code, ErrorCode::SecretInBundle);
        assert_eq!(
            problem.message,
            "`tests/a.e2e.ts` holds the value of the secret `admin`; take it out and use secrets.get('admin')"
        );
    }
    let project = Project::new(&[(FILE, "// abc"), ("data/x.bin", "\u{0}hunter\"22 ä")]);
    let problem = project
        .pack_with(&with_include("\"data/*\""), &[FILE], &secrets)
        .unwrap_err();
    assert!(
        problem.message.starts_with("`data/x.bin` holds"),
        "{problem}"
    );
    project.pack_with(CONFIG, &[FILE], &secrets).unwrap();
}

#[test]
fn a_link_leads_nowhere_else() {
    let elsewhere = Project::new(&[("key.ts", "export const key = 1;\n"), ("key.txt", "k")]);
    let project = Project::new(&[
        (FILE, "import { key } from './key';\n\nexport { key };\n"),
        ("data/.keep", ""),
    ]);
    symlink(
        elsewhere.dir.path().join("key.ts"),
        project.dir.path().join("tests/key.ts"),
    )
    .unwrap();
    symlink(
        elsewhere.dir.path().join("key.txt"),
        project.dir.path().join("data/key.txt"),
    )
    .unwrap();
    let problem = project.pack().unwrap_err();
    assert!(
        line(&problem)
            .starts_with("COLLECTION_ERROR tests/a.e2e.ts:1: `./key` leads out of the project"),
        "{problem}"
    );
    std::fs::write(project.dir.path().join(FILE), "").unwrap();
    let problem = project
        .pack_with(&with_include("\"data/*.txt\""), &[FILE], &[])
        .unwrap_err();
    assert!(
        problem
            .message
            .contains("leads out of the project by a link"),
        "{problem}"
    );
}

#[test]
fn packages_are_found_by_their_exports_and_common_js_is_refused() {
    let package = |manifest: &str, file: &str, import: &str| {
        let import = format!("import * as p from '{import}';\nexport default p;\n");
        let file = format!("node_modules/@x/p/{file}");
        let project = Project::new(&[
            (FILE, import.as_str()),
            ("node_modules/@x/p/package.json", manifest),
            (
                file.as_str(),
                if file.ends_with("common.js") {
                    "module.exports = 1;\n"
                } else {
                    "export const a = 1;\n"
                },
            ),
        ]);
        match project.pack() {
            Ok(packed) => packed
                .bundle
                .modules
                .into_keys()
                .find(|path| path.starts_with("node_modules"))
                .unwrap(),
            Err(problem) => line(&problem),
        }
    };
    for (manifest, file, import, expected) in [
        (
            r#"{"exports": "./a.mjs"}"#,
            "a.mjs",
            "@x/p",
            "node_modules/@x/p/a.mjs",
        ),
        (
            r#"{"exports": {"import": {"types": "./a.d.ts", "default": "./a.js"}}}"#,
            "a.js",
            "@x/p",
            "node_modules/@x/p/a.js",
        ),
        (
            r#"{"exports": {".": "./a.js", "./sub/*": "./lib/*.js"}}"#,
            "lib/b.js",
            "@x/p/sub/b",
            "node_modules/@x/p/lib/b.js",
        ),
        (
            r#"{"module": "m.js", "main": "common.js"}"#,
            "m.js",
            "@x/p",
            "node_modules/@x/p/m.js",
        ),
        (r"{}", "index.js", "@x/p", "node_modules/@x/p/index.js"),
        (
            r"{}",
            "lib/c.js",
            "@x/p/lib/c",
            "node_modules/@x/p/lib/c.js",
        ),
        (
            r#"{"exports": {".": "./a.js"}}"#,
            "lib/b.js",
            "@x/p/lib/b.js",
            "COLLECTION_ERROR tests/a.e2e.ts:1: package `@x/p` exports no ES module as `./lib/b.js`",
        ),
        (
            r#"{"main": "index.cjs"}"#,
            "index.cjs",
            "@x/p",
            "COLLECTION_ERROR tests/a.e2e.ts:1: package `@x/p` offers only a CommonJS module (`index.cjs`); ES modules can be imported",
        ),
        (
            r#"{"main": "common.js"}"#,
            "common.js",
            "@x/p",
            "COLLECTION_ERROR node_modules/@x/p/common.js:1: `node_modules/@x/p/common.js` is a CommonJS module (it uses `require` or `exports`); only ES modules can be imported",
        ),
        (
            r#"{"exports": "./../../../tests/a.e2e.ts"}"#,
            "a.js",
            "@x/p",
            "COLLECTION_ERROR tests/a.e2e.ts:1: package `@x/p` has no file `./../../../tests/a.e2e.ts`",
        ),
    ] {
        assert_eq!(package(manifest, file, import), expected, "{manifest}");
    }
}

#[test]
fn test_files_are_found_by_globs() {
    let project = Project::new(&[
        ("tests/b.e2e.ts", ""),
        ("tests/a/a.e2e.ts", ""),
        ("tests/drafts/d.e2e.ts", ""),
        ("tests/page.ts", ""),
        ("tests/.hidden/x.e2e.ts", ""),
        ("tests/node_modules/x/x.e2e.ts", ""),
    ]);
    let find = |include: &[&str]| {
        let include = include.iter().map(|glob| (*glob).to_owned()).collect();
        discover(project.dir.path(), &Tests { include })
    };
    assert_eq!(
        find(&["tests/**/*.e2e.ts", "!tests/drafts/**"]).unwrap(),
        ["tests/a/a.e2e.ts", "tests/b.e2e.ts"]
    );
    assert_eq!(
        discover(project.dir.path(), &Tests::default())
            .unwrap()
            .len(),
        3
    );
    let problem = find(&["specs/*.ts"]).unwrap_err();
    assert_eq!(problem.code, ErrorCode::NoTests);
    assert!(
        problem.message.contains("matches `specs/*.ts`"),
        "{problem}"
    );
}
