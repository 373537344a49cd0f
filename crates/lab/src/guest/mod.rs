//! The inside of the laboratory: `takt` as the first process of the lab's kernel.
//!
//! The order is that of the files: `mounts` makes the file systems, `modules` loads what the
//! kernel needs, `network` builds the wires, `init` lets another program be the first process,
//! `command` runs the command, and `protocol` carries its output and its status to the host.

mod command;
mod init;
mod modules;
mod mounts;
mod netns;
mod network;
pub(crate) mod protocol;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::reboot::{RebootMode, reboot};
use nix::unistd::sync;

pub use netns::enter_netns;
pub use network::{FAR_DEVICES, Net};
pub(crate) use network::{OFFLOADS, lay_pair};
use protocol::{Frame, Job};

const CHANNEL_WAIT_MAX: Duration = Duration::from_secs(5);

/// A failed step of the guest, and what it was doing.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {source}")]
pub struct Error {
    doing: String,
    source: io::Error,
}

type Result<T> = std::result::Result<T, Error>;

/// Adds to an error what was being done.
trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for std::result::Result<T, E> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| Error {
            doing: what(),
            source: e.into(),
        })
    }
}

/// True when this process is the first one of a lab kernel. Being process 1 is not enough: so
/// is the only process of a container.
pub fn is_init() -> bool {
    std::process::id() == 1 && Path::new(protocol::JOB_FILE).exists()
}

/// Runs the machine's one job and turns the machine off.
pub fn init() -> ! {
    if let Err(e) = run() {
        // There is no channel to the host, or it broke: only the console is left.
        eprintln!("takt lab: {e}");
    }
    sync();
    // Power-off flushes the console, so a late splat still reaches the host.
    let failure = reboot(RebootMode::RB_POWER_OFF);
    // The kernel panics when its first process ends, and the host sees that.
    eprintln!("takt lab: power off: {failure:?}");
    std::process::exit(1)
}

fn run() -> Result<()> {
    mounts::early()?;
    // In Debian 12's kernel the channel's drivers are among them.
    let loaded = modules::load_all();
    let channel = open_channel()?;
    let last = match loaded.and_then(|()| perform(&channel)) {
        Ok(status) => Frame::Exit(status),
        Err(e) => Frame::Failed(e.to_string()),
    };
    last.write_to(&mut &channel)
        .doing(|| "report to the host".into())
}

/// Sets the machine up, runs the command, takes the network down again.
fn perform(channel: &File) -> Result<i32> {
    let job = Job::read()?;
    let network = network::Network::build(job.net)?;
    mounts::late()?;
    if let Some(program) = &job.init {
        init::hand_over(program)?;
    }
    let status = command::run(&job, channel)?;
    // Removing the devices runs every qdisc's destroy path while errors are still caught.
    network.tear_down()?;
    Ok(status)
}

/// Where the driver is a module, the device may come some time after it.
fn open_channel() -> Result<File> {
    let deadline = Instant::now() + CHANNEL_WAIT_MAX;
    while !Path::new(protocol::CHANNEL).exists() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(1));
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .open(protocol::CHANNEL)
        .doing(|| format!("open {}", protocol::CHANNEL))
}
