//! Captures: their packets come when they were captured, as long as they were and in the classes
//! that their headers ask for; and no file makes the reader panic.

use std::{fs, path::Path, slice};

use proptest::prelude::*;
use takt_sim::{Outcome, Setup, SetupError, qdisc::Takt};
use tempfile::TempDir;

use crate::common::{
    of, policy, run, setup,
    trace::{Packet, pcap_be, pcap_le, pcapng, pcapng_and, udp},
};

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;
const ETHERNET: u32 = 1;

/// The traffic file names the capture by a path that starts at its own folder.
fn prepare(file: &[u8], more: &str) -> Result<Setup, SetupError> {
    let folder = TempDir::new().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("trace.pcap"), file).expect("a capture");
    let text = format!(
        "[[source]]\nname = \"trace\"\nkind = \"capture\"\nfile = \"trace.pcap\"\n{more}\n"
    );
    fs::write(path("traffic.toml"), text).expect("a traffic file");
    load(&path("traffic.toml"))
}

/// The class `a` has what goes to UDP's port 0, `b` to 1, at 10 and 20 Mbit/s.
fn classes() -> String {
    policy("100mbit", &[("a", "10mbit"), ("b", "20mbit")])
}

fn load(traffic: &Path) -> Result<Setup, SetupError> {
    let policy = takt_policy::parse("policy", &classes()).expect("a policy");
    let traffic = takt_policy::traffic::load(traffic).unwrap_or_else(|error| panic!("{error}"));
    Setup::new(&policy, "policy", None, &traffic)
}

fn refusal(file: &[u8]) -> String {
    let error = prepare(file, "").err().expect("a refusal");
    error.to_string()
}

fn replay(file: &[u8], more: &str) -> Outcome {
    let setup = prepare(file, more).unwrap_or_else(|error| panic!("{error}"));
    run(&setup, &mut Takt::new(setup.tables.clone()), 2 * NS_PER_S)
}

/// For a second from the year 2023 on: 1,000 bytes to port 0 each millisecond, and 500 bytes to
/// port 1 half a millisecond later. Only the headers were captured.
fn two_flows() -> Vec<Packet> {
    let begin_ns = 1_700_000_000 * NS_PER_S + 999_999_999;
    let packets = (0..1000).flat_map(|at| {
        let first_ns = begin_ns + at * NS_PER_MS;
        let second_ns = first_ns + NS_PER_MS / 2;
        [
            (first_ns, 1000, udp(4000, 0, 0)),
            (second_ns, 500, udp(4000, 1, 0)),
        ]
    });
    packets.collect()
}

#[test]
fn packets_come_as_they_were_captured() {
    let outcome = replay(&pcap_le(ETHERNET, &two_flows()), "");
    // Frames take 24 bytes more on the wire, and the run is twice as long as the capture.
    for (name, wire_bytes) in [("a", 1024_u32), ("b", 524)] {
        let class = of(&outcome.classes, name);
        assert_eq!(class.delivered_packets, 1000);
        assert_eq!(class.offered_bps, f64::from(wire_bytes * 8 * 1000 / 2));
        // 100 Mbit/s take 80 ns for a byte, and no packet waits for another.
        let delay = class.delay.expect("packets");
        assert_eq!(delay.max_ns, u64::from(wire_bytes) * 80);
    }
    assert_eq!(of(&outcome.sources, "trace").offered_packets, 2000);
}

#[test]
fn a_capture_gives_the_same_run_in_all_formats() {
    let packets = two_flows();
    let first = replay(&pcap_le(ETHERNET, &packets), "");
    assert_eq!(replay(&pcap_le(ETHERNET, &packets), ""), first);
    assert_eq!(replay(&pcap_be(ETHERNET, &packets), ""), first);
    assert_eq!(replay(&pcapng(9, &packets), ""), first);
    // 2^-10 s: a quarter of a second is a whole number of them.
    let quarter = |ticks: u64| [0, 1].map(|at| (at * ticks, 100, udp(1, 0, 0)));
    let in_ns = replay(&pcapng(9, &quarter(NS_PER_S / 4)), "");
    assert_eq!(replay(&pcapng(0x80 | 10, &quarter(256)), ""), in_ns);
}

#[test]
fn start_and_stop_hold_for_captures() {
    let file = pcap_le(ETHERNET, &two_flows());
    let outcome = replay(&file, "start = \"1s\"\nstop = \"1500ms\"");
    // The packet of the moment at which it stops is not sent.
    assert_eq!(of(&outcome.classes, "a").offered_packets, 500);
    assert_eq!(of(&outcome.classes, "b").offered_packets, 500);
}

/// The capture wants 4.2 Mbit/s of `b`, and a greedy source all of it.
#[test]
fn captures_and_other_sources_share_classes() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("trace.pcap");
    fs::write(&file, pcap_le(ETHERNET, &two_flows())).expect("a capture");
    let traffic = format!(
        "[[source]]\nname = \"greedy\"\nkind = \"backlog\"\nheaders = {{ dst_port = 1 }}\n\
         flows = 3\n[[source]]\nname = \"trace\"\nkind = \"capture\"\nfile = {file:?}\n"
    );
    let setup = setup(&classes(), &traffic);
    assert_eq!(setup.sources, [0, 0, 0, 1, 1]);
    let outcome = run(&setup, &mut Takt::new(setup.tables.clone()), NS_PER_S);
    let [greedy, trace] = outcome.sources.as_slice() else {
        panic!("{outcome:?}");
    };
    // `a` has its 1,000 packets on time; `b` is full, and the capture's wait in its queue.
    assert_eq!(of(&outcome.classes, "a").delivered_packets, 1000);
    let of_b_bps = greedy.delivered_bps + trace.delivered_bps - 8_192_000.0;
    assert!((of_b_bps / 20e6 - 1.0).abs() < 1e-3, "{of_b_bps}");
    assert!(trace.delivered_packets > 1900, "{trace:?}");
}

#[test]
fn flows_are_told_apart_by_headers_and_belong_to_other_hosts() {
    let packets = [(7, 0, 0), (7, 0, 2), (7, 0, 3), (8, 0, 0), (7, 0, 0xb8)];
    let packets = packets.map(|(from, to, class)| (0, 60, udp(from, to, class)));
    let setup = prepare(&pcap_le(ETHERNET, &packets), "").unwrap_or_else(|error| panic!("{error}"));
    let flows = setup.flows.iter();
    let seen: Vec<_> = flows
        .map(|flow| (flow.key.src_port, flow.key.dscp, flow.ecn, flow.socket))
        .collect();
    // A mark of another host (3) says that its sender understands them (2).
    assert_eq!(
        seen,
        [(7, 0, 0, 0), (7, 0, 2, 0), (8, 0, 0, 0), (7, 46, 0, 0)]
    );
}

#[test]
fn packets_that_are_a_little_too_early_follow_the_one_before() {
    let times_ns = [NS_PER_S, NS_PER_S + 5, NS_PER_S + 5, NS_PER_S - 7];
    let packets = times_ns.map(|time_ns| (time_ns, 100, udp(1, 0, 0)));
    let outcome = replay(&pcap_le(ETHERNET, &packets), "");
    let delay = of(&outcome.classes, "a").delay.expect("packets");
    assert_eq!(of(&outcome.classes, "a").delivered_packets, 4);
    assert!(delay.max_ns < NS_PER_MS, "{delay:?}");
}

#[test]
fn what_cannot_be_replayed_names_the_packet_and_what_helps() {
    let good = (5 * NS_PER_S, 100, udp(1, 0, 0));
    let after_good = |packet: Packet| pcap_le(ETHERNET, &[good.clone(), packet]);
    let whole = after_good(good.clone());
    let frame = || udp(1, 0, 0);
    for (file, words) in [
        (Vec::new(), ["neither pcap nor pcapng", "tshark"]),
        (
            b"\x1f\x8b a compressed one".to_vec(),
            ["neither pcap", "decompress"],
        ),
        (pcap_le(ETHERNET, &[]), ["has no packets", "capture some"]),
        (
            pcap_le(113, slice::from_ref(&good)),
            ["packet 1 is of link type 113", "`any`"],
        ),
        (
            after_good((NS_PER_S, 60, frame())),
            ["packet 2 is more than a second earlier", "reordercap"],
        ),
        (
            after_good((100_000 * NS_PER_S, 60, frame())),
            ["packet 2 is more than a day later", "editcap"],
        ),
        (
            after_good((5 * NS_PER_S, 60, vec![0; 13])),
            ["of packet 2 13 bytes", "tcpdump -s 256"],
        ),
        (
            after_good((5 * NS_PER_S, 65_226, frame())),
            ["packet 2 has 65226 bytes", "ethtool"],
        ),
        (
            whole[..whole.len() - 1].to_vec(),
            ["ends within what follows packet 1", "1-1"],
        ),
        (
            pcapng(39, slice::from_ref(&good)),
            ["follows packet 0 is malformed", "capture again"],
        ),
    ] {
        let said = refusal(&file);
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
        assert!(said.contains("trace.pcap: "), "{said}");
    }
    // A record of 2 GiB.
    let mut huge = whole.clone();
    let at = huge.len() - frame().len() - 8;
    huge[at..at + 4].copy_from_slice(&(1u32 << 31).to_le_bytes());
    assert!(refusal(&huge).contains("follows packet 1 is malformed"));
}

/// Of every type of block that is not its own: one that holds a packet is refused by its number, and
/// others change nothing.
#[test]
fn no_block_with_a_packet_is_skipped() {
    let packets = two_flows();
    let whole = replay(&pcapng(9, &packets), "");
    let number = packets.len() + 1;
    for (kind, words) in [(2, "in a Packet Block"), (3, "Simple Packet Block")] {
        let said = refusal(&pcapng_and(9, &packets, kind));
        assert!(said.contains(&format!("packet {number} ")), "{said}");
        assert!(said.contains(words), "{said}");
    }
    // A journal's entry, other programs' own, and local and future ones.
    for kind in [9, 0xbad, 0x4000_0bad, 0x8000_1234, 0x7777] {
        assert_eq!(
            replay(&pcapng_and(9, &packets, kind), ""),
            whole,
            "{kind:#x}"
        );
    }
}

/// A segment of 64 KB that the host's card would have split, and UDP, which is never.
#[test]
fn long_tcp_packets_are_split_into_frames() {
    let mut tcp = udp(4000, 0, 0);
    tcp[23] = 6;
    tcp.extend([0; 8]);
    tcp[46] = 0x80;
    let segment = |bytes: u32| pcap_le(ETHERNET, &[(5 * NS_PER_S, bytes, tcp.clone())]);
    let setup = prepare(&segment(66 + 44 * 1448 + 10), "frame = 1514");
    let setup = setup.unwrap_or_else(|error| panic!("{error}"));
    let outcome = run(&setup, &mut Takt::new(setup.tables.clone()), NS_PER_S);
    let trace = of(&outcome.sources, "trace");
    assert_eq!(trace.delivered_packets, 45);
    let wire_bytes = 44 * (1514 + 24) + 76 + 24;
    assert_eq!(trace.delivered_bps, f64::from(wire_bytes * 8));
    assert!(refusal(&segment(66_000)).contains("frame = 1514"));
    let datagram = pcap_le(ETHERNET, &[(5 * NS_PER_S, 66_000, udp(1, 0, 0))]);
    assert!(prepare(&datagram, "frame = 1514").is_err());
}

#[test]
fn captures_have_the_flows_that_other_sources_leave() {
    let more =
        |flows: u32| format!("[[source]]\nname = \"more\"\nkind = \"backlog\"\nflows = {flows}");
    let file = pcap_le(ETHERNET, &two_flows());
    let full = prepare(&file, &more(199_998)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(full.flows.len(), 200_000);
    let said = prepare(&file, &more(199_999))
        .err()
        .expect("a refusal")
        .to_string();
    assert!(said.contains("more flows than the 1 that"), "{said}");
}

#[test]
fn a_missing_capture_is_named() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("traffic.toml");
    let text = "[[source]]\nname = \"a\"\nkind = \"capture\"\nfile = \"none.pcap\"\n";
    fs::write(&path, text).expect("a traffic file");
    let said = load(&path).err().expect("a refusal").to_string();
    assert!(said.contains("none.pcap: it cannot be opened"), "{said}");
}

/// A whole capture, changed in some places and cut somewhere.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let packets: Vec<Packet> = two_flows().into_iter().take(8).collect();
    let files = vec![
        pcap_le(ETHERNET, &packets),
        pcap_be(ETHERNET, &packets),
        pcapng(9, &packets),
    ];
    let change = (any::<prop::sample::Index>(), any::<u8>());
    let changes = prop::collection::vec(change, 0..6);
    (
        prop::sample::select(files),
        changes,
        any::<prop::sample::Index>(),
    )
        .prop_map(|(mut file, changes, end)| {
            for (at, byte) in changes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            file.truncate(end.index(file.len()) + 1);
            file
        })
}

proptest! {
    #[test]
    fn damaged_captures_are_refused_or_replayed(file in damaged()) {
        if let Ok(setup) = prepare(&file, "") {
            run(&setup, &mut Takt::new(setup.tables.clone()), NS_PER_S);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for magic in [0xa1b2_3c4d_u32, 0xa1b2_cd34, 0x4d3c_b2a1, 0x0a0d_0d0a] {
            let _ = prepare(&[&magic.to_le_bytes()[..], &bytes].concat(), "");
        }
    }
}
