//! muster-coordinator
