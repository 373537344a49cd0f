//! Structs of integers that cross into kernel maps.

// One reason holds for all of them; it precedes the first.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};

use crate::sys;

/// A C struct of integers and arrays of them.
///
/// # Safety
/// Every bit pattern, all zeroes included, is a valid value, and the type has no padding that
/// is ever read.
pub unsafe trait Plain: Sized {}

// SAFETY: generated from algo/, where such structs hold integers only and
// spell out their padding.
unsafe impl Plain for sys::takt_commit_args {}
unsafe impl Plain for sys::takt_question {}
unsafe impl Plain for sys::takt_answer {}
unsafe impl Plain for sys::takt_rules {}
unsafe impl Plain for sys::takt_watch {}
unsafe impl Plain for sys::takt_clear_args {}
unsafe impl Plain for sys::takt_destination {}
unsafe impl Plain for sys::takt_registration {}
unsafe impl Plain for sys::takt_registry {}
unsafe impl Plain for sys::takt_link {}
unsafe impl Plain for sys::takt_departures {}
unsafe impl Plain for sys::takt_edt_classes {}
unsafe impl Plain for sys::takt_activity {}
unsafe impl Plain for sys::takt_paced_link {}
unsafe impl Plain for sys::takt_paced_class {}
unsafe impl Plain for sys::takt_paced_report {}
unsafe impl Plain for sys::takt_shared_params {}
unsafe impl Plain for sys::takt_stations {}
unsafe impl Plain for sys::takt_uploads {}
unsafe impl Plain for sys::takt_entity {}
unsafe impl Plain for sys::takt_flow {}
unsafe impl Plain for sys::takt_blocked {}
unsafe impl Plain for sys::takt_gap {}
unsafe impl Plain for sys::takt_plan {}
unsafe impl Plain for sys::takt_calendar {}
unsafe impl Plain for sys::takt_shelf {}
unsafe impl Plain for sys::takt_table {}
unsafe impl Plain for sys::takt_task {}
unsafe impl Plain for sys::takt_task_params {}
unsafe impl Plain for sys::takt_member {}
unsafe impl Plain for sys::takt_member_rule {}
unsafe impl Plain for sys::takt_cpu {}
unsafe impl Plain for sys::takt_beats {}
unsafe impl Plain for sys::takt_join_args {}
unsafe impl Plain for sys::takt_beats_commit_args {}
unsafe impl Plain for sys::takt_calibrate_args {}
// SAFETY: as above.
unsafe impl Plain for sys::takt_crowd {}
unsafe impl Plain for sys::takt_crowd_group {}
unsafe impl Plain for sys::takt_crowd_terminal {}
unsafe impl Plain for sys::takt_crowd_downloads {}
unsafe impl Plain for sys::takt_monitor_sample {}
unsafe impl Plain for sys::takt_monitor_event {}

/// An all-zero value on the heap; these structs are too large for a stack.
pub fn zeroed_box<T: Plain>() -> Box<T> {
    let layout = Layout::new::<T>();
    // SAFETY: no Plain type is zero-sized; zeroes are a valid value; the
    // allocation has T's own layout, as Box will free it.
    unsafe {
        let memory = alloc_zeroed(layout).cast::<T>();
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Box::from_raw(memory)
    }
}

/// The value as the kernel stores it.
pub fn to_bytes<T: Plain>(value: &T) -> &[u8] {
    // SAFETY: T is integers only, so all of its bytes are initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// A value read from the kernel; `None` if its size differs from this program's.
pub fn from_bytes<T: Plain>(bytes: &[u8]) -> Option<Box<T>> {
    // A map's value is rounded up to eight bytes.
    if bytes.len() < size_of::<T>() || bytes.len() >= size_of::<T>() + 8 {
        return None;
    }
    let mut value = zeroed_box::<T>();
    // SAFETY: both sides span size_of::<T>() bytes and do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(
            bytes.as_ptr(),
            std::ptr::from_mut(&mut *value).cast(),
            size_of::<T>(),
        );
    }
    Some(value)
}
