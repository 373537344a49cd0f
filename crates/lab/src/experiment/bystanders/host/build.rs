//! As a compile: short processes that start others, compute, write a file and end; one more at a
//! time than there are processors.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::experiment::beats::now_ns;
use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};

const DIRECTORY: &str = "/lab/build";

/// A shell that starts two programs, as a compiler's driver does. The first computes for about
/// 25 ms.
fn script(job: usize) -> String {
    let sum = "BEGIN { for (i = 0; i < 6000; i++) sum += i * i; print sum }";
    let file = format!("{DIRECTORY}/{job}");
    format!("busybox awk '{sum}' > {file}.s && busybox cp {file}.s {file}.o")
}

/// Nanoseconds until all jobs are done.
pub fn run(cpus: usize, short: bool) -> Result<u64> {
    let jobs = if short { 8 } else { 30 };
    std::fs::create_dir_all(Path::new(DIRECTORY)).doing("create a directory")?;
    let next = AtomicUsize::new(0);
    let started_ns = now_ns();
    std::thread::scope(|scope| {
        let makers: Vec<_> = (0..=cpus)
            .map(|_| scope.spawn(|| make(&next, jobs)))
            .collect();
        makers.into_iter().try_for_each(|maker| match maker.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(now_ns() - started_ns)
}

/// One job after another, until none is left.
fn make(next: &AtomicUsize, jobs: usize) -> Result<()> {
    loop {
        let job = next.fetch_add(1, Ordering::Relaxed);
        if job >= jobs {
            return Ok(());
        }
        command::run("sh", &["-c", &script(job)])?;
    }
}
