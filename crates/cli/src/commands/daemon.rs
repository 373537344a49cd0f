use std::{
    io::{self, Write},
    net::SocketAddr,
};

use clap::Parser;
use takt_daemon::{Options, SOCKET, log, serve};

use crate::{
    args::Output,
    exit::Exit,
    print::{self, Failure},
};

const NOTES: &str = "\
Examples:
  taktd
  taktd --metrics
  systemctl enable --now taktd
  TAKT_LOG=debug taktd

Runs in the foreground until SIGINT or SIGTERM, as root; one for the whole host.
SIGHUP makes it look at the policy in force and its devices again. Listens on
/run/taktd/socket: `takt background add`, `takt run --background`, and one JSON
object a line (docs/background.md); on /run/taktd/varlink in varlink
(io.takt.Daemon). Logs to the journal under systemd, otherwise to standard error.

Environment:
  TAKT_LOG  a level (off, error, warn, info, debug, trace; default info), or levels
            of modules, such as warn,takt_daemon::devices=debug

Exit codes:
  0  done
  1  failed, or another taktd is running
  2  the arguments are wrong
  3  the kernel or the privileges lack something";

/// Serves devices that return, and programs that have no privileges.
#[derive(Debug, Parser)]
#[command(name = "taktd", version, after_help = NOTES)]
pub struct Daemon {
    /// Serve metrics for Prometheus over HTTP at this address and path /metrics. Every program
    /// that reaches the address may read them; without an address only those of this host.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true,
          default_missing_value = METRICS)]
    metrics: Option<SocketAddr>,
}

/// On the loopback device.
const METRICS: &str = "127.0.0.1:9815";

/// The program under its other name.
pub fn run() -> Exit {
    let Daemon { metrics } = Daemon::parse();
    if let Err(error) = log::start() {
        let failure = Failure::plain(Exit::Invalid, error.to_string());
        return print::refused_by("taktd", Output::Text, failure);
    }
    takt_host::raise_limit();
    let ready = || {
        let _ = writeln!(io::stdout(), "taktd: listening on {SOCKET}");
        if let Some(at) = metrics {
            let _ = writeln!(io::stdout(), "taktd: metrics at http://{at}/metrics");
        }
    };
    match serve(&Options { metrics }, ready) {
        Ok(()) => Exit::Done,
        Err(error) => print::refused_by("taktd", Output::Text, &error),
    }
}
