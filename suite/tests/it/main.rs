//! The room through its doors.

mod config;
mod select;
