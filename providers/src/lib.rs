//! muster-providers
