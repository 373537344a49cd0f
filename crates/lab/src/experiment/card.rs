//! A network device on the vDPA bus: frames that the hardware has not taken wait in the driver
//! and its qdisc, and still belong to their socket.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use serde_json::Value;
use takt_vduse::{Control, NetConfig, NetDevice, Taken};

use super::command;
use super::error::{ExperimentError, Result, WhileDoing};
use super::namespace::Namespace;

/// Where the machine's devices first appear. `ip netns` knows it while [`Named`] lives.
pub const FIRST: Namespace = Namespace("first");
/// A kernel thread, which always is in the namespace with which the machine started.
const KERNEL_THREAD: &str = "2";

/// The name of the first namespace, taken away when this is dropped.
#[must_use]
pub struct Named(());

impl Named {
    pub fn first() -> Result<Self> {
        command::run("ip", &["netns", "attach", FIRST.0, KERNEL_THREAD])?;
        Ok(Self(()))
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if let Err(error) = command::run("ip", &["netns", "del", FIRST.0]) {
            eprintln!("while cleaning up: {error}");
        }
    }
}

/// The interface in [`FIRST`] that has this address.
pub fn interface(mac: &str) -> Result<String> {
    let links = FIRST.run(|| command::run("ip", &["-json", "link", "show"]))?;
    named(&links, mac)
}

fn named(links: &str, mac: &str) -> Result<String> {
    let links: Value = serde_json::from_str(links).unwrap_or_default();
    let mut links = links.as_array().into_iter().flatten();
    links
        .find(|link| link["address"] == mac)
        .and_then(|link| Some(link["ifname"].as_str()?.to_owned()))
        .ok_or_else(|| ExperimentError::Output {
            command: "ip -json link show".to_owned(),
            reason: format!("no device has the address {mac}"),
        })
}

/// On the bus as long as it lives.
pub struct Card {
    // Closed before it is removed: fields are dropped in their order.
    device: NetDevice,
    /// Frames in its hardware, the oldest first.
    taken: VecDeque<Taken>,
    made: Made,
}

/// Removes the device.
struct Made {
    control: Control,
    name: String,
}

impl Card {
    /// Makes the device and puts it on the bus, where the kernel's driver finds it. The interface
    /// appears in the namespace [`FIRST`].
    pub fn new(config: &NetConfig) -> Result<Self> {
        let control = Control::open()?;
        let mut card = Self {
            device: control.create_net(config)?,
            taken: VecDeque::new(),
            made: Made {
                control,
                name: config.name.clone(),
            },
        };
        card.while_answering(|| vdpa(&["dev", "add", "name", &config.name, "mgmtdev", "vduse"]))?;
        Ok(card)
    }

    /// Removes a device whose process has died, if there is one of this name.
    pub fn remove_leftover(name: &str) -> Result<()> {
        let control = Control::open()?;
        if let Some(device) = control.adopt_net(name)? {
            drop(Self {
                device,
                taken: VecDeque::new(),
                made: Made {
                    control,
                    name: name.to_owned(),
                },
            });
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
    /// none. A driver that may have one frame on its way has the next one ready when this one is
    /// [finished](Self::finish).
    pub fn take(&mut self, frame: &mut Vec<u8>) -> Result<bool> {
        let taken = self.device.take(frame)?;
        let is_there = taken.is_some();
        self.taken.extend(taken);
        Ok(is_there)
    }

    /// The oldest frame that was taken is sent, or dropped.
    pub fn finish(&mut self) -> Result<()> {
        match self.taken.pop_front() {
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

/// The bus has no namespaces, and is only accessible from the first.
fn vdpa(words: &[&str]) -> Result<()> {
    FIRST.run(|| command::run("vdpa", words).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_address() {
        let links = r#"[{"ifname":"lo","address":"00:00:00:00:00:00"},
                        {"ifname":"eth0","address":"02:00:00:00:01:00"}]"#;
        assert_eq!(named(links, "02:00:00:00:01:00").expect("is there"), "eth0");
        assert!(named(links, "02:00:00:00:01:01").is_err());
        assert!(named("no JSON", "02:00:00:00:01:00").is_err());
    }
}
