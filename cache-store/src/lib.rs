//! muster-cache-store
