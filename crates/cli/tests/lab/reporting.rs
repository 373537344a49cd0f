//! An access point that clients report to, on a wire: its taktd and a client's, and the stations'
//! weights.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::{shell::run_far, takt::takt};

pub const STATION: &str = "02:00:00:00:01:02";
pub const KEY: &str = "/lab/radio.key";
pub const CLIENT: &str = "/lab/client";
/// The signal that the client's driver would report.
pub const SNR: &str = "/lab/client/snr.txt";

/// 100,000 ppm for each dB, and no smoothing.
pub fn access_point(source: &str) -> String {
    format!(
        "[link.near1]\nrate = \"100mbit\"\n[radio]\n{source}\ninterval = \"100ms\"\n\
         smoothing = 1\npoints = [[0, 0.0], [10, 1.0]]\n"
    )
}

pub const REPORTS: &str = "key_file = \"radio.key\"";

pub use crate::daemon::Daemon;

/// The policies of a wire's two ends.
impl Daemon {
    /// A taktd at the wire's far end, with directories of its own as if alone on the host.
    pub fn start_client() -> Self {
        Self::start_client_of(
            "report_to = \"10.1.0.1:7641\"\ndevice = \"far1\"\n\
             source = \"file\"\nfile = \"snr.txt\"\ninterval = \"100ms\"\n",
        )
    }

    /// The same, with these keys beside the group's.
    pub fn start_client_of(radio: &str) -> Self {
        fs::create_dir_all(CLIENT).unwrap();
        fs::copy(KEY, format!("{CLIENT}/radio.key")).unwrap();
        fs::set_permissions(format!("{CLIENT}/radio.key"), Permissions::from_mode(0o600)).unwrap();
        let policy = format!("[radio]\nkey_file = \"radio.key\"\n{radio}");
        fs::write(format!("{CLIENT}/policy.toml"), policy).unwrap();
        run_far(&format!("takt apply {CLIENT}/policy.toml")).ok();
        Self::start_alone("b")
    }

    /// A taktd in a network namespace, with directories of its own as if alone on the host.
    pub fn start_alone(netns: &str) -> Self {
        let alone = "mkdir -p /run/taktd && mount -t tmpfs none /run/taktd && exec taktd";
        let child = Command::new("ip")
            .args(["netns", "exec", netns, "unshare", "-m", "sh", "-c", alone])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self::Child(child)
    }

    /// Its socket, in whatever mount namespace.
    pub fn socket(&self) -> String {
        format!("/proc/{}/root/run/taktd/socket", self.id())
    }

    /// The processor time of its threads so far.
    pub fn cpu_ns(&self) -> u64 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id())).unwrap();
        let of_one = |task: fs::DirEntry| {
            let line = fs::read_to_string(task.path().join("schedstat")).unwrap();
            let first = line.split_whitespace().next().unwrap();
            first.parse::<u64>().unwrap()
        };
        tasks.map(|task| of_one(task.unwrap())).sum()
    }

    /// It takes its changes back.
    #[track_caller]
    pub fn end(self) {
        self.ends_with(Signal::SIGTERM);
    }

    #[track_caller]
    pub fn kill(self) {
        self.ends_with(Signal::SIGKILL);
    }
}

pub fn listed() -> Vec<Value> {
    let listed = takt("station list --output json").ends_with(0).json();
    listed["links"][0]["stations"].as_array().unwrap().clone()
}

/// The station's weight, if it has one.
pub fn weight_ppm() -> Option<u64> {
    let station = listed()
        .into_iter()
        .find(|station| station["address"] == STATION)?;
    station["known"]
        .as_bool()?
        .then(|| station["weight_ppm"].as_u64())?
}

/// Within so many tenths of a second.
#[track_caller]
pub fn assert_soon(tenths: u32, what: &str, is_so: impl Fn(Option<u64>) -> bool) {
    for _ in 0..tenths {
        if is_so(weight_ppm()) {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}: {:?}", weight_ppm());
}

pub fn clean() {
    let _ = fs::remove_file(KEY);
    takt(&format!("radio key {KEY}")).ok();
}
