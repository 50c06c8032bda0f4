//! Child processes: each leads a group of its own, and a supervisor kills the groups when we die.
