//! Tests with more than decisions: recordings in CI; a real API server and a real kernel by hand. One
//! program, since each one costs a minute of compiling.

mod apiserver;
#[path = "../../../fleet/tests/fleet/common.rs"]
mod common;
mod lab;
mod played;
mod recorded;
