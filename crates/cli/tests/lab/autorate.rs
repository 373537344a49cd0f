//! A line whose rate steps, behind a buffer of its own: the link's rate follows, and is the policy's
//! again without taktd.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use nix::sys::signal::Signal;

use crate::{
    daemon::Daemon,
    gateway::flood,
    machine::DEFAULT,
    shell::{run, run_far},
    takt::{Link, apply, link, takt},
    wire::Wire,
};

const BASE_BPS: u64 = 8_000_000;
const POLICY: &str = "[link.near1]\n\
                      rate = { min = \"1mbit\", base = \"8mbit\", max = \"30mbit\" }\n\
                      reflectors = [\"10.9.0.2\", \"10.9.0.3\", \"10.9.0.4\", \"10.9.0.99\"]\n";
/// What the line carries is counted for so long.
const WINDOW_S: u64 = 8;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// A line behind the far end, to a namespace with three hosts that answer; a fourth is not there.
struct Line;

impl Line {
    fn new(rate: &str) -> Self {
        run("ip netns add c").ok();
        run_far("ip link add m0 type veth peer name m1 netns c").ok();
        run_far("ip addr add 10.9.0.1/24 dev m0").ok();
        run_far("ip link set m0 up").ok();
        for host in 2..5 {
            run(&format!("ip -n c addr add 10.9.0.{host}/24 dev m1")).ok();
        }
        run("ip -n c link set m1 up").ok();
        run("ip -n c route add default via 10.9.0.1").ok();
        run_far("sysctl -qw net.ipv4.ip_forward=1").ok();
        run("ip route add 10.9.0.0/24 via 10.1.0.2").ok();
        run_far(&format!(
            "tc qdisc add dev m0 root netem rate {rate} delay 10ms limit 2000"
        ))
        .ok();
        Self
    }

    fn step(&self, rate: &str) {
        let qdisc = format!("root netem rate {rate} delay 10ms limit 2000");
        run_far(&format!("tc qdisc change dev m0 {qdisc}")).ok();
    }

    /// Bytes that have come through it.
    fn carried(&self) -> u64 {
        let shown = run("ip -n c -s -j link show dev m1").json();
        shown[0]["stats64"]["rx"]["bytes"]
            .as_u64()
            .expect("a number")
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = run_far("ip link del m0");
        let _ = run("ip netns del c");
        let _ = run("ip route del 10.9.0.0/24");
    }
}

/// Look until the rate is as wanted, but no longer than this.
#[track_caller]
fn wait_for(what: &str, looks: u32, is_wanted: impl Fn(&Link) -> bool) -> Link {
    for look in 0..looks {
        let found = link("near1");
        println!("{what}: {} ms, {} bit/s", 250 * look, found.rate_now_bps);
        if is_wanted(&found) {
            return found;
        }
        thread::sleep(LOOK);
    }
    panic!("{what}: {:?}", link("near1"));
}

#[test]
fn the_rate_follows_the_line_and_ends_with_taktd() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let line = Line::new("20mbit");
        apply(POLICY).says(&["near1: attached"]).ok();
        assert_eq!(link("near1").rate_now_bps, BASE_BPS);
        let daemon = Daemon::start();
        // Little is sent: the rate stays where it is.
        thread::sleep(Duration::from_secs(3));
        assert_eq!(link("near1").rate_now_bps, BASE_BPS);

        let done = Arc::new(AtomicBool::new(false));
        let load = flood("10.9.0.2:9".to_owned(), 30, &done);
        wait_for("a line of 20 Mbit/s", 80, |link| {
            link.rate_now_bps > 17_000_000
        });
        // It goes past what the line has, and comes back.
        let before = line.carried();
        thread::sleep(Duration::from_secs(WINDOW_S));
        let carried_bps = (line.carried() - before) * 8 / WINDOW_S;
        println!("{carried_bps} bit/s of 20 Mbit/s");
        assert!(carried_bps > 17_000_000, "{carried_bps}");
        assert!(link("near1").rate_now_bps < 23_000_000);

        line.step("6mbit");
        wait_for("a line of 6 Mbit/s", 16, |link| {
            link.rate_now_bps < 6_500_000
        });
        thread::sleep(Duration::from_secs(2));
        let pinged = run("ping -q -i 0.2 -c 20 10.9.0.2").ok();
        println!("{pinged}");

        daemon.ends_with(Signal::SIGKILL);
        wait_for("no taktd", 16, |link| link.rate_now_bps == BASE_BPS);

        // The next one finds the line again.
        let _daemon = Daemon::start();
        wait_for("the next taktd", 24, |link| link.rate_now_bps < 6_500_000);
        done.store(true, SeqCst);
        load.join().unwrap();
        takt("revert").ok();
    });
}
