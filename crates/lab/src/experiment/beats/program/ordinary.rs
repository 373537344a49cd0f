//! The work of ordinary threads.

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};

use super::work::Work;
use crate::experiment::beats::clock::now_ns;
use crate::experiment::beats::script::{Record, Window};
use crate::experiment::error::{Result, WhileDoing};

/// Computes, and counts the nanoseconds of work done.
pub fn compute(work: Work, window: Window) -> Record {
    counted(window, || Ok(work.unit())).unwrap_or_default()
}

/// Sends a byte to a partner and back; round trips are counted.
pub fn pipes(window: Window) -> Result<Record> {
    let (mut from_partner, to_me) = pipe().doing("open a pipe")?;
    let (from_me, mut to_partner) = pipe().doing("open a pipe")?;
    std::thread::scope(|scope| {
        scope.spawn(move || echo(from_me, to_me));
        let counted = counted(window, || {
            let mut byte = [0];
            to_partner.write_all(&byte).doing("write to a pipe")?;
            from_partner
                .read_exact(&mut byte)
                .doing("read from a pipe")?;
            Ok(1)
        });
        // The partner ends when the pipe has no writer any more.
        drop(to_partner);
        counted
    })
}

fn echo(mut from: PipeReader, mut to: PipeWriter) {
    let mut byte = [0];
    while from.read_exact(&mut byte).is_ok() && to.write_all(&byte).is_ok() {}
}

/// The longest system calls that ordinary programs make; HiTactix measured its own system's
/// (table 3).
pub fn strain(window: Window) -> Result<Record> {
    const MAPPED_BYTES: usize = 4 << 20;
    let mut zeros = std::fs::File::open("/dev/zero").doing("open /dev/zero")?;
    counted(window, || {
        let mut pages = vec![0_u8; MAPPED_BYTES];
        zeros.read_exact(&mut pages).doing("read /dev/zero")?;
        drop(pages);
        let status = std::process::Command::new("/bin/true")
            .status()
            .doing("start a process")?;
        Ok(u64::from(status.success()))
    })
}

/// Repeats something, and sums up its results within the window.
pub fn counted(window: Window, mut something: impl FnMut() -> Result<u64>) -> Result<Record> {
    let mut done = 0;
    loop {
        let amount = something()?;
        let now_ns = now_ns();
        if now_ns >= window.end_ns {
            return Ok(Record {
                done,
                ..Record::default()
            });
        }
        if window.contains(now_ns) {
            done += amount;
        }
    }
}
