//! What the kernel and taktd hold.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::daemon::Served;
use crate::experiment::command;
use crate::experiment::error::{ExperimentError, Result};

const PROG_GET_NEXT_ID: libc::c_long = 11;
const MAP_GET_NEXT_ID: libc::c_long = 12;
const LINK_GET_NEXT_ID: libc::c_long = 31;

/// After everything was taken back.
#[derive(Debug)]
pub struct Counts {
    pub programs: usize,
    pub maps: usize,
    pub links: usize,
    /// Pins, and takt's directory.
    pub left: usize,
    /// Lines of the kernel's log that tell of a fault.
    pub warnings: usize,
    /// Slab memory that the kernel cannot take back.
    pub unreclaimable_kb: u64,
    pub percpu_kb: u64,
    pub resident_kb: u64,
    pub descriptors: usize,
}

impl Counts {
    pub fn now(served: &Served) -> Result<Self> {
        // Caches are not leaks.
        command::run("sh", &["-c", "sync; echo 3 >/proc/sys/vm/drop_caches"])?;
        let memory = read(Path::new("/proc/meminfo"))?;
        let process = format!("/proc/{}", served.pid());
        let status = read(&Path::new(&process).join("status"))?;
        Ok(Self {
            programs: ids(PROG_GET_NEXT_ID),
            maps: ids(MAP_GET_NEXT_ID),
            links: ids(LINK_GET_NEXT_ID),
            left: pins()? + usize::from(Path::new("/run/takt").exists()),
            warnings: faults(&kernel_log()?),
            unreclaimable_kb: of(&memory, "SUnreclaim:"),
            percpu_kb: of(&memory, "Percpu:"),
            resident_kb: of(&status, "VmRSS:"),
            descriptors: entries(&Path::new(&process).join("fd"))?.len(),
        })
    }
}

/// A figure in kB of one of the kernel's tables.
fn of(table: &str, name: &str) -> u64 {
    let mut lines = table.lines();
    let figure = lines.find_map(|line| line.strip_prefix(name));
    let figure = figure.and_then(|figure| figure.split_whitespace().next());
    figure.and_then(|kb| kb.parse().ok()).unwrap_or_default()
}

fn pins() -> Result<usize> {
    let names = entries(Path::new("/sys/fs/bpf"))?;
    // The kernel's own.
    Ok(names
        .iter()
        .filter(|name| !name.ends_with(".debug"))
        .count())
}

fn entries(path: &Path) -> Result<Vec<String>> {
    let unreadable = |error: std::io::Error| ExperimentError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let entries = fs::read_dir(path).map_err(unreadable)?;
    entries
        .map(|entry| {
            Ok(entry
                .map_err(unreadable)?
                .file_name()
                .to_string_lossy()
                .into_owned())
        })
        .collect()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| ExperimentError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// What the kernel has logged since it started; a long log has lost its begin.
fn kernel_log() -> Result<String> {
    let path = Path::new("/dev/kmsg");
    let unreadable = |error: std::io::Error| ExperimentError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let mut options = fs::OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let mut file = options.open(path).map_err(unreadable)?;
    let mut log = String::new();
    let mut record = [0; 8192];
    loop {
        match file.read(&mut record) {
            Ok(read) => log.push_str(&String::from_utf8_lossy(&record[..read])),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(log),
            // Records were overwritten meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
}

fn faults(log: &str) -> usize {
    let signs = [
        "WARNING:",
        "BUG:",
        "Oops",
        "Call Trace:",
        "INFO: task",
        "leak",
    ];
    log.lines()
        .filter(|line| signs.iter().any(|sign| line.contains(sign)))
        .count()
}

fn ids(command: libc::c_long) -> usize {
    let mut arguments = [0u64; 3];
    let mut ids = 0;
    loop {
        // SAFETY: the kernel reads and writes these arguments alone.
        let done = unsafe {
            let size = size_of_val(&arguments);
            libc::syscall(libc::SYS_bpf, command, arguments.as_mut_ptr(), size)
        };
        if done < 0 {
            return ids;
        }
        // From the id in the lower half of the first word to the next, in the upper.
        arguments[0] >>= 32;
        ids += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_names() {
        let memory = "MemFree:  5 kB\nSUnreclaim:      37 kB\nPercpu:            640 kB\n";
        assert_eq!(of(memory, "SUnreclaim:"), 37);
        assert_eq!(of(memory, "Percpu:"), 640);
        assert_eq!(of(memory, "None:"), 0);
    }

    #[test]
    fn faults_are_told_from_other_lines() {
        let log = "6,1,2,-;Linux version\n4,2,3,-;WARNING: CPU: 0 PID: 1 at a.c:1\n\
                   4,3,4,-;Call Trace:\n6,4,5,-;device va left promiscuous mode\n";
        assert_eq!(faults(log), 2);
    }
}
