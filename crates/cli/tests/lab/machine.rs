//! The machines that tests run in.
//!
//! This program is copied into the machine and runs the tests there; outside, each test only asks
//! for its result ([`boot`](crate::boot)). All tests of the same machine share one boot, or a few
//! where they are many.

use std::{
    any::type_name,
    env,
    fmt::{self, Display},
    fs,
    process::Command,
    thread,
    time::Duration,
};

use nix::unistd::{SysconfVar, sysconf};

use crate::{
    boot::{Boot, VARIABLE},
    costs, dispatch, hosts, hwsim, keeper, kernel_log, rounds, stress, systemd,
};

/// By the host's clock, which says little: a busy host takes several times as long as an idle one.
const BOOT_MINUTES: &str = "60";

/// Ends the name of the machine in which the daemon's tests run under its unit.
const FOR_DAEMON: &str = " for the daemon";

/// Names the only machine to be asked for, the default one, where this is set.
const ONLY_DEFAULT: &str = "TAKT_TEST_ONLY_DEFAULT";

/// Before a test's share of the processors' time, in its output.
pub const BUSY: &str = "the processors were busy for ";
/// The output of a test that another round runs.
pub const NOT_ITS_TURN: &str = "not in this round";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    kernel: &'static str,
    processors: u8,
    /// Each has a last-level cache.
    sockets: u8,
    first: First,
    /// Whether a [`keeper`] has loaded the programs of links before.
    keeps: bool,
}

/// The first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum First {
    Takt,
    Systemd,
    /// The same, for tests of the default machine in [`OF_THE_DAEMON`].
    SystemdForDaemon,
}

/// Modules whose tests start a taktd: all of them pass under its unit as well.
pub const OF_THE_DAEMON: [&str; 5] = [
    "background",
    "places",
    "reports",
    "neighbours",
    "hostile_clients",
];

/// The kernel that Takt is developed with.
pub const DEFAULT: Machine = Machine {
    kernel: "default",
    processors: 1,
    sockets: 1,
    first: First::Takt,
    keeps: true,
};
pub const NEWEST: Machine = Machine {
    kernel: "newest",
    ..DEFAULT
};
pub const TWO_PROCESSORS: Machine = Machine {
    processors: 2,
    ..DEFAULT
};
/// Four processors, with two last-level caches.
pub const TWO_CACHES: Machine = Machine {
    processors: 4,
    sockets: 2,
    keeps: false,
    ..DEFAULT
};
/// Debian 12's: before tcx, and before the kernel functions with which takt looks at TCP.
pub const OLDEST: Machine = Machine {
    kernel: "6.1",
    keeps: false,
    ..DEFAULT
};
/// Debian 13's: before there were BPF qdiscs.
pub const TOO_OLD: Machine = Machine {
    kernel: "6.12",
    ..OLDEST
};
/// New enough for BPF qdiscs, but Debian left them out.
pub const WITHOUT_BPF_QDISCS: Machine = Machine {
    kernel: "6.16",
    ..OLDEST
};

/// With wireless devices: an access point's and two stations'.
pub const WIRELESS: Machine = Machine {
    kernel: "wireless",
    ..OLDEST
};

/// With PREEMPT_RT, where BPF has no timers.
pub const REALTIME: Machine = Machine {
    kernel: "realtime",
    ..OLDEST
};

/// With systemd as its first process, which starts Takt's units.
pub const SYSTEMD: Machine = Machine {
    first: First::Systemd,
    keeps: false,
    ..DEFAULT
};
/// The same, for the daemon's tests.
pub const SYSTEMD_FOR_DAEMON: Machine = Machine {
    first: First::SystemdForDaemon,
    ..SYSTEMD
};

/// Where nothing is known of what they take, they run in this order.
pub const ALL: [Machine; 14] = [
    TWO_PROCESSORS,
    DEFAULT,
    DEFAULT.alone(),
    NEWEST,
    NEWEST.alone(),
    TWO_CACHES,
    TWO_PROCESSORS.alone(),
    SYSTEMD_FOR_DAEMON,
    SYSTEMD,
    WIRELESS,
    TOO_OLD,
    OLDEST,
    WITHOUT_BPF_QDISCS,
    REALTIME,
];

/// Runs `test` on the machines whose kernels are older than BPF qdiscs: in a run by rounds, on the
/// one whose turn it is.
pub fn on_old_kernels<F: FnOnce() + Copy>(test: F) {
    for machine in rounds::in_turn("kernels older than BPF qdiscs", [OLDEST, TOO_OLD], 2) {
        machine.run(test);
    }
}

impl Machine {
    /// The same without a [`keeper`]: for tests about what is loaded, and about what is left.
    pub const fn alone(self) -> Self {
        Self {
            keeps: false,
            ..self
        }
    }

    /// Runs `test`, which must be a closure written in the test itself, since its type name
    /// identifies it.
    pub fn run<F: FnOnce()>(self, test: F) {
        let name = name_of::<F>();
        match env::var(VARIABLE) {
            Ok(here) if here == Boot::new(self, name).to_string() => {
                let shares = self.shares().max(costs::shares(&self.to_string(), name));
                if !rounds::is_its_turn(name, shares) {
                    return println!("{NOT_ITS_TURN}");
                }
                settle();
                if self.keeps {
                    keeper::ensure();
                }
                kernel_log::begin(name);
                let before = busy();
                test();
                println!("{BUSY}{:?}", busy().saturating_sub(before));
            }
            Ok(here) if self.alone() == DEFAULT.alone() && is_daemons(&here) => test(),
            Ok(_) => println!("a test for another machine"),
            Err(_) if self.is_asked_for() => Boot::new(self, name).ask_about(name),
            Err(_) => println!("only the default machine is asked for"),
        }
    }

    /// Whether tests of this machine are to be run at all.
    pub fn is_asked_for(self) -> bool {
        env::var_os(ONLY_DEFAULT).is_none() || self.alone() == DEFAULT.alone()
    }

    /// Assert that this machine, which runs tests of the default one, has passed all of them. As
    /// with [`Machine::run`], `test` is a closure in the test that asks.
    pub fn passes_all<F: FnOnce()>(self, _test: F) {
        if env::var(VARIABLE).is_ok() {
            return println!("a test that asks about others");
        }
        if !self.is_asked_for() {
            return println!("only the default machine is asked for");
        }
        let count = Boot::new(self, name_of::<F>()).assert_passes_all(&OF_THE_DAEMON);
        println!("{count} tests hold under the unit");
    }

    /// The number of boots that share each machine's tests, so that no machine keeps one processor
    /// busy for longer than all the others take on the next.
    pub fn boots(self) -> usize {
        if self == DEFAULT { 4 } else { 1 }
    }

    /// In a run by rounds, one of so many runs a test, or of more if it takes long ([`costs`]). A fault
    /// that shows only there may thus be found some commits later; these tests take longest.
    fn shares(self) -> usize {
        match self {
            NEWEST | TWO_CACHES => 3,
            OLDEST | TOO_OLD => 2,
            // Most tests are here: all of them are an hour of two processors.
            _ if [DEFAULT, DEFAULT.alone(), TWO_PROCESSORS].contains(&self) => 2,
            _ => 1,
        }
    }

    /// The tests that run in it beside those that ask for it: the daemon's.
    pub fn modules(self) -> Option<&'static [&'static str]> {
        (self == SYSTEMD_FOR_DAEMON).then_some(&OF_THE_DAEMON)
    }

    /// `takt lab exec` on this machine.
    pub fn exec(self) -> Command {
        let mut takt = Command::new(env!("CARGO_BIN_EXE_takt"));
        takt.args(["lab", "exec", "--kernel", self.kernel]);
        takt.args(["--smp", &self.processors.to_string()]);
        takt.args(["--sockets", &self.sockets.to_string()]);
        // Whatever the host does meanwhile.
        takt.args(["--clock", "virtual"]);
        takt.args(["--timeout", BOOT_MINUTES]);
        if self.processors > 1 {
            takt.args(["--add", stress::PROGRAM]);
        }
        if self.first != First::Takt {
            takt.args(["--init", systemd::FIRST]);
            for file in systemd::FILES {
                takt.args(["--add", file]);
            }
        }
        if [OLDEST, REALTIME].contains(&self) {
            takt.arg("--add").arg(dispatch::program());
        }
        if [DEFAULT, NEWEST]
            .map(|machine| machine.kernel)
            .contains(&self.kernel)
            && self.processors == 1
        {
            takt.args(["--add", hosts::NFT]);
        }
        if self == WIRELESS {
            takt.args(["--add", hwsim::HOSTAPD, "--add", hwsim::IW]);
        }
        takt
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "kernel {}, processors {}", self.kernel, self.processors)?;
        match self.first {
            First::Takt => {}
            First::Systemd => write!(f, ", systemd")?,
            First::SystemdForDaemon => write!(f, ", systemd{FOR_DAEMON}")?,
        }
        if self.keeps {
            write!(f, ", programs kept")?;
        }
        Ok(())
    }
}

/// The longest time between a test's end and the next one's begin, and the time of a look.
const SETTLE_MAX: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_secs(1);
/// Of a look's time, at most so much is the work of an idle machine.
const IDLE: f64 = 0.01;

/// Waits until the machine is idle: the kernel frees what the test before has left for a while, a
/// link's packet slots for milliseconds at a time. In virtual time sleeping costs nothing. A test
/// that failed may have left something busy, so not for ever.
fn settle() {
    for _ in 0..SETTLE_MAX.as_secs() / LOOK.as_secs() {
        let before = busy();
        thread::sleep(LOOK);
        if busy().saturating_sub(before).as_secs_f64() <= IDLE * LOOK.as_secs_f64() {
            return;
        }
    }
}

/// The time for which this machine's processors have worked, of which the host's is a multiple.
fn busy() -> Duration {
    let uptime = fs::read_to_string("/proc/uptime").expect("the kernel says it");
    let mut seconds = uptime
        .split_whitespace()
        .map(|seconds| seconds.parse::<f64>().expect("a number"));
    let (up, idle) = (seconds.next(), seconds.next());
    let processors = sysconf(SysconfVar::_NPROCESSORS_CONF).ok().flatten();
    let processors = processors.expect("the kernel knows its processors") as f64;
    let worked = up.expect("first") * processors - idle.expect("second, of all processors");
    // Newer kernels count some idle time twice.
    Duration::from_secs_f64(worked.max(0.0))
}

/// Whether systemd runs this machine's services.
pub fn has_systemd() -> bool {
    env::var(VARIABLE).is_ok_and(|here| here.contains(", systemd"))
}

fn is_daemons(here: &str) -> bool {
    here.contains(FOR_DAEMON)
}

/// `module::test` of a closure in that test.
fn name_of<F>() -> &'static str {
    type_name::<F>()
        .strip_suffix("::{{closure}}")
        .and_then(|name| name.split_once("::"))
        .map(|(_crate, name)| name)
        .expect("the test is a closure in a function")
}
