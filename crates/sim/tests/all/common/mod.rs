//! Policies and traffic as text, and a run of both.

pub mod trace;

use takt_policy::{Beyond, Cells, Framing};
use takt_sim::{Figures, Outcome, Qdisc, Setup, Terms};

/// With preamble, gap and frame check sequence.
pub const ETHERNET: Framing = Framing {
    overhead_bytes: 24,
    min_frame_bytes: 0,
    cells: Cells::None,
    beyond: Beyond::Frame,
};

/// The classes, by names and rates, of a link that counts what a frame takes on the wire. The class
/// at this index has the packets to UDP's port of that index.
pub fn policy(link_rate: &str, classes: &[(&str, &str)]) -> String {
    let mut text = format!("[link.eth0]\nrate = \"{link_rate}\"\noverhead = 24\n");
    for (port, (name, rate)) in classes.iter().enumerate() {
        text.push_str(&format!(
            "[[link.eth0.class]]\nname = \"{name}\"\nrate = \"{rate}\"\n\
             match = {{ proto = \"udp\", dst_port = {port} }}\n"
        ));
    }
    text
}

pub fn setup(policy: &str, traffic: &str) -> Setup {
    let policy = takt_policy::parse("policy", policy).unwrap_or_else(|error| panic!("{error}"));
    let traffic = takt_policy::traffic::parse("traffic", traffic);
    let traffic = traffic.unwrap_or_else(|error| panic!("{error}"));
    Setup::new(&policy, "policy", None, &traffic).unwrap_or_else(|error| panic!("{error}"))
}

pub fn run(setup: &Setup, qdisc: &mut dyn Qdisc, duration_ns: u64) -> Outcome {
    let terms = Terms {
        seed: 1,
        duration_ns,
    };
    takt_sim::run(setup, "test", qdisc, terms)
}

pub fn of<'a>(rows: &'a [Figures], name: &str) -> &'a Figures {
    let row = rows.iter().find(|row| row.name == name);
    row.unwrap_or_else(|| panic!("no figures of {name}"))
}
