//! `takt flows`

use std::{net::IpAddr, path::PathBuf, time::Duration};

use clap::{ArgGroup, Args, Subcommand};

use super::span;

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("going-on").args(["watch", "record"]).multiple(true)))]
pub struct Flows {
    #[command(subcommand)]
    pub command: Option<FlowsCommand>,
    /// Keep running until Ctrl-C, and show events; with `--output json` the lines of a recording.
    #[arg(long)]
    pub watch: bool,
    /// Write samples and events to this file, a JSON object a line, until Ctrl-C.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// The sampling interval, from 10ms to 3600s. Events have their own timestamps.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = interval)]
    pub interval: Duration,
    /// Stop after this time.
    #[arg(long, value_name = "TIME", value_parser = span, requires = "going-on")]
    pub duration: Option<Duration>,
    /// Only flows with this port at either end; may be repeated.
    #[arg(long, value_name = "PORT")]
    pub port: Vec<u16>,
    /// Only flows with this IP address at either end; may be repeated.
    #[arg(long, value_name = "ADDR")]
    pub address: Vec<IpAddr>,
    /// Only flows of processes of this name (15 bytes of it at most); may be repeated.
    #[arg(long, value_name = "NAME")]
    pub application: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub enum FlowsCommand {
    /// Draw a recording: a page with windows, round trips and events over time.
    #[command(after_help = "Example:\n  takt flows plot upload.flows --out upload.html")]
    Plot {
        /// The recording.
        file: PathBuf,
        /// The page, a single file without external resources [default: the recording's name with
        /// .html].
        #[arg(long, short, value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = span(text)?;
    if (Duration::from_millis(10)..=Duration::from_secs(3600)).contains(&interval) {
        Ok(interval)
    } else {
        Err("write a time from 10ms to 3600s, such as 100ms".to_owned())
    }
}
