//! The rules that hold whatever a page, a model or a peer does. Each has one name, which events,
//! reports and the attack corpus use.
//!
//! [`Guard::holds`] is asked where a rule is enforced. In every build that users get it is true.
//! With the feature `switches`, which only the attack corpus and the canary turn on, one process can
//! lift a guard to show that it is this guard that stops an attack.

macro_rules! guards {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// A rule, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Guard {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Guard {
            /// Every guard, in the order of this file.
            pub const ALL: &'static [Guard] = &[$(Guard::$name,)+];

            /// Its name, e.g. `secret.origin`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Guard::$name => $text,)+
                }
            }
        }
    };
}

guards! {
    /// Comments, `noscript` and hidden text are not on a screen.
    ObserveHidden = "observe.hidden",
    /// A screen is bounded in nodes, bytes and time.
    ObserveBound = "observe.bound",
    /// Text of the app stands between boundaries that it can't write.
    PromptFence = "prompt.fence",
    /// Queries and fragments of addresses stay out of prompts.
    PromptAddress = "prompt.address",
    /// Invisible and direction-changing characters are taken out.
    PromptInvisible = "prompt.invisible",
    /// A call of a tool has a known name, a closed input and a bounded size.
    ToolSchema = "tool.schema",
    /// Only http and https addresses, and those well-formed, are navigated to.
    NavigateScheme = "navigate.scheme",
    /// A goal navigates within the app alone.
    NavigateSite = "navigate.site",
    /// Every connection of a page goes where its policy allows.
    EgressPolicy = "egress.policy",
    /// Metadata addresses, private ranges and Muster's own ports are never reached.
    EgressAddress = "egress.address",
    /// A page has a bounded number of windows.
    WindowBound = "window.bound",
    /// A page that opens dialogs without end is stuck.
    DialogBound = "dialog.bound",
    /// No page is given a permission.
    PermissionDenied = "permission.denied",
    /// Downloads are bounded in number and bytes.
    DownloadBound = "download.bound",
    /// An id that left the screen names nothing.
    TargetStale = "target.stale",
    /// The element itself must receive the pointer at dispatch.
    TargetHit = "target.hit",
    /// Only visible files of the suite's own bundle are uploaded.
    UploadPath = "upload.path",
    /// A secret is filled only where the step declares it and the field takes it.
    SecretFill = "secret.fill",
    /// A secret fits its field: a password only a password field.
    SecretPurpose = "secret.purpose",
    /// A secret is filled only on its origins, by the focused frame's own origin.
    SecretOrigin = "secret.origin",
    /// A secret is filled only where a person would see the field.
    SecretVisible = "secret.visible",
    /// A field that exists twice takes no secret.
    SecretUnique = "secret.unique",
    /// A secret reaches no text, no address and no JSON.
    SecretSink = "secret.sink",
    /// A secret has at least six characters.
    SecretLength = "secret.length",
    /// A value made of a secret (a one-time code, a basic-auth header) is a secret.
    SecretDerived = "secret.derived",
    /// A piece of a secret taints the attempt.
    SecretPiece = "secret.piece",
    /// Known values are taken out of what leaves.
    RedactValue = "redact.value",
    /// Encoded values likewise: base64, hex, escapes, other Unicode forms.
    RedactEncoded = "redact.encoded",
    /// Values that are spread over elements likewise.
    RedactSplit = "redact.split",
    /// Values that are cut at a field's limit likewise.
    RedactCut = "redact.cut",
    /// Values that are spread over writes likewise.
    RedactStream = "redact.stream",
    /// After a secret fill nobody gets pixels.
    PixelsTainted = "pixels.tainted",
    /// Pixels leave only with every secure field masked.
    PixelsMasked = "pixels.masked",
    /// A verdict has a known form and no code that is the harness's own.
    VerdictCode = "verdict.code",
    /// A step spends no more than it was given, by reservation.
    BudgetReserved = "budget.reserved",
    /// A loop that leads nowhere ends.
    LoopStalled = "loop.stalled",
    /// An action is done once, also where its outcome is unknown or it is asked for again.
    ActionOnce = "action.once",
    /// A model's address is one that the node pins.
    ModelAddress = "model.address",
    /// A model's answer is bounded.
    ModelBound = "model.bound",
    /// A peer's messages are bounded and well-formed, or the peer is dead: a browser, a remote executor.
    PeerBound = "peer.bound",
    /// Telemetry carries listed attributes alone.
    TelemetryListed = "telemetry.listed",
}

impl Guard {
    /// Whether the rule is in force.
    #[cfg(not(feature = "switches"))]
    #[inline(always)]
    pub const fn holds(self) -> bool {
        true
    }

    /// Whether the rule is in force in this process.
    #[cfg(feature = "switches")]
    pub fn holds(self) -> bool {
        switches::holds(self)
    }
}

impl std::fmt::Display for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(feature = "switches")]
pub mod switches {
    //! Lifting guards, in builds that exist for showing what each is good for.

    use std::sync::atomic::{AtomicU64, Ordering};

    use super::Guard;

    static LIFTED: AtomicU64 = AtomicU64::new(0);

    const _: () = assert!(Guard::ALL.len() <= 64, "one bit a guard");

    fn bit(guard: Guard) -> u64 {
        1 << guard as u64
    }

    pub(super) fn holds(guard: Guard) -> bool {
        LIFTED.load(Ordering::SeqCst) & bit(guard) == 0
    }

    /// A guard that is lifted for as long as this lives.
    #[derive(Debug)]
    pub struct Lifted(Guard);

    /// Lifts a guard in the whole process.
    pub fn lift(guard: Guard) -> Lifted {
        LIFTED.fetch_or(bit(guard), Ordering::SeqCst);
        Lifted(guard)
    }

    impl Drop for Lifted {
        fn drop(&mut self) {
            LIFTED.fetch_and(!bit(self.0), Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_guard_has_a_name_of_its_own_and_holds() {
        let names: BTreeSet<_> = Guard::ALL.iter().map(|guard| guard.as_str()).collect();
        assert_eq!(names.len(), Guard::ALL.len());
        assert!(Guard::ALL.iter().all(|guard| guard.holds()));
    }
}
