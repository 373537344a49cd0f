//! The emulated machine: starts QEMU, reads its output, and never leaves it behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl;
use nix::sys::signal::Signal;

use super::console::Console;
use super::emulator::Emulator;
use super::error::Doing;
use super::kernels::Kernel;
use super::machine_slot::MachineSlot;
use super::{Error, Result};
use crate::guest::FAR_DEVICES;
use crate::guest::protocol::{CHANNEL_PORT, Frame};

const MEMORY: &str = "2G";
/// A machine whose kernel complained may finish its message, not its job.
const GRACE_AFTER_SPLAT: Duration = Duration::from_secs(10);

const KERNEL_ARGUMENTS: &[&str] = &[
    "rdinit=/init",
    "console=ttyS0",
    // Warnings, but not the chatter.
    "loglevel=5",
    // With -no-reboot: a broken machine ends at once.
    "oops=panic",
    "panic=-1",
    // Randomness and calibration would disturb virtual time.
    "nokaslr",
    // With other addresses in every process the emulator would also translate its code anew, for
    // longer than most programs run.
    "norandmaps",
    "random.trust_cpu=on",
    "tsc=reliable",
    // Tested by the kernel's own developers, and slow in an emulator.
    "no_timer_check",
    "cryptomgr.notests",
];

/// The time in a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// That of the host. All processors are one thread's, which changes between them where one
    /// waits for another.
    Host,
    /// Likewise, with a thread for each: they run at once. Now and then a machine crashes, since
    /// one may run its translation of a breakpoint that the kernel has removed ("Oops: int3").
    HostAtOnce,
    /// One instruction of any processor is one nanosecond, and they take turns of about a
    /// millisecond. Those that are idle have none, so the others are the faster.
    Virtual,
    /// Likewise, in equal turns of microseconds, for figures of several processors. It takes the
    /// host a third longer.
    InTurns,
}

/// All that the emulator has, but fast strings: it copies byte by byte where a kernel or a program
/// takes a processor's word that `rep movsb` is fast.
const CPU: &str = "max,erms=off,fsrm=off,fzrm=off,fsrs=off,fsrc=off";

/// [`Clock::InTurns`]: the longest turn of a processor while others are busy.
const TURN_US: u32 = 10;
/// [`Clock::InTurns`]: the emulator's processors for each one that the kernel is told of. When a
/// timer is due, all give up their turns, and each then gets the same part of what is left until
/// the next one: the more parts there are, the less the first has more than the others. Of two,
/// both have half of the time, and with none to spare the first has 62.5 %.
const PARTS: u32 = 2;

/// How long frames on each cable outside the machine wait at most, in virtual time: the emulator
/// lets all of a cable go at once at multiples of this. Waiting longer than a beat computes,
/// frames also come while their sender has no processor, and prime numbers have no common period
/// with a beat or the tick: frames come at every phase.
const OUTSIDE_INTERVALS_US: [u32; FAR_DEVICES] =
    [6_007, 6_421, 6_833, 7_253, 7_669, 8_081, 8_501, 8_923];
/// After a device is told of a frame, in virtual time. Otherwise the emulator takes it when the
/// host lets it, and no two runs have the same times.
const OUTSIDE_TAKE_NS: u32 = 5_000;

/// A machine's properties, beside its kernel and its files.
pub struct Machine<'a> {
    pub smp: u32,
    /// That the processors are in; a socket has a last-level cache.
    pub sockets: u32,
    pub clock: Clock,
    /// Whether it has network devices of [`Net::Outside`](crate::guest::Net::Outside).
    pub outside: bool,
    /// Additional arguments of the kernel.
    pub kernel_arguments: &'a [String],
    pub timeout: Duration,
    /// A plugin of the emulator's, with its arguments.
    pub plugin: Option<&'a OsStr>,
}

/// Boots the machine in its slot and passes every frame to `sink` until the machine ends.
/// Returns the command's exit status.
pub fn run(
    emulator: &Emulator,
    kernel: &Kernel,
    initramfs: &File,
    machine: &Machine,
    slot: &MachineSlot,
    sink: &mut dyn FnMut(Frame) -> io::Result<()>,
) -> Result<i32> {
    let (host_end, machine_end) = UnixStream::pair().doing(|| "create a socket pair".into())?;
    let arguments = arguments(kernel, initramfs, machine);
    let mut running = Running::start(emulator, &arguments, machine_end)?;
    let (sender, events) = sync_channel(64);
    if let Some(stdout) = running.0.stdout.take() {
        let sender = sender.clone();
        let log = slot.console_log()?;
        thread::spawn(move || read_console(stdout, log, &sender));
    }
    thread::spawn(move || read_frames(host_end, &sender));

    let mut console = Console::default();
    let mut last = None;
    let mut deadline = Instant::now() + machine.timeout;
    let mut timed_out = false;
    // Both readers end when the emulator ends.
    loop {
        match events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Event::Console(line)) => {
                let was_fine = console.splat().is_none();
                console.read(&line);
                if was_fine && console.splat().is_some() {
                    deadline = deadline.min(Instant::now() + GRACE_AFTER_SPLAT);
                }
            }
            Ok(Event::Frame(frame)) => {
                if matches!(frame, Frame::Exit(_) | Frame::Failed(_)) {
                    last = Some(frame);
                } else {
                    sink(frame).doing(|| "pass on the command's output".into())?;
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                timed_out = true;
                running.stop();
                break;
            }
        }
    }

    if let Some(splat) = console.splat() {
        return Err(Error::Splat(splat));
    }
    if timed_out {
        return Err(Error::Timeout {
            timeout: machine.timeout,
            console: console.tail(),
        });
    }
    match last {
        Some(Frame::Exit(status)) => Ok(status),
        Some(Frame::Failed(why)) => Err(Error::Guest(format!("{why}\n{}", console.tail()))),
        _ => Err(Error::NoStatus(running.last_words(&console))),
    }
}

enum Event {
    /// A line the kernel printed.
    Console(String),
    Frame(Frame),
}

fn read_console(stdout: impl Read, mut log: File, events: &SyncSender<Event>) {
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    while let Ok(1..) = stdout.read_until(b'\n', &mut line) {
        // The log is only for debugging; the run does not depend on it.
        let _ = io::Write::write_all(&mut log, &line);
        let text = String::from_utf8_lossy(&line).into_owned();
        if events.send(Event::Console(text)).is_err() {
            return;
        }
        line.clear();
    }
}

fn read_frames(channel: UnixStream, events: &SyncSender<Event>) {
    let mut channel = BufReader::new(channel);
    // An error ends reading: missing data then shows as a missing status.
    while let Ok(frame) = Frame::read_from(&mut channel) {
        if events.send(Event::Frame(frame)).is_err() {
            return;
        }
    }
}

/// The emulator's process, which ends with this value or with this program.
struct Running(Child);

impl Running {
    fn start(emulator: &Emulator, arguments: &[OsString], channel: UnixStream) -> Result<Running> {
        let mut command = Command::new(&emulator.program);
        for directory in &emulator.data {
            command.arg("-L").arg(directory);
        }
        command
            .args(arguments)
            // Descriptor 0 is the channel: see `arguments`.
            .stdin(OwnedFd::from(channel))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let parent = nix::unistd::getpid();
        // SAFETY: the closure only makes system calls, which is all that is
        // allowed between fork and exec.
        unsafe {
            command.pre_exec(move || {
                prctl::set_pdeathsig(Signal::SIGKILL)?;
                if nix::unistd::getppid() != parent {
                    return Err(io::Error::from_raw_os_error(nix::libc::ESRCH));
                }
                Ok(())
            });
        }
        let child = command.spawn().doing(|| "start QEMU".into())?;
        Ok(Running(child))
    }

    fn stop(&mut self) {
        // Fails only if it has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// The reason for an early end: QEMU's error, or the console's.
    fn last_words(&mut self, console: &Console) -> String {
        let mut words = console.tail();
        if let Some(mut stderr) = self.0.stderr.take() {
            let _ = stderr.read_to_string(&mut words);
        }
        words.trim().to_owned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The emulator has no setting for the length of turns, but devices that need a timer: a filter of a
/// network device without packets.
fn turns(parts: u32) -> [String; 4] {
    let period_us = TURN_US * parts;
    let timer = format!("filter-buffer,id=turn,netdev=none,queue=all,interval={period_us}");
    ["-netdev", "hubport,id=none,hubid=0", "-object", &timer].map(str::to_owned)
}

/// A near network device and far ones on one hub. What a far one sends waits.
fn outside() -> Vec<String> {
    let mut arguments = on_the_hub("near");
    for (at, interval_us) in OUTSIDE_INTERVALS_US.into_iter().enumerate() {
        let name = format!("far{at}");
        arguments.extend(on_the_hub(&name));
        arguments.extend([
            "-object".to_owned(),
            format!("filter-buffer,id=wait{at},netdev={name},queue=rx,interval={interval_us}"),
        ]);
    }
    arguments
}

fn on_the_hub(name: &str) -> Vec<String> {
    [
        "-netdev",
        &format!("hubport,id={name},hubid=1"),
        "-device",
        &format!("virtio-net-pci,netdev={name},romfile=,tx=timer,x-txtimer={OUTSIDE_TAKE_NS}"),
    ]
    .map(str::to_owned)
    .into()
}

fn arguments(kernel: &Kernel, initramfs: &File, machine: &Machine) -> Vec<OsString> {
    // Through an inherited descriptor, so that no file is left behind.
    let initramfs = PathBuf::from(format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        initramfs.as_raw_fd()
    ));
    // One instruction is one nanosecond, and idle time passes at once.
    let virtual_time: &[&str] = &["-accel", "tcg", "-icount", "shift=0,sleep=off"];
    let host_time: &[&str] = &["-accel", "tcg,thread=single"];
    let at_once: &[&str] = &["-accel", "tcg,thread=multi"];
    let accelerator = match machine.clock {
        Clock::Virtual | Clock::InTurns => virtual_time,
        Clock::Host => host_time,
        Clock::HostAtOnce => at_once,
    };
    let takes_turns = machine.clock == Clock::InTurns && machine.smp > 1;
    let parts = if takes_turns { PARTS } else { 1 };
    let processors = format!(
        "{},sockets={}",
        parts * machine.smp,
        parts * machine.sockets
    );
    let channel = format!("virtserialport,chardev=channel,nr={CHANNEL_PORT}");
    let fixed = [
        // No HPET: the kernel would spend a second calibrating it, and then use the TSC and the
        // local APIC.
        "-M",
        "pc,hpet=off",
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
        "-cpu",
        CPU,
        "-m",
        MEMORY,
        "-smp",
        &processors,
        // The same date, and the same random numbers, in every run.
        "-rtc",
        "base=2026-01-01T00:00:00,clock=vm",
        "-seed",
        "1",
        // The kernel's console.
        "-chardev",
        "file,id=console,path=/dev/fd/1",
        "-serial",
        "chardev:console",
        // The frames.
        "-chardev",
        "socket,id=channel,fd=0",
        "-device",
        "virtio-serial-pci",
        "-device",
        &channel,
    ];
    let mut arguments: Vec<OsString> = accelerator.iter().chain(&fixed).map(Into::into).collect();
    if takes_turns {
        arguments.extend(turns(parts * machine.smp).map(Into::into));
    }
    if machine.outside {
        arguments.extend(outside().into_iter().map(Into::into));
    }
    if let Some(plugin) = machine.plugin {
        arguments.extend(["-plugin".into(), plugin.into()]);
    }
    arguments.extend(["-kernel".into(), kernel.vmlinuz.clone().into()]);
    arguments.extend(["-initrd".into(), initramfs.into()]);
    // Those that it is not told of never start.
    let told = format!("nr_cpus={}", machine.smp);
    let asked_for = machine.kernel_arguments.iter().map(String::as_str);
    let kernel_arguments: Vec<&str> = KERNEL_ARGUMENTS
        .iter()
        .copied()
        .chain(takes_turns.then_some(told.as_str()))
        .chain(asked_for)
        .collect();
    arguments.extend(["-append".into(), kernel_arguments.join(" ").into()]);
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_from_outside_wait_on_the_way_to_one_device() {
        let arguments = outside();
        let count = |part: &str| arguments.iter().filter(|one| one.contains(part)).count();
        assert_eq!(count("virtio-net-pci"), 1 + FAR_DEVICES);
        assert_eq!(count("hubid=1"), 1 + FAR_DEVICES);
        assert_eq!(count("filter-buffer"), FAR_DEVICES);
        assert_eq!(count("netdev=near,queue"), 0);
    }

    #[test]
    fn waiting_times_are_prime() {
        for interval in OUTSIDE_INTERVALS_US {
            let mut smaller = (2..).take_while(|one| one * one <= interval);
            assert!(smaller.all(|one| interval % one != 0), "{interval}");
        }
    }
}
