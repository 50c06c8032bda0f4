//! muster-agent-node
