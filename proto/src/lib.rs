//! muster-proto
