//! Lines on standard error: one for each thing that happened, and few of a flood.

use std::{
    env,
    io::{self, Write},
    time::Instant,
};

use takt_keys::{Bucket, Rate};

/// Lines: a burst, and then one in so many seconds.
const LINES: Rate = Rate::new(2_000_000_000, 50);

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Refused, or taken back.
    Error,
    /// It goes on, with less.
    Warning,
    /// It goes on.
    Info,
}

/// Where an agent tells what happens.
#[derive(Debug)]
pub struct Log {
    is_quiet: bool,
    /// systemd reads a level in front of each line.
    has_levels: bool,
    began: Instant,
    bucket: Bucket,
    left_out: u64,
}

impl Log {
    /// On standard error.
    pub fn stderr() -> Self {
        Self {
            is_quiet: false,
            has_levels: env::var_os("JOURNAL_STREAM").is_some(),
            began: Instant::now(),
            bucket: Bucket::default(),
            left_out: 0,
        }
    }

    /// Nowhere: for stand-ins.
    pub fn quiet() -> Self {
        Self {
            is_quiet: true,
            ..Self::stderr()
        }
    }

    /// One line.
    pub fn tell(&mut self, level: Level, text: &str) {
        if self.is_quiet {
            return;
        }
        let now_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        if !self.bucket.take(&LINES, now_ns) {
            self.left_out += 1;
            return;
        }
        let prefix = match (self.has_levels, level) {
            (false, _) => "",
            (true, Level::Error) => "<3>",
            (true, Level::Warning) => "<4>",
            (true, Level::Info) => "<6>",
        };
        let left_out = match std::mem::take(&mut self.left_out) {
            0 => String::new(),
            lines => format!(" ({lines} lines before this one were left out)"),
        };
        // Others' bytes may be in it.
        let text: String = text
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        // Without a reader nothing is lost.
        let _ = writeln!(io::stderr(), "{prefix}takt-fleet: {text}{left_out}");
    }
}
