//! Threads that go on until a test is over, however it ends: one that waited for the word of a
//! test that has failed would have its machine wait for ever.

use std::sync::atomic::{AtomicBool, Ordering};

/// Says so when it is dropped.
pub struct Over<'a>(pub &'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
