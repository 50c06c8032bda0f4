//! From what the prelude says (JSON) to collected tests and outcomes.

use std::collections::BTreeMap;

use muster_proto::code::{Class, ErrorCode};
use muster_proto::outcome::{Place, Problem};
use muster_suite::collect::CollectedTest;
use muster_suite::frame::TestOutcome;
use muster_suite::id;
use serde::Deserialize;

/// Longest message, bytes.
const MAX_MESSAGE: usize = 8192;

/// A test file that was evaluated.
pub(super) struct Loaded {
    tests: Vec<Declared>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Declared {
    title_path: Vec<String>,
    place: Option<Place>,
    tags: Vec<String>,
    timeout_ms: Option<u64>,
    retries: Option<u32>,
    agents: Vec<String>,
    skip: Option<String>,
    only: bool,
}

impl Loaded {
    pub(super) fn parse(json: &str) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Said {
            tests: Option<Vec<Declared>>,
            problem: Option<SaidProblem>,
        }
        let said: Said = ours(json)?;
        match (said.tests, said.problem) {
            (Some(tests), _) => Ok(Self { tests }),
            (None, Some(problem)) => Err(problem.problem()),
            (None, None) => Err(Problem::new(
                ErrorCode::InternalError,
                "the prelude reported no tests",
            )),
        }
    }

    /// The tests with their ids.
    pub(super) fn tests(&self, file: &str) -> Result<Vec<CollectedTest>, Problem> {
        let mut lines = BTreeMap::new();
        let mut tests = Vec::new();
        for declared in &self.tests {
            let test = declared.collected(file)?;
            if let Some(line) = lines.insert(test.title_path.clone(), test.line) {
                let message = format!(
                    "two tests are called \"{}\" (the other is at line {line}); give each its own title",
                    test.title_path.join(" > ")
                );
                return Err(declared.refused(message));
            }
            tests.push(test);
        }
        Ok(tests)
    }

    /// The place of `test_id` in the order of declaration.
    pub(super) fn index_of(&self, file: &str, test_id: &str) -> Result<usize, Problem> {
        self.tests.iter().position(|declared| id::test_id(file, &declared.title_path).as_str() == test_id).ok_or_else(|| {
            let message = format!(
                "`{file}` declares no test `{test_id}` here though it did when it was collected; titles must not depend on time, randomness or secrets"
            );
            Problem::new(ErrorCode::CollectionError, message)
        })
    }
}

impl Declared {
    fn collected(&self, file: &str) -> Result<CollectedTest, Problem> {
        let title_path: Vec<String> = self
            .title_path
            .iter()
            .map(|title| id::title(title))
            .collect::<Result<_, _>>()
            .map_err(|message| self.refused(message))?;
        Ok(CollectedTest {
            id: id::test_id(file, &title_path).0,
            title_path,
            line: self.place.as_ref().map_or(0, |place| place.line),
            tags: self.tags.clone(),
            timeout_ms: self.timeout_ms,
            retries: self.retries,
            agents: self.agents.clone(),
            skip: self.skip.clone(),
            only: self.only,
        })
    }

    fn refused(&self, message: String) -> Problem {
        Problem {
            place: self.place.clone(),
            ..Problem::new(ErrorCode::CollectionError, message)
        }
    }
}

/// A test that ran.
pub(super) struct Ran {
    pub(super) outcome: TestOutcome,
    pub(super) secondary: Vec<Problem>,
}

impl Ran {
    pub(super) fn parse(json: &str) -> Result<Self, Problem> {
        #[derive(Deserialize)]
        struct Said {
            outcome: Outcome,
            secondary: Vec<SaidProblem>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", tag = "is")]
        enum Outcome {
            Passed,
            Failed { problem: SaidProblem },
            Skipped { reason: String },
        }
        let said: Said = ours(json)?;
        let outcome = match said.outcome {
            Outcome::Passed => TestOutcome::Passed {},
            Outcome::Failed { problem } => TestOutcome::Failed {
                problem: problem.problem(),
            },
            Outcome::Skipped { reason } => TestOutcome::Skipped { reason },
        };
        Ok(Self {
            outcome,
            secondary: said
                .secondary
                .into_iter()
                .map(SaidProblem::problem)
                .collect(),
        })
    }
}

/// A problem as the prelude spells it: any code, since tests may make errors of their own.
#[derive(Deserialize)]
struct SaidProblem {
    code: String,
    message: String,
    place: Option<Place>,
    expected: Option<String>,
    actual: Option<String>,
    #[serde(default)]
    near: Vec<String>,
    /// What it happened in, innermost first.
    #[serde(default)]
    wraps: Vec<Wrap>,
}

/// Gives a failure of the test a code of its own; one of the machine stays the machine's.
#[derive(Deserialize)]
struct Wrap {
    code: String,
    /// E.g. `afterEach()`.
    what: String,
}

impl SaidProblem {
    fn problem(self) -> Problem {
        let parse = |code: &str| ErrorCode::parse(code).unwrap_or(ErrorCode::Error);
        let mut code = parse(&self.code);
        let mut message = self.message;
        for wrap in self.wraps {
            let shown = if code == ErrorCode::Error || code.class() != Class::Test {
                String::new()
            } else {
                format!("{code}: ")
            };
            message = format!("{}: {shown}{message}", wrap.what);
            if code.class() == Class::Test {
                code = parse(&wrap.code);
            }
        }
        Problem {
            code,
            message: cut(message),
            place: self.place,
            expected: self.expected,
            actual: self.actual,
            near: self.near,
        }
    }
}

fn cut(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        let mut end = MAX_MESSAGE - '…'.len_utf8();
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        message.push('…');
    }
    message
}

fn ours<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Problem> {
    serde_json::from_str(json).map_err(|error| {
        Problem::new(
            ErrorCode::InternalError,
            format!("the prelude's report is malformed: {error}"),
        )
    })
}

/// What any failure to load is: COLLECTION_ERROR, unless it is of a class of its own.
pub(super) fn collection_error(file: &str, problem: Problem) -> Problem {
    if problem.class() != Class::Test && problem.code != ErrorCode::UnsupportedCapability {
        return problem;
    }
    let message = match problem.code {
        ErrorCode::Error | ErrorCode::TestTimeout | ErrorCode::UnsupportedCapability => {
            problem.message
        }
        code => format!("{code}: {}", problem.message),
    };
    let place = problem.place.unwrap_or(Place {
        file: file.to_owned(),
        line: 1,
        column: 0,
    });
    Problem {
        code: ErrorCode::CollectionError,
        message,
        place: Some(place),
        ..problem
    }
}
