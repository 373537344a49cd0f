//! Datagrams of strangers, as fast as one processor sends them: the group stays what it is, its
//! members are heard, and taktd takes next to nothing of the processor. The figures are of virtual
//! time (docs/crowd.md says what they mean): `-- neighbours_flood --show-output`.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use takt_wlan::{
    crowd::{Activity, Own, REPORT_BYTES, Terminal, Terms},
    listener::speak,
    read_key,
    sealed::{DATAGRAM_MAX_BYTES, Key, Purpose, Sender},
};

use crate::{
    flooder::{Datagrams, OF_A_KIND, flood, malformed},
    flow::in_far_namespace,
    machine::DEFAULT,
    over::Over,
    reporting::Daemon,
    shell::run_far,
    takt::{apply, takt},
    terminals::KEY,
    wire::{End, Wire},
};

const POLICY: &str = "[crowd]\ngroup = \"test\"\nkey_file = \"crowd.key\"\ndevice = \"near1\"\n";
const GROUP: &str = "239.255.76.42:7642";
const MEMBER: &str = "10.1.0.4:7642";
const STRANGER: &str = "10.1.0.3:7642";
const LIAR: &str = "10.1.0.5:7642";
const NUMBER: u64 = 77;
const BAD: usize = 100_000;
const INTERVAL_NS: u64 = 200_000_000;

fn key() -> Key {
    read_key(Path::new(KEY)).unwrap().of_group("test")
}

fn now_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_nanos() as u64
}

fn sealed(key: Key, number: u64) -> Vec<u8> {
    let mut datagram = [0; DATAGRAM_MAX_BYTES];
    let mut sender = Sender::new(key, Purpose::CROWD, number, now_ns());
    sender
        .seal(&[9; REPORT_BYTES], &mut datagram)
        .unwrap()
        .to_vec()
}

/// In the name of a member, and of an unknown sender.
fn forged() -> Datagrams {
    let other_key = || Key::new(&[9; Key::BYTES]).of_group("test");
    let number = |n: usize| {
        if n.is_multiple_of(2) {
            NUMBER
        } else {
            n as u64
        }
    };
    (0..OF_A_KIND)
        .map(|n| sealed(other_key(), number(n)))
        .collect()
}

/// A member that sends different figures each time, as fast as it can.
fn mad() -> Datagrams {
    let mut sender = Sender::new(key(), Purpose::CROWD, 78, now_ns());
    let mut datagram = [0; DATAGRAM_MAX_BYTES];
    let mut say = |n: usize| {
        let body = [[0xff; REPORT_BYTES], [0; REPORT_BYTES]][n % 2];
        sender.seal(&body, &mut datagram).unwrap().to_vec()
    };
    (0..OF_A_KIND).map(&mut say).collect()
}

/// Reports continuously, as a terminal whose flow gets a megabyte a second.
fn report(is_over: &AtomicBool) {
    let own = Own {
        key: key(),
        number: NUMBER,
        epoch: now_ns(),
        interval_ns: INTERVAL_NS,
    };
    let voice = speak("far1", MEMBER.parse().unwrap(), GROUP.parse().unwrap()).unwrap();
    let mut terminal = Terminal::new(now_ns(), own, Terms::default(), 0);
    let activity = Activity {
        rate_bytes_ps: 1_000_000,
        flows: 1,
        ..Activity::default()
    };
    while !is_over.load(Ordering::Relaxed) {
        terminal.period(now_ns(), activity);
        let mut datagram = [0; DATAGRAM_MAX_BYTES];
        if let Some(sealed) = terminal.report(now_ns(), now_ns() as u32, &mut datagram) {
            voice.send(sealed).unwrap();
        }
        let due_ns = terminal.due_ns().saturating_sub(now_ns());
        thread::sleep(Duration::from_nanos(due_ns));
    }
}

fn neighbourhood() -> Value {
    let listed = takt("crowd neighbours --output json").ends_with(0).json();
    listed["neighbourhoods"][0].clone()
}

fn count(of: &Value, what: &str) -> u64 {
    of["datagrams"][what].as_u64().unwrap_or_default()
}

/// The number of neighbours, without the flooding one, and how long ago the member was heard.
fn member(of: &Value) -> Option<u64> {
    let all = of["neighbours"].as_array()?;
    let member = all.iter().find(|one| one["number"] == NUMBER)?;
    assert!(all.len() <= 2, "{of}");
    member["age_ms"].as_u64()
}

#[test]
fn moves_nobody_and_costs_nothing() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        for address in ["10.1.0.3/24", "10.1.0.4/24", "10.1.0.5/24"] {
            wire.add_address(End::Far, "", address);
        }
        run_far("ip route add 239.0.0.0/8 dev far1").ok();
        let _ = fs::remove_file(KEY);
        takt(&format!("crowd key {KEY}")).ok();
        apply(POLICY).ok();
        let daemon = Daemon::start();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| in_far_namespace(|| report(&is_over)));
            thread::sleep(Duration::from_secs(2));
            let before = neighbourhood();
            assert!(member(&before).is_some(), "{before}");
            takt("crowd neighbours")
                .says(&["test on near1: multicast", "10.1.0.4", "8.000 Mbit/s"])
                .ok();

            let (quiet_ns, from_ns) = (daemon.cpu_ns(), now_ns());
            thread::sleep(Duration::from_secs(2));
            let quiet = (daemon.cpu_ns() - quiet_ns) as f64 / (now_ns() - from_ns) as f64;
            println!("quiet: taktd takes {:.3} %", quiet * 100.0);

            let old = sealed(key(), NUMBER);
            let kinds = [malformed(), forged(), vec![old; OF_A_KIND]];
            let mad = [mad()];
            let first = neighbourhood();
            let (busy_ns, from_ns) = (daemon.cpu_ns(), now_ns());
            for part in 0..10 {
                flood(STRANGER, GROUP, &kinds, BAD / 10 * 3 / 4);
                flood(LIAR, GROUP, &mad, BAD / 10 / 4);
                // One report may be lost; three in a row are not.
                let now = neighbourhood();
                assert!(member(&now).is_some(), "{part}: {now}");
            }
            let (taktd_ns, elapsed_ns) = (daemon.cpu_ns() - busy_ns, now_ns() - from_ns);
            let last = neighbourhood();
            let rate_ps = BAD as f64 / elapsed_ns as f64 * 1e9;
            println!(
                "{rate_ps:.0} a second: taktd takes {:.3} %\n{first}\n{last}",
                taktd_ns as f64 / elapsed_ns as f64 * 100.0,
            );
            for reason in ["malformed", "forged"] {
                assert!(
                    count(&last, reason) > count(&first, reason),
                    "{reason}: {last}"
                );
            }
            assert!(
                rate_ps > 10_000.0,
                "that is no flood: {rate_ps:.0} a second"
            );
            assert!(taktd_ns * 100 <= elapsed_ns, "more than 1 %");
        });
        takt("revert").ok();
    });
}
