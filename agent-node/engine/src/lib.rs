//! muster-engine
