//! A network device on the vDPA bus: frames that the hardware has not taken wait in the driver
//! and its qdisc, and still belong to their socket.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use takt_vduse::{Control, NetConfig, NetDevice, Taken};

use super::plan::{ACCESS_POINT, ACCESS_POINT_MAC, FIRST, STATIONS_MAX, Station};
use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::namespace::Namespace;

/// On the bus as long as it lives, one frame in its hardware at most.
pub struct Card {
    // Closed before it is removed: fields are dropped in their order.
    device: NetDevice,
    taken: Option<Taken>,
    made: Made,
}

/// Removes the device.
struct Made {
    control: Control,
    name: String,
}

impl Card {
    pub fn of_access_point() -> Result<Self> {
        Self::create(ACCESS_POINT, ACCESS_POINT_MAC)
    }

    pub fn of_station(station: Station) -> Result<Self> {
        Self::create(station.namespace(), station.mac())
    }

    /// Makes the device and puts it on the bus, where the kernel's driver finds
    /// it. The interface appears in the namespace [`FIRST`].
    fn create(owner: Namespace, mac: [u8; 6]) -> Result<Self> {
        let config = NetConfig {
            name: name(owner),
            mac,
        };
        let control = Control::open()?;
        let mut card = Self {
            device: control.create_net(&config)?,
            taken: None,
            made: Made {
                control,
                name: config.name.clone(),
            },
        };
        card.while_answering(|| vdpa(&["dev", "add", "name", &config.name, "mgmtdev", "vduse"]))?;
        Ok(card)
    }

    /// Removes the devices of a process that has died.
    pub fn remove_leftovers() -> Result<()> {
        let stations = Station::first(STATIONS_MAX).map(Station::namespace);
        for owner in stations.chain([ACCESS_POINT]) {
            let (control, name) = (Control::open()?, name(owner));
            if let Some(device) = control.adopt_net(&name)? {
                drop(Self {
                    device,
                    taken: None,
                    made: Made { control, name },
                });
            }
        }
        Ok(())
    }

    /// Readable when the kernel wants an [answer](Self::answer).
    pub fn questions(&self) -> BorrowedFd<'_> {
        self.device.questions()
    }

    pub fn answer(&mut self) -> Result<()> {
        Ok(self.device.answer()?)
    }

    /// Readable when there may be a frame to [`take`](Self::take).
    pub fn frames(&self) -> BorrowedFd<'_> {
        self.device.kicks()
    }

    /// Takes the driver's next frame, which replaces what is in `frame`; false if there is
    /// none. The driver has the next one ready when this one is [finished](Self::finish).
    pub fn take(&mut self, frame: &mut Vec<u8>) -> Result<bool> {
        self.taken = self.device.take(frame)?;
        Ok(self.taken.is_some())
    }

    /// The air has finished the frame that was taken.
    pub fn finish(&mut self) -> Result<()> {
        match self.taken.take() {
            Some(taken) => Ok(self.device.finish(taken)?),
            None => Ok(()),
        }
    }

    /// Passes a received frame to the driver; false if the driver has no room for it.
    pub fn deliver(&mut self, frame: &[u8]) -> Result<bool> {
        Ok(self.device.deliver(frame)?)
    }

    /// Runs a command for which the driver sends requests, and answers them.
    fn while_answering(&mut self, work: impl FnOnce() -> Result<()> + Send) -> Result<()> {
        /// Requests arrive at once; this wait is for the command's end.
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

impl Drop for Card {
    fn drop(&mut self) {
        let name = self.made.name.clone();
        if let Err(error) = self.while_answering(|| vdpa(&["dev", "del", &name])) {
            eprintln!("while cleaning up: {error}");
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Err(error) = self.control.destroy(&self.name) {
            eprintln!("while cleaning up: {error}");
        }
    }
}

/// On the bus, and under `/dev/vduse`.
fn name(owner: Namespace) -> String {
    format!("takt-{}", owner.0)
}

/// The bus has no namespaces, and is only accessible from the first.
fn vdpa(words: &[&str]) -> Result<()> {
    FIRST.run(|| command::run("vdpa", words).map(drop))
}
