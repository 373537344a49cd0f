//! Where stations' weights come from: clients' reports over UDP, a file, and by hand; and
//! what becomes of them when somebody falls silent, dies or lies.

use std::{
    fs::{self, Permissions},
    net::UdpSocket,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

use crate::{
    flow::in_far_namespace,
    machine::DEFAULT,
    shell::run_far,
    takt::{apply, takt},
    wire::Wire,
};

const STATION: &str = "02:00:00:00:01:02";
const KEY: &str = "/lab/radio.key";
const CLIENT: &str = "/lab/client";
/// What the client's driver would say.
const SNR: &str = "/lab/client/snr.txt";

/// 100,000 ppm for each dB, and no smoothing.
fn access_point(source: &str) -> String {
    format!(
        "[link.near1]\nrate = \"100mbit\"\n[radio]\n{source}\ninterval = \"100ms\"\n\
         smoothing = 1\npoints = [[0, 0.0], [10, 1.0]]\n"
    )
}

const REPORTS: &str = "key_file = \"radio.key\"";

/// A taktd that is killed with the test, with what it started.
pub struct Daemon(Child);

impl Daemon {
    pub fn start() -> Self {
        Self(Command::new("taktd").stdout(Stdio::null()).spawn().unwrap())
    }

    /// One at the wire's far end, which thinks that it is alone on the host.
    fn start_client() -> Self {
        Self::start_client_of(
            "report_to = \"10.1.0.1:7641\"\ndevice = \"far1\"\n\
             source = \"file\"\nfile = \"snr.txt\"\ninterval = \"100ms\"\n",
        )
    }

    /// Likewise, with these keys beside the group's.
    pub fn start_client_of(radio: &str) -> Self {
        fs::create_dir_all(CLIENT).unwrap();
        fs::copy(KEY, format!("{CLIENT}/radio.key")).unwrap();
        fs::set_permissions(format!("{CLIENT}/radio.key"), Permissions::from_mode(0o600)).unwrap();
        let policy = format!("[radio]\nkey_file = \"radio.key\"\n{radio}");
        fs::write(format!("{CLIENT}/policy.toml"), policy).unwrap();
        run_far(&format!("takt apply {CLIENT}/policy.toml")).ok();
        let alone = "mkdir -p /run/taktd && mount -t tmpfs none /run/taktd && exec taktd";
        let child = Command::new("ip")
            .args(["netns", "exec", "b", "unshare", "-m", "sh", "-c", alone])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    /// It takes back what it did.
    fn end(mut self) {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn listed() -> Vec<Value> {
    let listed = takt("station list --output json").ends_with(0).json();
    listed["links"][0]["stations"].as_array().unwrap().clone()
}

/// The station's weight, if it has one.
fn weight_ppm() -> Option<u64> {
    let station = listed()
        .into_iter()
        .find(|station| station["address"] == STATION)?;
    station["known"]
        .as_bool()?
        .then(|| station["weight_ppm"].as_u64())?
}

/// Within so many tenths of a second.
#[track_caller]
fn assert_soon(tenths: u32, what: &str, is_so: impl Fn(Option<u64>) -> bool) {
    for _ in 0..tenths {
        if is_so(weight_ppm()) {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{what}: {:?}", weight_ppm());
}

/// A key that no test before has used.
pub fn clean() {
    let _ = fs::remove_file(KEY);
    takt(&format!("radio key {KEY}")).ok();
}

#[test]
fn a_client_reports_and_its_weight_follows() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        clean();
        apply(&access_point(REPORTS))
            .says(&["radio: taktd sees to it"])
            .ok();
        let daemon = Daemon::start();
        fs::create_dir_all(CLIENT).unwrap();
        fs::write(SNR, "10.1.0.2 5\n").unwrap();
        let client = Daemon::start_client();
        assert_soon(30, "first heard", |weight| weight == Some(500_000));
        fs::write(SNR, "10.1.0.2 2.5\n").unwrap();
        assert_soon(5, "changed", |weight| weight == Some(250_000));

        // A killed taktd's weights are the next one's to go on with.
        daemon.kill();
        let daemon = Daemon::start();
        fs::write(SNR, "10.1.0.2 7.5\n").unwrap();
        assert_soon(30, "a new daemon", |weight| weight == Some(750_000));

        // A killed client is missed.
        client.kill();
        assert_soon(30, "silent", |weight| {
            weight.is_some_and(|ppm| ppm < 10_000)
        });
        daemon.end();
        assert_eq!(weight_ppm(), None);
        run_far("takt revert").says(&["radio: left alone"]).ok();
        takt("revert").says(&["radio: left alone"]).ok();
        drop(wire);
        assert!(!Path::new("/run/takt").exists());
    });
}

#[test]
fn what_nobody_sealed_changes_no_weight() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        clean();
        apply(&access_point(REPORTS)).ok();
        let _daemon = Daemon::start();
        fs::create_dir_all(CLIENT).unwrap();
        fs::write(SNR, "10.1.0.2 5\n").unwrap();
        let _client = Daemon::start_client();
        assert_soon(30, "first heard", |weight| weight == Some(500_000));
        // Faster than anybody reads them, of every length and some that look well.
        let mut bytes = [0x5a; 400];
        bytes[..4].copy_from_slice(&[b'T', b'k', 1, 1]);
        for round in 0..20usize {
            in_far_namespace(|| {
                let socket = UdpSocket::bind("10.1.0.2:0").unwrap();
                for n in 0..1000usize {
                    let number = (round * 1000 + n) as u64;
                    bytes[4..12].copy_from_slice(&number.to_be_bytes());
                    let length = if n % 2 == 0 { 76 } else { n % 400 };
                    let _ = socket.send_to(&bytes[..length], "10.1.0.1:7641");
                }
            });
            assert_eq!(weight_ppm(), Some(500_000), "round {round}");
        }
        assert_eq!(listed().len(), 1, "{:?}", listed());
        fs::write(SNR, "10.1.0.2 9\n").unwrap();
        assert_soon(5, "heard as ever", |weight| weight == Some(900_000));
        run_far("takt revert").ok();
        takt("revert").ok();
    });
}

#[test]
fn a_file_is_read_again_and_again() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        fs::write("/lab/ap.txt", format!("{STATION} 5\n")).unwrap();
        apply(&access_point("source = \"file\"\nfile = \"ap.txt\"")).ok();
        let _daemon = Daemon::start();
        assert_soon(30, "first read", |weight| weight == Some(500_000));
        fs::write("/lab/ap.txt", format!("{STATION} 8 # better\n")).unwrap();
        assert_soon(3, "read again", |weight| weight == Some(800_000));
        takt("revert").ok();
    });
}

#[test]
fn by_hand() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let set = format!("station set {STATION} --snr");
        takt(&format!("{set} 5"))
            .says(&["no link of the policy in force"])
            .ends_with(2);
        clean();
        apply(&access_point("source = \"none\"")).ok();
        takt(&format!("{set} 5")).says(&["weight 0.500"]).ok();
        assert_eq!(weight_ppm(), Some(500_000));
        // Nobody refreshes it, and it stays.
        thread::sleep(Duration::from_secs(6));
        assert_eq!(weight_ppm(), Some(500_000));
        takt(&format!("{set} -3 --device near1"))
            .says(&["weight 0.000"])
            .ok();
        takt(&format!("{set} 61"))
            .says(&["out of range"])
            .ends_with(2);
        takt(&format!("{set} 5 --device lo"))
            .says(&["stations of lo"])
            .ends_with(2);
        takt("station set 10.1.0.2 --snr 5")
            .says(&["known by MAC"])
            .ends_with(2);
        takt("station set ff:ff:ff:ff:ff:ff --snr 5").ends_with(2);
        takt("station list").says(&[STATION, "by hand"]).ok();
        takt(&format!("station forget {STATION}"))
            .says(&["forgotten"])
            .ok();
        takt(&format!("station forget {STATION}")).ends_with(2);
        assert_eq!(weight_ppm(), None);
        takt(&format!("radio key {KEY}"))
            .says(&["exists"])
            .ends_with(2);
        takt("radio key /nowhere/radio.key").ends_with(1);
        takt("revert").ok();
    });
}
