//! An access point thins acknowledgements in the queue of its link, and what TCP transfers stays
//! whole.

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use takt_wlan::{
    crowd::{Activity, Own, Radio, Terminal, Terms},
    listener::speak,
    read_key,
    sealed::DATAGRAM_MAX_BYTES,
};

use crate::{
    flow::{in_far_namespace, in_namespace},
    inventory::Inventory,
    kernel_bpf::wait_for,
    machine::{DEFAULT, NEWEST},
    over::Over,
    reporting::Daemon,
    shell::{run, run_far},
    takt::{Class, apply, assert_no_trace, link, takt},
    terminals::KEY,
    wire::Wire,
};

/// So slow that acknowledgements queue.
const LINK: &str = "[link.near1]\nrate = \"200kbit\"\n";
const ACCESS_POINT: &str = "[crowd]\naccess_point = true\ndevice = \"near1\"\n";
const TRANSFER_BYTES: usize = 32 << 20;

fn thinning() -> String {
    format!("{ACCESS_POINT}{LINK}")
}

fn default_class() -> Class {
    link("near1").class("default").clone()
}

/// A namespace whose packets are forwarded through this host.
fn make_client(wire: &Wire) {
    run("ip netns add c").ok();
    run("ip link add mid type veth peer name end netns c").ok();
    run("ip addr add 10.50.0.1/24 dev mid").ok();
    run("ip link set mid up").ok();
    run("ip -n c addr add 10.50.0.2/24 dev end").ok();
    run("ip -n c link set end up").ok();
    run("ip -n c route add default via 10.50.0.1").ok();
    run("sysctl -qw net.ipv4.ip_forward=1").ok();
    run_far(&format!("ip route add 10.50.0.0/24 via {}", wire.near_v4())).ok();
}

fn remove_client() {
    run_far("ip route del 10.50.0.0/24").ok();
    run("sysctl -qw net.ipv4.ip_forward=0").ok();
    run("ip link del mid").ok();
    run("ip netns del c").ok();
}

/// A download to this namespace from the far one. Returns how many acknowledgements were thinned
/// meanwhile.
fn download(wire: &Wire, to: &str) -> u64 {
    let before = default_class().thinned_packets;
    let address: Ipv4Addr = wire.far_v4().parse().unwrap();
    let listener = in_far_namespace(|| TcpListener::bind((address, 0)).unwrap());
    let at = listener.local_addr().unwrap();
    let content: Vec<u8> = (0..TRANSFER_BYTES as u32 / 4)
        .flat_map(|number| number.to_be_bytes())
        .collect();
    let received = thread::scope(|scope| {
        scope.spawn(|| listener.accept().unwrap().0.write_all(&content).unwrap());
        let receive = || {
            let mut received = Vec::new();
            let mut from = TcpStream::connect(at).unwrap();
            from.read_to_end(&mut received).unwrap();
            received
        };
        match to {
            "" => receive(),
            netns => in_namespace(netns, receive),
        }
    });
    assert!(received == content, "{} bytes arrived", received.len());
    // Those of what came last are still queued.
    wait_for(|| link("near1").queued_packets == 0);
    let class = default_class();
    assert!(class.adds_up(), "{class:#?}");
    class.thinned_packets - before
}

#[test]
fn acknowledgements_are_thinned_and_what_is_transferred_stays_whole() {
    for machine in [DEFAULT, NEWEST] {
        machine.run(|| {
            let before = Inventory::take();
            let wire = Wire::new(1);
            make_client(&wire);
            apply(LINK).ok();
            assert_eq!(download(&wire, ""), 0);
            assert_eq!(download(&wire, "c"), 0);

            apply(&thinning()).says(&["near1: updated"]).ok();
            for to in ["", "c"] {
                let thinned = download(&wire, to);
                println!("{thinned} thinned to {to:?}");
                assert!(thinned > 20, "{thinned} to {to:?}");
            }
            run_far("tc qdisc add dev far1 root netem loss 2%").ok();
            for to in ["", "c"] {
                let thinned = download(&wire, to);
                println!("{thinned} thinned to {to:?}, with losses");
                assert!(thinned > 0, "none to {to:?}");
            }
            run_far("tc qdisc del dev far1 root").ok();

            apply(LINK).says(&["near1: updated"]).ok();
            assert_eq!(download(&wire, "c"), 0);

            // Without a crowd.
            apply(&format!("{LINK}acks = \"thin\"\n"))
                .says(&["near1: updated"])
                .ok();
            assert!(download(&wire, "c") > 20);
            takt("revert").ok();
            assert_no_trace();
            remove_client();
            drop(wire);
            before.assert_is_back();
        });
    }
}

/// Three members report every 200 ms that they send at this rate, and every third frame again if
/// it is low.
fn report(wire: &Wire, phy_mbps: &AtomicU64, is_over: &AtomicBool) {
    let to = format!("{}:7642", wire.near_v4()).parse().unwrap();
    let from = format!("{}:7642", wire.far_v4()).parse().unwrap();
    let voice = speak("far1", from, to).unwrap();
    let now_ns = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        now.as_nanos() as u64
    };
    let own = |number| Own {
        key: read_key(Path::new(KEY)).unwrap().of_group("test"),
        number,
        epoch: now_ns(),
        interval_ns: 200_000_000,
    };
    let mut members: Vec<Terminal> = (1..=3)
        .map(|number| Terminal::new(now_ns(), own(number), Terms::default(), 0))
        .collect();
    while !is_over.load(Ordering::Relaxed) {
        let mbps = phy_mbps.load(Ordering::Relaxed);
        let activity = Activity {
            rate_bytes_ps: 100_000,
            flows: 1,
            radio: Radio {
                phy_bps: mbps * 1_000_000,
                retries_q10: if mbps < 54 { 341 } else { 0 },
            },
            ..Activity::default()
        };
        for member in &mut members {
            member.period(now_ns(), activity);
            let mut datagram = [0; DATAGRAM_MAX_BYTES];
            if let Some(sealed) = member.report(now_ns(), now_ns() as u32, &mut datagram) {
                let sent = voice.send(sealed).map_err(|error| error.kind());
                // taktd may not listen yet.
                assert!(matches!(sent, Ok(_) | Err(ErrorKind::ConnectionRefused)));
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn paused_ms() -> u64 {
    link("near1").thinning_paused_ms.expect("the link thins")
}

#[test]
fn pauses_where_rates_fall_as_stations_contend() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        let _ = fs::remove_file(KEY);
        takt(&format!("crowd key {KEY}")).ok();
        apply(LINK).ok();
        assert_eq!(link("near1").thinning_paused_ms, None);
        apply(&format!(
            "[crowd]\ngroup = \"test\"\nkey_file = \"crowd.key\"\naggregate = true\n\
             access_point = true\ndevice = \"near1\"\n{LINK}"
        ))
        .ok();
        let daemon = Daemon::start();
        let (phy_mbps, is_over) = (AtomicU64::new(54), AtomicBool::new(false));
        thread::scope(|scope| {
            let _over = Over(&is_over);
            scope.spawn(|| in_far_namespace(|| report(&wire, &phy_mbps, &is_over)));
            thread::sleep(Duration::from_secs(2));
            takt("crowd neighbours")
                .says(&["aggregator", "10.1.0.2"])
                .ok();
            assert_eq!(paused_ms(), 0);
            assert!(download(&wire, "") > 20);

            phy_mbps.store(11, Ordering::Relaxed);
            thread::sleep(Duration::from_secs(3));
            let before_ms = paused_ms();
            assert!((200_000..=300_000).contains(&before_ms), "{before_ms}");
            takt("status")
                .says(&["acknowledgements are not thinned for "])
                .ok();
            assert_eq!(download(&wire, ""), 0);
        });
        // The kernel's pause runs out by itself, and begins when the rates fell last.
        daemon.kill();
        let before_ms = paused_ms();
        thread::sleep(Duration::from_secs(1));
        assert!((1..before_ms).contains(&paused_ms()), "{before_ms}");
        // The next one removes what the killed one left.
        Daemon::start().end();
        takt("revert").ok();
    });
}
