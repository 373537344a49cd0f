//! The outside of the laboratory: a distribution's kernel, booted in an emulator on any Linux
//! machine, with or without KVM.
//!
//! A run goes through the files in this order: `kernels` finds the kernel (`release` decides
//! which, `apt` downloads it) and `emulator` the emulator, `image` packs the programs (`python` a
//! web server) and `modules` the kernel's modules into an initramfs, `machine` boots it and
//! `console` reads the kernel's messages meanwhile. `machine_slot` limits how many run at once.

mod apt;
mod cache;
mod console;
mod emulator;
mod error;
mod image;
mod jack;
mod kernels;
mod libraries;
mod machine;
mod machine_slot;
mod modules;
mod python;
mod release;
mod tool;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

pub use error::Error;
pub use kernels::{Kernel, KernelInfo, ensure, list};
pub use machine::Clock;
pub(crate) use machine_slot::busy_count as machines_at_once;
pub(crate) use release::{DEFAULT_SERIES, NEWEST};

use crate::guest::Net;
use crate::guest::protocol::{Frame, Job};
use emulator::Emulator;
use machine::Machine;
use machine_slot::MachineSlot;
use tool::Tool;

type Result<T> = std::result::Result<T, Error>;

/// A run that takes longer by the host's clock has failed.
pub(crate) const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30 * 60);

/// One command in one fresh machine.
#[derive(Debug, Clone)]
pub struct ExecOptions {
    /// `None` for the default kernel, `newest`, `wireless`, or the beginning of a release.
    pub kernel: Option<String>,
    /// Processors.
    pub smp: u32,
    /// That the processors are in, as many in each.
    pub sockets: u32,
    /// The machine's time.
    pub clock: Clock,
    /// Files for `/add`, with their shared libraries.
    pub add: Vec<PathBuf>,
    /// Whether to add Python's web server.
    pub(crate) web_server: bool,
    /// What the command finds.
    pub net: Net,
    /// Additional arguments of the kernel.
    pub kernel_arguments: Vec<String>,
    /// A program that becomes the first process once the network stands, such as a service
    /// manager.
    pub init: Option<OsString>,
    command: Vec<OsString>,
    /// Of the host's time: a run that takes longer has failed.
    pub timeout: Duration,
    /// A plugin of the emulator's, with its arguments.
    pub(crate) plugin: Option<OsString>,
}

impl ExecOptions {
    /// `command` on the default kernel and network, with virtual time.
    pub fn new(command: impl IntoIterator<Item = impl Into<OsString>>) -> ExecOptions {
        ExecOptions {
            kernel: None,
            smp: 1,
            sockets: 1,
            clock: Clock::Virtual,
            add: Vec::new(),
            web_server: false,
            net: Net::default(),
            kernel_arguments: Vec::new(),
            init: None,
            command: command.into_iter().map(Into::into).collect(),
            timeout: TIMEOUT_DEFAULT,
            plugin: None,
        }
    }
}

/// The result of a command.
#[derive(Debug, Clone)]
pub(crate) struct Captured {
    /// The command's exit status, 128 + n after signal n.
    pub status: i32,
    pub stdout: Vec<u8>,
}

/// The paths of those rt-tests programs on this machine that an experiment needs.
pub(crate) fn rt_tests() -> Result<Vec<PathBuf>> {
    [tool::CYCLICTEST, tool::HACKBENCH]
        .iter()
        .map(Tool::path)
        .collect()
}

/// nftables' program on this machine.
pub(crate) fn nft() -> Result<PathBuf> {
    tool::NFT.path()
}

/// The files of JACK on this machine that an experiment needs.
pub(crate) fn jack() -> Result<Vec<PathBuf>> {
    jack::files()
}

/// Runs the command with its output as this process's; returns its exit status.
pub fn exec(options: &ExecOptions) -> Result<i32> {
    let kernel = ensure(options.kernel.as_deref())?;
    let emulator = emulator::ensure()?;
    run(
        options,
        &kernel,
        &emulator,
        &mut io::stdout().lock(),
        &mut io::stderr(),
    )
}

/// Runs the command and keeps its standard output; its standard error goes to `stderr`.
pub(crate) fn capture(options: &ExecOptions, stderr: &mut dyn Write) -> Result<Captured> {
    let kernel = ensure(options.kernel.as_deref())?;
    let emulator = emulator::ensure()?;
    let mut stdout = Vec::new();
    let status = run(options, &kernel, &emulator, &mut stdout, stderr)?;
    Ok(Captured { status, stdout })
}

fn run(
    options: &ExecOptions,
    kernel: &Kernel,
    emulator: &Emulator,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<i32> {
    if options.command.is_empty() {
        return Err(Error::NoCommand);
    }
    let job = Job {
        command: options.command.clone(),
        net: options.net,
        init: options.init.clone(),
        term: std::env::var_os("TERM"),
    };
    let web_server = options
        .web_server
        .then(python::WebServer::find)
        .transpose()?;
    let initramfs = image::build(kernel, &job, &options.add, web_server.as_ref())?;
    let slot = MachineSlot::take()?;
    machine::run(
        emulator,
        kernel,
        &initramfs,
        &Machine {
            smp: options.smp,
            sockets: options.sockets,
            clock: options.clock,
            outside: options.net == Net::Outside,
            kernel_arguments: &options.kernel_arguments,
            timeout: options.timeout,
            plugin: options.plugin.as_deref(),
        },
        &slot,
        &mut |frame| match frame {
            Frame::Stdout(bytes) => stdout.write_all(&bytes).and_then(|()| stdout.flush()),
            Frame::Stderr(bytes) => stderr.write_all(&bytes),
            Frame::Exit(_) | Frame::Failed(_) => Ok(()),
        },
    )
}
