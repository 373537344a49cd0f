//! A taktd that is killed and started again.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::experiment::error::{ExperimentError, Result, WhileDoing};
use crate::experiment::pair::A;

pub const SOCKET: &str = "/run/taktd/socket";
/// For taktd to listen.
const TRIES: u32 = 100;
const STEP: Duration = Duration::from_millis(100);

pub struct Served {
    takt: PathBuf,
    child: Child,
}

impl Served {
    pub fn start(takt: &Path) -> Result<Self> {
        Ok(Self {
            takt: takt.to_owned(),
            child: start(takt)?,
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// End it at whatever it does, and start another.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill().doing("kill taktd")?;
        self.child.wait().doing("wait for taktd's end")?;
        self.child = start(&self.takt)?;
        Ok(())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(takt: &Path) -> Result<Child> {
    let child = A.run(|| {
        let mut command = Command::new(takt);
        std::os::unix::process::CommandExt::arg0(&mut command, "taktd");
        command
            .env("TAKT_LOG", "error")
            .stdout(Stdio::null())
            .spawn()
            .map_err(|source| ExperimentError::Start {
                program: "taktd".to_owned(),
                source,
            })
    })?;
    for _ in 0..TRIES {
        if std::os::unix::net::UnixStream::connect(SOCKET).is_ok() {
            return Ok(child);
        }
        thread::sleep(STEP);
    }
    Err(ExperimentError::Command {
        command: "taktd".to_owned(),
        stderr: "it does not listen".to_owned(),
    })
}
