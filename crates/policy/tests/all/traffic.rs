//! Traffic files: what is refused, in `tests/bad_traffic/` and rendered in `snapshots/`, and that
//! no text makes the reader panic.

use std::path::Path;

use proptest::prelude::*;
use takt_policy::traffic::{Distribution, Kind, parse};

#[test]
fn every_bad_file_is_refused_in_clear_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_traffic");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let found = parse(&format!("{name}.toml"), &text);
        let found = found.expect_err(&format!("{name} is accepted"));
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("traffic_{name}"), found.render(false));
        });
        seen += 1;
    }
    assert!(seen > 10);
}

#[test]
fn defaults_are_filled_in() {
    let text = "[host]\ntimer_late = [[\"0ns\", 9], [\"5us\", 1]]\n\
                [[source]]\nname = \"a\"\nkind = \"backlog\"\n\
                [[source]]\nname = \"b\"\nkind = \"tcp\"\nrtt = \"20ms\"\n";
    let traffic = parse("test", text).unwrap();
    assert_eq!(
        traffic.host.timer_late,
        Distribution::Histogram(vec![(0, 9), (5_000, 1)])
    );
    assert_eq!(traffic.host.packet_cost, Distribution::Constant(0));
    assert_eq!(traffic.device.queue_packets, 2);
    let [backlog, tcp] = traffic.sources.as_slice() else {
        panic!("{traffic:?}");
    };
    assert_eq!(backlog.kind, Kind::Backlog { packets: 8 });
    assert_eq!(
        (backlog.frame_bytes, backlog.flows, backlog.stop_ns),
        (1514, 1, None)
    );
    assert_eq!(
        (backlog.headers.proto, tcp.headers.proto),
        (Some(17), Some(6))
    );
}

/// The parts that files are made of, right and wrong ones.
const PARTS: &[&str] = &[
    "[[source]]\n",
    "[[source]]\nname = \"a\"\nkind = \"backlog\"\n",
    "[device]\n",
    "[host]\n",
    "[[station]]\n",
    "medium = \"today\"\n",
    "address = \"192.0.2.1\"\n",
    "snr = ",
    "[[\"1s\", 25], [\"2s\", -3.5]]",
    "[measure]\n",
    "timer_late = ",
    "packet_cost = ",
    "after = ",
    "name = ",
    "kind = ",
    "rate = ",
    "flows = ",
    "frame = ",
    "headers = ",
    "shape = ",
    "bytes = ",
    "rtt = ",
    "on = ",
    "off = ",
    "\"cbr\"",
    "\"pareto\"",
    "\"tcp\"",
    "\"20ms\"",
    "\"1mbit\"",
    "[\"1us\", \"2us\"]",
    "[[\"1us\", 5], [\"2us\", 0x10]]",
    "[[], 1]",
    "{ dst_port = \"1-5\" }",
    "{ src = \"::/0\", dst = \"0.0.0.0/0\" }",
    "{}",
    "18446744073709551616",
    "-1",
    "1.5",
    "\u{1b}[2J",
    "\"\"\"",
    "\n",
    "=",
    " ",
];

proptest! {
    #[test]
    fn no_text_makes_it_panic(parts in prop::collection::vec(prop::sample::select(PARTS), 0..40)) {
        if let Err(error) = parse("test", &parts.concat()) {
            prop_assert!(!error.render(false).is_empty());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse("test", &String::from_utf8_lossy(&bytes));
    }
}
