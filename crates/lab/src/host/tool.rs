//! The programs that the lab takes from the machine it runs on.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::error::Doing;
use super::{Error, Result};

/// A program and its Debian package.
pub struct Tool {
    pub program: &'static str,
    pub package: &'static str,
}

const fn tool(program: &'static str, package: &'static str) -> Tool {
    Tool { program, package }
}

pub const APT_GET: Tool = tool("apt-get", "apt");
pub const APT_CACHE: Tool = tool("apt-cache", "apt");
pub const DPKG_DEB: Tool = tool("dpkg-deb", "dpkg");
pub const CYCLICTEST: Tool = tool("cyclictest", "rt-tests");
pub const HACKBENCH: Tool = tool("hackbench", "rt-tests");
pub const NFT: Tool = tool("nft", "nftables");
pub const LDD: Tool = tool("ldd", "libc-bin");
pub const QEMU: Tool = tool("qemu-system-x86_64", "qemu-system-x86");

/// Not on an ordinary user's path, but `tc` and `ip` may be there.
const ALSO_IN: [&str; 2] = ["/usr/sbin", "/sbin"];

impl Tool {
    /// The program's path.
    pub fn path(&self) -> Result<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .chain(ALSO_IN.iter().map(PathBuf::from))
            .map(|dir| dir.join(self.program))
            .find(|candidate| candidate.is_file())
            .ok_or(Error::MissingProgram {
                program: self.program,
                package: self.package,
            })
    }

    pub fn command(&self) -> Result<Command> {
        let mut command = Command::new(self.path()?);
        // Some messages are parsed, and all others here are in English.
        command.env("LC_ALL", "C").stdin(Stdio::null());
        Ok(command)
    }

    /// Runs the program to its end and returns what it printed.
    pub fn output<S: AsRef<OsStr>>(&self, arguments: &[S], dir: &Path) -> Result<String> {
        let mut command = self.command()?;
        let output = command
            .args(arguments)
            .current_dir(dir)
            .output()
            .doing(|| format!("start {}", self.program))?;
        self.check(&output)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// An error if the program failed, with its error output.
    pub fn check(&self, output: &Output) -> Result<()> {
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Program {
            command: self.program.to_owned(),
            status: output.status,
            stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}
