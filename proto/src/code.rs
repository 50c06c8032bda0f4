//! Error codes: each has a class, hence an exit code, and a page in `docs/errors/`.
//!
//! The set is closed. A model may propose only the codes of [`ErrorCode::model_may_pick`]; a
//! verdict may be `blocked` only with a code that has a [`Blocked`] category.

use serde::{Deserialize, Serialize};

/// Who has to act on a failure. The class alone decides the exit code and whether a retry counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// The product, or the test's idea of it. Exit 1; the only class that consumes a retry.
    Test,
    /// What the user wrote or configured. Exit 2; never retried.
    Configuration,
    /// Machines, networks, vendors. Exit 3; requeued, never a product failure.
    Infrastructure,
    /// Our own broken invariant. Exit 4.
    Internal,
    /// Somebody stopped the run. Exit 130.
    Interrupted,
}

impl Class {
    /// The process exit code for a run whose worst failure is of this class.
    pub const fn exit_code(self) -> u8 {
        match self {
            Class::Test => 1,
            Class::Configuration => 2,
            Class::Infrastructure => 3,
            Class::Internal => 4,
            Class::Interrupted => 130,
        }
    }
}

/// Why no product verdict could be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocked {
    /// A credential or secret is missing or was rejected.
    Credentials,
    /// Something beyond the app is down.
    Environment,
    /// Data that the test needs is absent.
    SeedData,
    /// A prerequisite outside the product is not met.
    TestSetup,
    /// The automation itself can't go on.
    Automation,
}

macro_rules! codes {
    ($( $(#[$doc:meta])* $variant:ident = $text:literal, $class:ident, $blocked:expr, $model:literal; )*) => {
        /// A stable error code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum ErrorCode { $( $(#[$doc])* #[serde(rename = $text)] $variant, )* }

        impl ErrorCode {
            /// Every code, in the order of declaration.
            pub const ALL: &'static [ErrorCode] = &[ $( ErrorCode::$variant, )* ];

            /// The code as it is written everywhere: `UPPER_SNAKE`.
            pub const fn as_str(self) -> &'static str {
                match self { $( ErrorCode::$variant => $text, )* }
            }

            /// The class, which alone decides exit code and retry.
            pub const fn class(self) -> Class {
                match self { $( ErrorCode::$variant => Class::$class, )* }
            }

            /// The category of a blocked verdict, or `None` where the code can't block.
            pub const fn blocked(self) -> Option<Blocked> {
                match self { $( ErrorCode::$variant => $blocked, )* }
            }

            /// Whether a model or executor may name this code in its verdict.
            pub const fn model_may_pick(self) -> bool {
                match self { $( ErrorCode::$variant => $model, )* }
            }
        }
    };
}

use Blocked::{Automation, Credentials, Environment, SeedData, TestSetup};

codes! {
    // What a step can end with.
    /// A credential is not configured, or too short to protect.
    AuthCredentialUnavailable = "AUTH_CREDENTIAL_UNAVAILABLE", Configuration, Some(Credentials), true;
    /// The app rejected a configured credential.
    AuthCredentialInvalid = "AUTH_CREDENTIAL_INVALID", Configuration, Some(Credentials), true;
    /// A secret is missing, undeclared or too short.
    SecretUnavailable = "SECRET_UNAVAILABLE", Configuration, Some(Credentials), true;
    /// Something beyond the app is down.
    EnvironmentUnavailable = "ENVIRONMENT_UNAVAILABLE", Infrastructure, Some(Environment), true;
    /// The app's address is dead, or its command died.
    AppUnreachable = "APP_UNREACHABLE", Infrastructure, Some(Environment), true;
    /// The app's address answered before its command was started.
    AppAlreadyRunning = "APP_ALREADY_RUNNING", Infrastructure, Some(Environment), false;
    /// Data that the test needs is absent.
    SeedDataMissing = "SEED_DATA_MISSING", Configuration, Some(SeedData), true;
    /// A prerequisite outside the product is not met.
    TestSetupFailed = "TEST_SETUP_FAILED", Configuration, Some(TestSetup), true;
    /// A step ran before the app was opened.
    AppNotOpen = "APP_NOT_OPEN", Test, Some(TestSetup), true;
    /// The harness refused an action.
    PolicyDenied = "POLICY_DENIED", Configuration, Some(TestSetup), true;
    /// No model is configured for a step that needs one. Stops the run once.
    ModelUnavailable = "MODEL_UNAVAILABLE", Configuration, Some(Automation), false;
    /// The interaction is outside what the executor can do.
    AutomationUnsupported = "AUTOMATION_UNSUPPORTED", Test, Some(Automation), true;
    /// The step's model calls, decisions or actions are spent.
    StepBudgetExhausted = "STEP_BUDGET_EXHAUSTED", Test, Some(Automation), false;
    /// The step's time is up.
    StepTimeout = "STEP_TIMEOUT", Test, Some(Automation), false;
    /// The prompt is over the model's window.
    ContextOverflow = "CONTEXT_OVERFLOW", Test, Some(Automation), false;
    /// The runner cancelled the step.
    Cancelled = "CANCELLED", Infrastructure, None, false;
    /// The model's vendor did not answer.
    ModelProviderFailed = "MODEL_PROVIDER_FAILED", Infrastructure, None, false;
    /// The model's or executor's answer breaks its schema.
    ModelOutputInvalid = "MODEL_OUTPUT_INVALID", Test, None, false;
    /// Signing in failed as product behaviour.
    AuthenticationFailed = "AUTHENTICATION_FAILED", Test, None, true;
    /// No element matches.
    LocatorNotFound = "LOCATOR_NOT_FOUND", Test, None, false;
    /// More than one element matches.
    LocatorAmbiguous = "LOCATOR_AMBIGUOUS", Test, None, false;
    /// An action could not be done, or may have been done in part.
    ActionFailed = "ACTION_FAILED", Test, None, true;
    /// A check did not hold.
    AssertionFailed = "ASSERTION_FAILED", Test, None, true;
    /// A judgment reached no verdict.
    AssertionInconclusive = "ASSERTION_INCONCLUSIVE", Test, None, false;
    /// The executor ended without a verdict.
    StepNoConclusion = "STEP_NO_CONCLUSION", Test, None, false;
    // What a test can end with.
    /// The test's time is up.
    TestTimeout = "TEST_TIMEOUT", Test, None, false;
    /// A step was still running when the test's body returned.
    StepNotAwaited = "STEP_NOT_AWAITED", Test, None, false;
    /// A promise was rejected and nobody looked.
    UnhandledRejection = "UNHANDLED_REJECTION", Test, None, false;
    /// A hook threw.
    HookFailed = "HOOK_FAILED", Test, None, false;
    /// A script in the page threw.
    EvaluateFailed = "EVALUATE_FAILED", Test, None, false;
    /// A step was called with what it doesn't take.
    InvalidArgument = "INVALID_ARGUMENT", Test, None, false;
    /// A locator is malformed.
    InvalidLocator = "INVALID_LOCATOR", Test, None, false;
    /// The test threw something else.
    Error = "ERROR", Test, None, false;
    // What a run can end with.
    /// There is no `muster.toml`.
    ConfigNotFound = "CONFIG_NOT_FOUND", Configuration, None, false;
    /// `muster.toml` can't be read or holds what it may not.
    InvalidConfig = "INVALID_CONFIG", Configuration, None, false;
    /// The app's address is not one.
    InvalidAppUrl = "INVALID_APP_URL", Configuration, None, false;
    /// The named target is not configured.
    UnknownTarget = "UNKNOWN_TARGET", Configuration, None, false;
    /// The node or browser lacks what the step needs.
    UnsupportedCapability = "UNSUPPORTED_CAPABILITY", Configuration, None, false;
    /// The selection is empty.
    NoTests = "NO_TESTS", Configuration, None, false;
    /// There is no earlier report to rerun from.
    NoLastRun = "NO_LAST_RUN", Configuration, None, false;
    /// A focused test on a build machine.
    OnlyInCi = "ONLY_IN_CI", Configuration, None, false;
    /// A test file does not load.
    CollectionError = "COLLECTION_ERROR", Configuration, None, false;
    /// A file holds a secret's value or may not be packed.
    SecretInBundle = "SECRET_IN_BUNDLE", Configuration, None, false;
    /// No browser, or it doesn't start.
    BrowserUnavailable = "BROWSER_UNAVAILABLE", Infrastructure, None, false;
    /// The browser died.
    BrowserCrashed = "BROWSER_CRASHED", Infrastructure, None, false;
    /// The test worker died or broke its protocol.
    WorkerCrashed = "WORKER_CRASHED", Infrastructure, None, false;
    /// The unit lost its node too often.
    NodeLost = "NODE_LOST", Infrastructure, None, false;
    /// No node has what the unit needs.
    Unschedulable = "UNSCHEDULABLE", Infrastructure, None, false;
    /// The coordinator can't be reached.
    CoordinatorUnavailable = "COORDINATOR_UNAVAILABLE", Infrastructure, None, false;
    /// The listener's address is taken or may not be used.
    ListenRefused = "LISTEN_REFUSED", Configuration, None, false;
    /// A report can't be written.
    ReportWriteFailed = "REPORT_WRITE_FAILED", Infrastructure, None, false;
    /// A recording or its store can't be read.
    CacheUnavailable = "CACHE_UNAVAILABLE", Infrastructure, None, false;
    /// Our own broken invariant.
    InternalError = "INTERNAL_ERROR", Internal, None, false;
    /// Somebody stopped the run.
    Interrupted = "INTERRUPTED", Interrupted, None, false;
}

impl ErrorCode {
    /// Codes that only the runner may set, and only when it recorded the condition itself.
    pub const fn runtime_only(self) -> bool {
        matches!(
            self,
            ErrorCode::StepBudgetExhausted | ErrorCode::StepTimeout | ErrorCode::Cancelled
        )
    }

    /// The code that is written `text`, if there is one.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_never_picks_a_runtime_code() {
        for code in ErrorCode::ALL {
            assert!(!(code.runtime_only() && code.model_may_pick()), "{code}");
            assert_eq!(ErrorCode::parse(code.as_str()), Some(*code));
        }
    }
}
