//! Threads that run until a test is over, however it ends: a thread that waited for a message from
//! a failed test would block its machine for ever.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets the flag when it is dropped.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
