//! `takt top`

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::span;

#[derive(Debug, Args)]
pub struct Top {
    /// The view to begin with.
    #[arg(value_enum, default_value_t)]
    pub view: View,
    /// The sampling interval, from 100ms to 60s.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Print the view as text, sample after sample, without a terminal; with `--output json` an
    /// object a line. The first sample has no rates.
    #[arg(long)]
    pub batch: bool,
    /// Stop after this many samples.
    #[arg(long, short = 'n', value_name = "COUNT", requires = "batch",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Only rows with this text, ignoring case.
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true
    )]
    pub filter: String,
}

/// A table of the screen, in the order of its keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum View {
    /// The managed links.
    Links,
    /// The classes of all links.
    #[default]
    Classes,
    /// The flows with clocks of their own, of classes with `per_flow`.
    Flows,
    /// The stations of radio links.
    Stations,
    /// The terminals of the crowd, as taktd has heard them.
    Neighbours,
    /// The tasks on the beat.
    Tasks,
    /// TCP flows, as `takt flows` shows them.
    Tcp,
}

pub const INTERVAL_MIN: Duration = Duration::from_millis(100);
pub const INTERVAL_MAX: Duration = Duration::from_secs(60);

fn interval(text: &str) -> Result<Duration, String> {
    let interval = span(text)?;
    if (INTERVAL_MIN..=INTERVAL_MAX).contains(&interval) {
        Ok(interval)
    } else {
        Err("write a time from 100ms to 60s, such as 1s".to_owned())
    }
}
