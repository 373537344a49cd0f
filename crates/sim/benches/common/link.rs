//! The scenario of these benchmarks: UDP flows of constant rates fill nine tenths of a link.

use takt_sim::Setup;

pub const LINK_BPS: u64 = 100_000_000_000;
pub const OVERHEAD_BYTES: u32 = 24;
/// What Ethernet's wire takes for a frame of 1500 bytes.
pub const FRAME_BITS: u64 = 1538 * 8;

/// So many flows, with a class of these terms.
pub fn setup(flows: u64, class: &str) -> Setup {
    let rate_bps = LINK_BPS * 9 / 10 / flows;
    let policy = format!(
        "[link.eth0]\nrate = \"{LINK_BPS}bit\"\noverhead = {OVERHEAD_BYTES}\n\
         [[link.eth0.class]]\n{class}\n"
    );
    let traffic = format!(
        "[[source]]\nname = \"all\"\nkind = \"cbr\"\nflows = {flows}\nrate = \"{rate_bps}bit\"\n\
         headers = {{ dst = \"10.0.0.0/8\" }}\n"
    );
    let policy = takt_policy::parse("policy", &policy).expect("a policy");
    let traffic = takt_policy::traffic::parse("traffic", &traffic).expect("traffic");
    Setup::new(&policy, "policy", None, &traffic).expect("a setup")
}

/// The time that takes so many packets.
pub fn duration_ns(packets: u64) -> u64 {
    packets * FRAME_BITS * 10 / 9 / (LINK_BPS / 1_000_000_000)
}
