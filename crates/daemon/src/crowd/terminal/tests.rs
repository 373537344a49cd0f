//! Over this host's loopback, with a simulated kernel.

use std::{
    net::{Ipv4Addr, SocketAddrV4, UdpSocket},
    os::unix::fs::PermissionsExt,
    sync::{Arc, Mutex},
    thread::sleep,
    time::Duration,
};

use takt_host::Downloaded;
use takt_policy::CROWD_PORT;
use takt_wlan::{
    crowd::{Activity, Counts},
    listener::speak,
    make_key, read_key,
};

use super::*;

const INTERVAL_NS: u64 = 200_000_000;
const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 255, 76, 42), CROWD_PORT);

#[derive(Default)]
struct Kernel {
    is_there: bool,
    counts: Counts,
    /// What it was told: users, the share of each, and own flows.
    told: Option<(u64, u64, u32)>,
    /// Whether downloads are bounded.
    bounds_downloads: bool,
    openings: u32,
}

struct Fake(Arc<Mutex<Kernel>>);

impl Control for Fake {
    fn counts(&self) -> Result<Option<Counts>, String> {
        let kernel = self.0.lock().unwrap();
        Ok(kernel.is_there.then_some(kernel.counts))
    }

    fn set(&self, group: &Group, own_flows: u32) -> Result<(), String> {
        let told = (group.users(), group.share_bytes_ps(), own_flows);
        self.0.lock().unwrap().told = Some(told);
        Ok(())
    }

    fn bound_downloads(&self, _: &Group, _: u32) -> Result<Downloaded, String> {
        self.0.lock().unwrap().bounds_downloads = true;
        Ok(Downloaded::default())
    }

    fn free_downloads(&self) -> Result<(), String> {
        self.0.lock().unwrap().bounds_downloads = false;
        Ok(())
    }
}

struct Bench {
    part: Terminal,
    kernel: Arc<Mutex<Kernel>>,
    now_ns: u64,
    folder: tempfile::TempDir,
    /// Another terminal, with a sender of its own.
    other: Core,
    voice: UdpSocket,
    is_silent: bool,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key_file = folder.path().join("crowd.key");
        make_key(&key_file).unwrap();
        let crowd = Crowd {
            group: "air".to_owned(),
            key_file,
            device: "lo".to_owned(),
            interval_ns: INTERVAL_NS,
            downloads: true,
            role: CrowdRole::Multicast,
        };
        let now_ns = 1 << 40;
        let own = Own {
            key: read_key(&crowd.key_file).unwrap().of_group(&crowd.group),
            number: 5,
            epoch: 1,
            interval_ns: INTERVAL_NS,
        };
        let kernel = Arc::new(Mutex::new(Kernel {
            is_there: true,
            ..Kernel::default()
        }));
        let fake = Arc::clone(&kernel);
        let open = move || {
            fake.lock().unwrap().openings += 1;
            Ok(Box::new(Fake(Arc::clone(&fake))) as Box<dyn Control>)
        };
        let from = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, 2), CROWD_PORT);
        Self {
            part: Terminal::new(crowd, Box::new(open), Memory::new(folder.path())),
            kernel,
            now_ns,
            folder,
            other: Core::new(now_ns, own, Terms::default(), 0),
            voice: speak("lo", from, GROUP.into()).unwrap(),
            is_silent: false,
        }
    }

    /// An interval in which the own flow and the other terminal's get so much.
    fn interval(&mut self, own_bytes_ps: u64, other_bytes_ps: u32) -> Result<(), String> {
        let activity = Activity {
            rate_bytes_ps: other_bytes_ps,
            flows: 1,
            ..Default::default()
        };
        self.other.period(self.now_ns, activity);
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        let sealed = self.other.report(self.now_ns, 0, &mut datagram);
        if let Some(sealed) = sealed.filter(|_| !self.is_silent) {
            self.voice.send(sealed).unwrap();
            // The kernel delivers over the loopback at once; this is for slow hosts.
            sleep(Duration::from_millis(2));
        }
        {
            let counts = &mut self.kernel.lock().unwrap().counts;
            counts.delivered_bytes += own_bytes_ps / 5;
            counts.passed_us += 200_000;
            counts.limited_us += 200_000;
        }
        let until_ns = self.now_ns + INTERVAL_NS;
        let mut result = Ok(());
        while self.now_ns < until_ns {
            let (next_ns, done) = self.part.step(self.now_ns);
            assert!(next_ns > self.now_ns && next_ns <= self.now_ns + INTERVAL_NS / 4);
            self.now_ns = next_ns;
            result = result.and(done);
        }
        self.now_ns = until_ns;
        result
    }

    fn told(&self) -> Option<(u64, u64, u32)> {
        self.kernel.lock().unwrap().told
    }
}

#[test]
fn the_kernel_is_told_of_the_neighbours() {
    let mut bench = Bench::new();
    for _ in 0..8 {
        bench.interval(1_000_000, 500_000).unwrap();
    }
    assert_eq!(bench.told(), Some((2, 750_000, 1)));
    let said = bench.part.said().unwrap();
    assert_eq!((said.role.as_str(), said.interval_ms), ("multicast", 200));
    assert_eq!(said.neighbours.len(), 1);
    assert_eq!(said.neighbours[0].address, Some([127, 0, 0, 2].into()));
    assert!(said.reports_sent >= 5, "{said:?}");

    // The bounds are removed by hand, and put back.
    bench.kernel.lock().unwrap().is_there = false;
    assert_eq!(bench.interval(0, 500_000), Err(NO_BOUNDS.to_owned()));
    bench.kernel.lock().unwrap().is_there = true;
    bench.interval(1_000_000, 500_000).unwrap();

    // The other's taktd is killed, and a moment later every terminal is alone.
    bench.is_silent = true;
    for _ in 0..6 {
        bench.interval(1_000_000, 500_000).unwrap();
    }
    assert_eq!(bench.told().map(|told| told.0), Some(1));
    bench.is_silent = false;

    // A taktd that ends leaves flows to their own round trips.
    for _ in 0..2 {
        bench.interval(1_000_000, 500_000).unwrap();
    }
    assert_eq!(bench.told().map(|told| told.0), Some(2));
    assert!(bench.kernel.lock().unwrap().bounds_downloads);
    bench.part.end();
    assert_eq!(bench.told(), Some((1, 0, 1)));
    assert!(!bench.kernel.lock().unwrap().bounds_downloads);
}

#[test]
fn what_is_missing_is_named_and_waited_for() {
    let mut bench = Bench::new();
    let key_file = bench.part.crowd.key_file.clone();
    let public = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&key_file, public).unwrap();
    let said = bench.interval(1_000_000, 500_000).unwrap_err();
    assert!(said.contains("chmod 600"), "{said}");
    assert_eq!(bench.told(), None);
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&key_file, private).unwrap();
    for _ in 0..8 {
        let _ = bench.interval(1_000_000, 500_000);
    }
    assert_eq!(bench.told().map(|told| told.0), Some(2));
    bench.part.crowd.device = "takt-none".to_owned();
    for _ in 0..6 {
        let _ = bench.interval(1_000_000, 500_000);
    }
    let said = bench.interval(1_000_000, 500_000);
    let missing = "there is no device takt-none".to_owned();
    assert!(said.is_ok() || said == Err(missing), "{said:?}");
    assert!(bench.part.said().is_none());
}

#[test]
fn a_network_is_remembered_by_the_next_taktd() {
    let mut bench = Bench::new();
    let intervals = |bench: &mut Bench, count: u32| {
        for _ in 0..count {
            bench.interval(1_000_000, 500_000).unwrap();
        }
    };
    let path = bench.folder.path().join("capacities.json");
    intervals(&mut bench, 60);
    assert!(!path.exists());
    intervals(&mut bench, 12);
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(!kept.contains("lo"), "{kept}");
    let remembered = |bench: &Bench| {
        bench
            .part
            .said()
            .unwrap()
            .share
            .unwrap()
            .remembered_bytes_ps
    };
    assert_eq!(remembered(&bench), None);

    // It was killed.
    let crowd = bench.part.crowd.clone();
    let fake = Arc::clone(&bench.kernel);
    let open = move || Ok(Box::new(Fake(Arc::clone(&fake))) as Box<dyn Control>);
    bench.part = Terminal::new(crowd, Box::new(open), Memory::new(bench.folder.path()));
    intervals(&mut bench, 4);
    let begun = bench.part.said().unwrap().share.unwrap();
    let three_quarters = 1_500_000 * 3 / 4;
    let counts = begun.remembered_bytes_ps.unwrap();
    assert!(
        (three_quarters * 9 / 10..=three_quarters).contains(&counts),
        "{counts}"
    );
    // Confirmed by the lower median of both: half a megabyte for each.
    assert!(begun.capacity_bytes_ps >= 1_000_000, "{begun:?}");
    intervals(&mut bench, 70);
    assert_eq!(remembered(&bench), None);
}
