//! What is known of conflicts: other programs' changes to the devices of links, and the processes that
//! made them. taktd writes it down when it hears of a change, for `takt status`.

use std::{
    fmt::{self, Display},
    fs,
};

use serde::{Deserialize, Serialize};

use crate::{
    error::Error,
    os::{clock, netlink::Port},
    state::records::Records,
};

/// The name of its directory.
pub(crate) const RECORDS_DIR: &str = "conflicts";

const RECORDS: Records = Records(RECORDS_DIR);
const NS_PER_S: u64 = 1_000_000_000;

/// A process that changed a device's root qdisc.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changer {
    /// Its number.
    pub pid: u32,
    /// Its name; `None` if it had ended before that was read.
    pub name: Option<String>,
}

impl Changer {
    /// The process with this netlink port. The first socket of a process has its number for a port, and
    /// further ones have ports that are no process's number.
    pub(crate) fn at_port(port: u32) -> Option<Self> {
        let pid = i32::try_from(port).ok().filter(|pid| *pid > 0)? as u32;
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        let name = name.map(|name| name.trim_end().to_owned());
        Some(Self { pid, name })
    }
}

impl Display for Changer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name}, process {}", self.pid),
            None => write!(f, "process {}", self.pid),
        }
    }
}

/// A conflict that stays, because the policy says so or because the other program insists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Conflict {
    /// The number of the device.
    pub ifindex: u32,
    /// What the device carries: kind and handle, or the kernel's default.
    pub found: String,
    /// `None`: not known.
    pub by: Option<Changer>,
    /// When taktd heard of it, on CLOCK_BOOTTIME.
    pub at_ns: u64,
}

/// The conflicts of a network namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Conflicts {
    /// One for each device.
    pub devices: Vec<Conflict>,
}

impl Conflicts {
    /// Of a device that carries this.
    pub fn find(&self, ifindex: u32, found: &str) -> Option<&Conflict> {
        let mut devices = self.devices.iter();
        devices.find(|known| known.ifindex == ifindex && known.found == found)
    }

    pub fn read(netns_cookie: u64) -> Result<Self, Error> {
        Ok(RECORDS.read(netns_cookie)?.unwrap_or_default())
    }

    pub fn write(&self, netns_cookie: u64) -> Result<(), Error> {
        if self.devices.is_empty() {
            RECORDS.forget(netns_cookie)
        } else {
            RECORDS.write(netns_cookie, self)
        }
    }

    /// Forget those of namespaces that are gone.
    pub fn sweep() -> Result<(), Error> {
        let mut gone = RECORDS.of_the_gone()?.into_iter();
        gone.try_for_each(|netns_cookie| RECORDS.forget(netns_cookie))
    }
}

/// A conflict, as status shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConflictStatus {
    /// What the device carries: kind and handle, or the kernel's default.
    pub found: String,
    /// The process that changed it; `None` if that is not known.
    pub by: Option<Changer>,
    /// Since taktd heard of it; `None` if taktd did not run.
    pub age_s: Option<u64>,
}

impl ConflictStatus {
    /// Of a device that carries this.
    pub(crate) fn new(known: &Conflicts, ifindex: u32, found: String) -> Self {
        let known = known.find(ifindex, &found);
        let age_s = |known: &Conflict| clock::boottime_ns().saturating_sub(known.at_ns) / NS_PER_S;
        Self {
            by: known.and_then(|known| known.by.clone()),
            age_s: known.map(age_s),
            found,
        }
    }
}

impl ConflictStatus {
    /// What to do about it. The command that is named is the one that [`refuse_foreign_root`] lets
    /// through.
    ///
    /// [`refuse_foreign_root`]: super::decide::refuse_foreign_root
    pub(crate) fn problem(&self, port: &Port) -> String {
        let is_foreign = port.root.is_some() && !port.is_given_back;
        let remedy = match (is_foreign, port.below_root) {
            (false, _) => "`takt apply` puts takt back".to_owned(),
            (true, None) => {
                "`takt apply --replace` puts takt in its place, where that comes back on `takt revert`"
                    .to_owned()
            }
            (true, Some(_)) => format!(
                "takt cannot replace that; `tc qdisc del dev {} root`, and `takt apply` puts takt back",
                port.device.name
            ),
        };
        format!("{self}; {remedy}; `takt revert` forgets the link")
    }
}

impl Display for ConflictStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the device carries {}, not takt", self.found)?;
        match (&self.by, self.age_s) {
            (Some(by), Some(age_s)) => write!(f, " (since {age_s} s, by {by})"),
            (None, Some(age_s)) => write!(f, " (since {age_s} s)"),
            _ => Ok(()),
        }
    }
}
