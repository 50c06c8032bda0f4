//! Whether two recordings are the same flow.

use muster_proto::recording::Recording;

/// Whether the flows are the same: then nothing is rewritten, and committed folders stay as they
/// are. What an executor said, measured waits, timing marks and who recorded don't count.
pub fn same_flow(a: &Recording, b: &Recording) -> bool {
    a.schema == b.schema
        && a.actions
            .iter()
            .map(|each| &each.action)
            .eq(b.actions.iter().map(|each| &each.action))
        && a.start_route == b.start_route
        && a.end_route == b.end_route
        && a.appeared == b.appeared
        && a.gone == b.gone
        && a.truncated == b.truncated
}
