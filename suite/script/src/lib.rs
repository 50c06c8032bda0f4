//! muster-script
