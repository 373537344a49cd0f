//! Programs that user space runs.

use std::os::fd::{AsRawFd, BorrowedFd};

use takt_algo::Plain;

/// Run a program of type `syscall` on these arguments.
pub(crate) fn run<T: Plain>(program: BorrowedFd, args: &mut T) -> Result<(), libbpf_rs::Error> {
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        ctx_in: (&raw mut *args).cast(),
        ctx_size_in: size_of::<T>() as u32,
        ..Default::default()
    };
    // SAFETY: a live program and options that describe `args`.
    let result = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut options) };
    match result {
        0.. => Ok(()),
        _ => Err(libbpf_rs::Error::from_raw_os_error(-result)),
    }
}
