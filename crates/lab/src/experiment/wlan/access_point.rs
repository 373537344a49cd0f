//! The access point's network device on the vDPA bus.

use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use takt_vduse::{Control, NetConfig, NetDevice};

use super::plan::{ACCESS_POINT_MAC, FIRST};
use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};

/// On the bus, and under `/dev/vduse`.
const NAME: &str = "takt-ap";

/// On the bus as long as it lives.
pub struct ApDevice {
    // Closed before it is removed: fields go in their order.
    pub device: NetDevice,
    _made: Made,
}

/// Removes the device.
struct Made(Control);

impl ApDevice {
    /// Makes the device and puts it on the bus, where the kernel's driver finds
    /// it. The interface appears in the namespace [`FIRST`].
    pub fn create() -> Result<Self> {
        let config = NetConfig {
            name: NAME.to_owned(),
            mac: ACCESS_POINT_MAC,
        };
        let control = Control::open()?;
        let mut device = Self {
            device: control.create_net(&config)?,
            _made: Made(control),
        };
        device.while_answering(|| vdpa(&["dev", "add", "name", NAME, "mgmtdev", "vduse"]))?;
        Ok(device)
    }

    /// Removes the device of a process that could not do so itself any more.
    pub fn remove_leftover() -> Result<()> {
        let control = Control::open()?;
        if let Some(device) = control.adopt_net(NAME)? {
            drop(Self {
                device,
                _made: Made(control),
            });
        }
        Ok(())
    }

    /// Runs what makes the driver ask questions, and waits for the answers.
    fn while_answering(&mut self, work: impl FnOnce() -> Result<()> + Send) -> Result<()> {
        /// The driver's questions come at once; this is for the end of the work.
        const LOOK: Duration = Duration::from_millis(1);
        let device = &mut self.device;
        std::thread::scope(|scope| {
            let work = scope.spawn(work);
            while !work.is_finished() {
                let mut questions = [PollFd::new(device.questions(), PollFlags::POLLIN)];
                ppoll(&mut questions, Some(TimeSpec::from_duration(LOOK)), None)
                    .doing("wait for a driver's questions")?;
                device.answer()?;
            }
            match work.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }
}

impl Drop for ApDevice {
    fn drop(&mut self) {
        if let Err(error) = self.while_answering(|| vdpa(&["dev", "del", NAME])) {
            eprintln!("while cleaning up: {error}");
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Err(error) = self.0.destroy(NAME) {
            eprintln!("while cleaning up: {error}");
        }
    }
}

/// The bus has no namespaces, and is reached from the first only.
fn vdpa(words: &[&str]) -> Result<()> {
    FIRST.run(|| command::run("vdpa", words).map(drop))
}
