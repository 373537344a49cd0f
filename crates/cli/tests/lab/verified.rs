//! The verifier's work before a policy is in force.

use libbpf_rs::query::{ProgInfoIter, ProgramInfo};

use crate::{
    everything::EVERYTHING,
    machine::{DEFAULT, NEWEST},
    takt::{apply, takt},
    wire::Wire,
};

/// A small part of the million instructions at which the verifier gives up. With more, an apply
/// takes noticeably long.
const MOST_INSTRUCTIONS: u32 = 50_000;

const KEY: &str = "/lab/verified.key";
const CROWD: &str = "
[crowd]
group = \"lab\"
key_file = \"/lab/verified.key\"
device = \"near1\"
downloads = true
";

/// Loops are verified once, whatever their bounds (docs/adr/0016).
fn is_far_from_its_limit(_wires: &[Wire; 2]) {
    takt(&format!("crowd key {KEY}")).ok();
    apply(&format!("{EVERYTHING}{CROWD}")).ok();
    let is_takts = |found: &ProgramInfo| found.name.to_string_lossy().starts_with("takt");
    let programs: Vec<_> = ProgInfoIter::default().filter(is_takts).collect();
    for program in &programs {
        println!("{:7} {:?}", program.verified_insns, program.name);
    }
    assert!(programs.len() > 10);
    for program in programs {
        assert!(
            program.verified_insns <= MOST_INSTRUCTIONS,
            "{:?}",
            program.name
        );
    }
}

#[test]
fn is_far_from_its_limit_on_the_default_kernel() {
    DEFAULT
        .alone()
        .run(|| is_far_from_its_limit(&[1, 2].map(Wire::new)));
}

#[test]
fn is_far_from_its_limit_on_the_newest_kernel() {
    NEWEST
        .alone()
        .run(|| is_far_from_its_limit(&[1, 2].map(Wire::new)));
}
