//! Attacks on what the product does not have yet.

/// Id, what is tried, and what the case waits for.
pub(crate) const PENDING: &[(&str, &str, &str)] = &[
    (
        "A16",
        "the screen claims success while the API fails",
        "checks on network traffic",
    ),
    (
        "A21",
        "the field swaps its type between check and fill",
        "a page that can be held between the two",
    ),
    (
        "A26",
        "the browser offers saved values",
        "`muster doctor` checking the profile",
    ),
    (
        "A27",
        "a one-time code stands on the screen",
        "a case with a seed",
    ),
    (
        "A33",
        "telemetry carries what it should not",
        "a case in the binary's tests",
    ),
    (
        "A34",
        "a recording is edited in its store",
        "signed recordings",
    ),
    (
        "A35",
        "a recording is copied under another key",
        "signed recordings",
    ),
    (
        "A36",
        "a pull request writes what main reads",
        "cache tiers by branch",
    ),
    ("A37", "an old recording is served again", "cache epochs"),
    (
        "A38",
        "a recording holds actions beyond the step's rules",
        "recordings from other machines",
    ),
    (
        "A39",
        "a check that is true before the act verifies it",
        "checks on vacuous verification",
    ),
    (
        "A40",
        "two nodes write one key",
        "recordings from other machines",
    ),
    (
        "A41",
        "a foreign node joins and forges results",
        "enrolment of nodes",
    ),
    (
        "A44",
        "a test escapes its interpreter",
        "the confinement of workers",
    ),
    (
        "A45",
        "a hosted browser is shared between attempts",
        "hosted browsers",
    ),
    ("A50", "page text runs in a report", "reports in HTML"),
];
