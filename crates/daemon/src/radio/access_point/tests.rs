use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use nix::{sys::stat::Mode, unistd::mkfifo};
use takt_policy::parse;
use takt_wlan::source::SourceError;

use super::*;

pub(super) const INTERVAL_NS: u64 = 200_000_000;

/// A link's table as it would be in the kernel.
#[derive(Default)]
pub(super) struct Kernel {
    is_there: bool,
    pub(super) weights: BTreeMap<String, u32>,
    beats: u32,
    /// By the last of them.
    worked_ago_ns: u64,
    openings: u32,
}

pub(super) type Shared<T> = Arc<Mutex<T>>;

pub(super) struct FakeTable(pub(super) Shared<Kernel>);

impl Table for FakeTable {
    fn is_attached(&self) -> bool {
        self.0.lock().unwrap().is_there
    }

    fn takes(&self, address: &Address) -> bool {
        matches!(address, Address::Ip(_))
    }

    fn known(&self) -> Vec<Address> {
        let kernel = self.0.lock().unwrap();
        kernel
            .weights
            .keys()
            .map(|text| text.parse().unwrap())
            .collect()
    }

    fn weigh(&mut self, address: Address, weight_ppm: u32) -> Result<(), String> {
        self.0
            .lock()
            .unwrap()
            .weights
            .insert(address.to_string(), weight_ppm);
        Ok(())
    }

    fn forget(&mut self, address: Address) {
        self.0.lock().unwrap().weights.remove(&address.to_string());
    }

    fn refresh(&mut self, ago_ns: u64) {
        let mut kernel = self.0.lock().unwrap();
        kernel.beats += 1;
        kernel.worked_ago_ns = ago_ns;
    }
}

/// What is heard next; an error if nothing.
struct FakeSource(Shared<Option<Vec<(&'static str, i32)>>>);

impl Source for FakeSource {
    fn poll(&mut self, _now_ns: u64, samples: &mut Vec<Sample>) -> Result<(), SourceError> {
        let heard = self.0.lock().unwrap();
        let Some(heard) = &*heard else {
            let source = std::io::Error::other("gone");
            return Err(SourceError::Socket { port: 1, source });
        };
        samples.extend(
            heard
                .iter()
                .map(|(text, snr)| Sample::new(text.parse().unwrap(), *snr)),
        );
        Ok(())
    }
}

struct Bench {
    kernel: Shared<Kernel>,
    heard: Shared<Option<Vec<(&'static str, i32)>>>,
    cell: Cell,
    now_ns: u64,
}

impl Bench {
    fn new(kernel: Kernel) -> Self {
        let text = "[link.a]\nrate = \"1mbit\"\n[radio]\nsource = \"file\"\nfile = \"f\"\n\
                    smoothing = 1\npoints = [[0, 0.0], [10, 1.0]]\n";
        let radio = parse("p.toml", text).unwrap().radio.unwrap();
        let (kernel, heard) = (Arc::new(Mutex::new(kernel)), Arc::new(Mutex::new(None)));
        let (table, source) = (Arc::clone(&kernel), Arc::clone(&heard));
        let open_source = move || Ok(Box::new(FakeSource(Arc::clone(&source))) as Box<_>);
        let open_table = move |device: &str| -> Result<Box<dyn Table>, String> {
            let mut kernel = table.lock().unwrap();
            kernel.openings += 1;
            if kernel.is_there {
                Ok(Box::new(FakeTable(Arc::clone(&table))))
            } else {
                Err(format!("no {device}"))
            }
        };
        let devices = ["a".to_owned()];
        let cell = Cell::new(
            &radio,
            &devices,
            Box::new(open_source),
            Box::new(open_table),
        );
        Self {
            kernel,
            heard,
            cell,
            now_ns: 1 << 40,
        }
    }

    /// Advance to the next step, and do it.
    fn step(&mut self) -> Result<(), String> {
        let (next_ns, result) = self.cell.step(self.now_ns);
        assert!(next_ns > self.now_ns && next_ns <= self.now_ns + INTERVAL_NS);
        self.now_ns = next_ns;
        result
    }

    fn hear(&self, heard: &[(&'static str, i32)]) {
        *self.heard.lock().unwrap() = Some(heard.to_vec());
    }

    fn weights(&self) -> Vec<(String, u32)> {
        let kernel = self.kernel.lock().unwrap();
        kernel.weights.clone().into_iter().collect()
    }
}

pub(super) fn there() -> Kernel {
    Kernel {
        is_there: true,
        ..Kernel::default()
    }
}

#[test]
fn what_is_heard_is_weighed_within_an_interval() {
    let mut bench = Bench::new(there());
    bench.hear(&[("192.0.2.1", 500), ("192.0.2.2", 1000)]);
    bench.step().unwrap();
    let both = |first| {
        [
            ("192.0.2.1".to_owned(), first),
            ("192.0.2.2".to_owned(), 1_000_000),
        ]
    };
    assert_eq!(bench.weights(), both(500_000));
    bench.hear(&[("192.0.2.1", 200), ("192.0.2.2", 1000)]);
    bench.step().unwrap();
    assert_eq!(bench.weights(), both(200_000));
    for _ in 0..25 {
        bench.step().unwrap();
    }
    // Refreshed once a second; and the table is opened once.
    let kernel = bench.kernel.lock().unwrap();
    assert!((5..=7).contains(&kernel.beats), "{}", kernel.beats);
    assert_eq!(kernel.openings, 1);
}

#[test]
fn a_new_daemon_takes_over_and_one_that_ends_takes_back() {
    let mut kernel = there();
    kernel.weights.insert("192.0.2.1".to_owned(), 1);
    kernel.weights.insert("192.0.2.9".to_owned(), 1);
    let mut bench = Bench::new(kernel);
    bench.hear(&[("192.0.2.1", 500)]);
    bench.step().unwrap();
    assert_eq!(bench.weights(), [("192.0.2.1".to_owned(), 500_000)]);
    bench.cell.end();
    assert_eq!(bench.weights(), []);
}

#[test]
fn a_link_that_comes_back_is_told_everything() {
    let mut bench = Bench::new(Kernel::default());
    bench.hear(&[("192.0.2.1", 500)]);
    assert_eq!(bench.step(), Err("no a".to_owned()));
    for round in 0..3 {
        bench.kernel.lock().unwrap().is_there = true;
        for _ in 0..6 {
            bench.step().unwrap();
        }
        assert_eq!(
            bench.weights(),
            [("192.0.2.1".to_owned(), 500_000)],
            "{round}"
        );
        let mut kernel = bench.kernel.lock().unwrap();
        (kernel.is_there, kernel.weights) = (false, BTreeMap::new());
        drop(kernel);
        let missed = (0..6).filter(|_| bench.step().is_err()).count();
        assert!(missed >= 1, "{round}");
    }
}

#[test]
fn a_source_that_fails_says_nothing_about_any_station() {
    let mut bench = Bench::new(there());
    bench.hear(&[("192.0.2.1", 1000), ("192.0.2.2", 300)]);
    for _ in 0..10 {
        bench.step().unwrap();
    }
    let before = bench.weights();
    *bench.heard.lock().unwrap() = None;
    let gone = "reports on UDP port 1: gone";
    for _ in 0..20 {
        assert_eq!(bench.step(), Err(gone.to_owned()));
        assert_eq!(bench.weights(), before);
    }
    for _ in 0..20 {
        let _ = bench.step();
    }
    // The link does not count the weights any more, and the log says so.
    assert!(bench.kernel.lock().unwrap().worked_ago_ns > STALE_NS);
    let said = bench.step().unwrap_err();
    assert!(
        said.starts_with(gone) && said.contains("so all weigh 1"),
        "{said}"
    );
    // It counts them at once when the source is back, and one that is missing then decays.
    bench.hear(&[("192.0.2.1", 1000)]);
    for _ in 0..6 {
        bench.step().unwrap();
    }
    assert_eq!(bench.kernel.lock().unwrap().worked_ago_ns, 0);
    let after = bench.weights();
    assert_eq!(after[0], before[0]);
    assert!(after[1].1 < before[1].1, "{after:?}");
}

#[test]
fn a_source_that_never_worked_is_named() {
    let mut bench = Bench::new(there());
    for _ in 0..40 {
        let _ = bench.step();
    }
    let kernel = bench.kernel.lock().unwrap();
    assert!(kernel.beats > 0 && kernel.worked_ago_ns > STALE_NS);
}

/// What can become of a file, how, and whether it still says something about the first station.
type Death = (&'static str, fn(&Path), bool);

const DEATHS: &[Death] = &[
    ("removed", |file| fs::remove_file(file).unwrap(), false),
    ("emptied", |file| fs::write(file, "").unwrap(), false),
    (
        "only comments",
        |file| fs::write(file, "# none\n").unwrap(),
        false,
    ),
    (
        "half a file",
        |file| fs::write(file, "192.0.2.1 10\n192.0.2.2 1").unwrap(),
        true,
    ),
    (
        "a malformed line",
        |file| fs::write(file, "192.0.2.1 10\n192.0.2.2 ten\n").unwrap(),
        true,
    ),
    (
        "only malformed lines",
        |file| fs::write(file, "{}\n[]\n").unwrap(),
        false,
    ),
    ("bytes", |file| fs::write(file, [0xff; 300]).unwrap(), false),
    (
        "too long",
        |file| fs::write(file, vec![b' '; 1 << 20]).unwrap(),
        false,
    ),
    (
        "a directory",
        |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
        false,
    ),
    (
        "a pipe",
        |file| {
            fs::remove_file(file).unwrap();
            mkfifo(file, Mode::S_IRUSR).unwrap();
        },
        false,
    ),
    (
        "a link to nowhere",
        |file| {
            fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink("nowhere", file).unwrap();
        },
        false,
    ),
    ("not written any more", |_| (), true),
];

/// However a file dies, its best station gets no less than it had.
#[test]
fn a_dead_file_throttles_no_station() {
    for (death, happen, speaks) in DEATHS {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("snr.txt");
        fs::write(&path, "192.0.2.1 10\n192.0.2.2 10\n").unwrap();
        let mut bench = Bench::new(there());
        let file = path.clone();
        bench.cell.open_source = Box::new(move || Ok(Box::new(SnrFile::new(&file)) as Box<_>));
        for _ in 0..10 {
            bench.step().unwrap();
        }
        assert_eq!(bench.weights().len(), 2, "{death}");
        happen(&path);
        for _ in 0..100 {
            let _ = bench.step();
            let kernel = bench.kernel.lock().unwrap();
            let counts = kernel.worked_ago_ns <= STALE_NS;
            let weight_ppm = kernel.weights.get("192.0.2.1");
            assert!(!counts || weight_ppm == Some(&1_000_000), "{death}");
        }
        let is_silent = bench.kernel.lock().unwrap().worked_ago_ns > STALE_NS;
        assert_eq!(is_silent, !speaks, "{death}");
    }
}

#[test]
fn an_address_of_the_other_kind_is_named() {
    let mut bench = Bench::new(there());
    bench.hear(&[("02:00:00:00:00:01", 1000), ("192.0.2.1", 1000)]);
    let _ = bench.step();
    let said = bench.step().unwrap_err();
    assert_eq!(
        said,
        "02:00:00:00:00:01: stations of a are known by IP address"
    );
    assert_eq!(bench.weights(), [("192.0.2.1".to_owned(), 1_000_000)]);
}
