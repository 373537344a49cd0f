//! Takt in real kernels: its guarantees, tested through its user interface.
//!
//! Nearly every test here runs inside the lab's machine, as root, and looks at takt through its
//! command line, at the kernel through `tc` and `ip`, and at the traffic through sockets.
//! [`machine`] and [`boot`] explain how a test gets there and its result back; [`shell`], [`takt`], [`wire`],
//! [`control_group`], [`flow`], [`helper`], [`metronome`], [`air`], [`hwsim`], [`inventory`], [`reporting`],
//! [`flooder`], [`over`], [`session`], [`systemd`], [`terminals`] and [`upload`] are the tests'
//! tools.

mod air;
mod boot;
mod control_group;
mod costs;
mod daemon;
mod flooder;
mod flow;
mod helper;
mod hwsim;
mod inventory;
mod keeper;
mod kept;
mod kernel_bpf;
mod kernel_log;
mod ledger;
mod machine;
mod metronome;
mod over;
mod recorder;
mod reporting;
mod rounds;
mod senders;
mod session;
mod shell;
mod systemd;
mod takt;
mod terminals;
mod upload;
mod wire;

mod autorate;
mod background;
mod barred;
mod beats;
mod beats_early;
mod beats_fraction;
mod beats_lead;
mod beats_status;
mod beats_tai;
mod bench;
mod buffer;
mod caches;
mod cgroup_limits;
mod classify;
mod clients;
mod codes;
mod comes_back;
mod containers;
mod contract;
mod cost;
mod cpu_max;
mod crowd;
mod crowd_beside;
mod crowd_bounds;
mod crowd_cost;
mod crowd_downloads;
mod crowd_forwarded;
mod crowd_strangers;
mod crowd_thinning;
mod dead_inputs;
mod departure;
mod devices;
mod dispatch;
mod download;
mod dscp;
mod ecn;
mod encapsulated;
mod everything;
mod explained;
mod few_files;
mod flood;
mod flows;
mod foreign;
mod framing;
mod gap;
mod gate;
mod gateway;
mod guides;
mod hostile;
mod hostile_clients;
mod hosts;
mod house;
mod incast;
mod killed;
mod levels;
mod line;
mod lockdown;
mod many;
mod memory;
mod metrics;
mod names;
mod neighbours;
mod neighbours_flood;
mod owners;
mod package;
mod places;
mod predictions;
mod quota;
mod radio;
mod radio_beside;
mod realtime_hog;
mod receive;
mod refusals;
mod refused;
mod replace;
mod reports;
mod segments;
mod service;
mod sim;
mod socket_rates;
mod stamping;
mod storm;
mod stress;
mod top;
mod trace;
mod traffic;
mod tree;
mod trial;
mod turns;
mod units;
mod upgrade;
mod vanished;
mod vectors;
mod verified;
mod waits;
mod watched;
mod wireless;
mod wlan;

/// A file without a `mod` is a test that does not run.
#[test]
fn every_file_here_is_compiled() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab");
    for file in std::fs::read_dir(here).expect("the tests' sources") {
        let file = file.expect("a file").file_name();
        let name = file.to_str().and_then(|name| name.strip_suffix(".rs"));
        let name = name.expect("only sources lie here");
        let named = include_str!("main.rs").contains(&format!("\nmod {name};"));
        assert!(name == "main" || named, "{name}");
    }
}
