//! muster-suite
