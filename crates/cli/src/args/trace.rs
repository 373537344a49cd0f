//! `takt trace`

use std::{path::PathBuf, time::Duration};

use clap::Args;

use super::span;

#[derive(Debug, Args)]
pub struct Trace {
    /// The output file. An existing file of yours is replaced once the trace is complete.
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    /// The duration, from 1s to 60s; Ctrl-C stops it sooner.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    pub duration: Duration,
    /// The sampling interval, from 10ms to 1s.
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = interval)]
    pub interval: Duration,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = span(text)?;
    if (Duration::from_secs(1)..=Duration::from_secs(60)).contains(&duration) {
        Ok(duration)
    } else {
        Err("write a time from 1s to 60s, such as 5s".to_owned())
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = span(text)?;
    if (Duration::from_millis(10)..=Duration::from_secs(1)).contains(&interval) {
        Ok(interval)
    } else {
        Err("write a time from 10ms to 1s, such as 50ms".to_owned())
    }
}
