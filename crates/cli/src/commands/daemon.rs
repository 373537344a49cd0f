use std::io::{self, Write};

use clap::Parser;

use crate::{args::Output, exit::Exit, print};

const NOTES: &str = "\
Examples:
  taktd
  systemctl enable --now taktd

Runs in the foreground until SIGINT or SIGTERM, as root; one for the whole host.
Listens on /run/taktd/socket: `takt background add`, `takt run --background`, and
one JSON object a line (docs/background.md).

Exit codes:
  0  done
  1  failed, or another taktd is running
  2  the arguments are wrong
  3  the kernel or the privileges lack something";

/// Serves devices that return, and programs that have no privileges.
#[derive(Debug, Parser)]
#[command(name = "taktd", version, after_help = NOTES)]
pub struct Daemon {}

/// The program under its other name.
pub fn run() -> Exit {
    let Daemon {} = Daemon::parse();
    takt_host::raise_limit();
    let ready = || {
        let _ = writeln!(io::stdout(), "taktd: listening on {}", takt_daemon::SOCKET);
    };
    match takt_daemon::serve(ready) {
        Ok(()) => Exit::Done,
        Err(error) => print::refused_by("taktd", Output::Text, &error),
    }
}
