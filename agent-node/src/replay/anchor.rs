//! What tells that a goal was reached: things that appeared and stayed, things that went.
