//! Which of the laboratory's tests tell most about a change: few, for a developer's loop.

/// The beginning of paths in the repository, and modules or single tests of the laboratory. The
/// longest beginning counts.
type Tells = (&'static str, &'static [&'static str]);

/// What sends packets over a link.
const LINK: &[&str] = &["traffic", "levels", "replace::no_queued_packet_is_lost"];
const CLASSIFY: &[&str] = &["classify::by_protocol_and_ports", "traffic"];
const BEATS: &[&str] = &["beats::every_job_begins_on_its_beat", "levels"];
const TURNS: &[&str] = &["turns::members_hand_over_in_order"];
const GATE: &[&str] = &["gate::a_more_important_task_holds", "traffic"];
const GAP: &[&str] = &["gap::spacing_is_exact", "gap::revert_ends_the_feeder"];
const CROWD: &[&str] = &["crowd_bounds", "crowd::a_device_may_vanish"];
const RADIO: &[&str] = &["radio::shares_follow_weights"];
const RECEIVE: &[&str] = &["receive::takes_its_turn"];
const OWNERS: &[&str] = &["owners::by_what_the_owner_is"];
const DSCP: &[&str] = &["dscp::before_takts_qdisc"];
const HOSTS: &[&str] = &["hosts::hosts_behind_nat_share_both_directions"];
const MARKS: &[&str] = &["ecn::the_program_that_marks_goes"];
const STOCK: &[&str] = &[
    "tree::shares_are_kept",
    "foreign::is_given_back_with_its_options",
];
const SOCKETS: &[&str] = &["socket_rates::rates_are_kept"];
const SEGMENTS: &[&str] = &["segments::of_a_slow_link_are_short"];
const WATCHED: &[&str] = &["watched::losses_are_told"];
const VECTORS: &[&str] = &["vectors"];
const APPLY: &[&str] = &[
    "replace::the_same_policy",
    "refused::what_fails_half_way",
    "traffic",
];
const DAEMON: &[&str] = &["background::what_a_user_registers", "service::it_starts"];
const CLI: &[&str] = &["codes"];
/// Unit tests say it.
const NONE: &[&str] = &[];

const TABLE: &[Tells] = &[
    ("algo/", LINK),
    ("algo/bandwidth.h", CROWD),
    ("algo/blocked.h", GATE),
    ("algo/classify.h", CLASSIFY),
    ("algo/download.h", CROWD),
    ("algo/burst.h", RADIO),
    ("algo/dscp.h", DSCP),
    ("algo/early.h", BEATS),
    ("algo/ecn.h", MARKS),
    ("algo/forwarded.h", CROWD),
    ("algo/gap.h", GAP),
    ("algo/gate.h", GATE),
    ("algo/headers.h", CLASSIFY),
    ("algo/kind.h", RADIO),
    ("algo/lead.h", BEATS),
    ("algo/ports.h", CLASSIFY),
    ("algo/share.h", RADIO),
    ("algo/slots.h", BEATS),
    ("algo/starve.h", BEATS),
    ("algo/station", RADIO),
    ("algo/turns.h", TURNS),
    ("algo/uploads.h", CROWD),
    ("algo/vectors/", VECTORS),
    ("algo/weigh.h", RADIO),
    ("algo/window.h", CROWD),
    ("bpf/beats/", BEATS),
    ("bpf/crowd/", CROWD),
    ("bpf/dscp/", DSCP),
    ("bpf/edt/", STOCK),
    ("bpf/flow/", SOCKETS),
    ("bpf/include/", LINK),
    ("bpf/inside/", HOSTS),
    ("bpf/link/", LINK),
    ("bpf/mark/", MARKS),
    ("bpf/monitor/", WATCHED),
    ("bpf/owner/", OWNERS),
    ("bpf/receive/", RECEIVE),
    ("bpf/tree/", STOCK),
    ("bpf/vectors/", VECTORS),
    ("crates/host/src/", APPLY),
    ("crates/host/src/beats/", BEATS),
    ("crates/host/src/crowd/", CROWD),
    ("crates/host/src/helper/", GATE),
    ("crates/host/src/helper/gap/", GAP),
    ("crates/host/src/link/", LINK),
    ("crates/host/src/link/receive/", RECEIVE),
    ("crates/host/src/link/sockets/", OWNERS),
    ("crates/host/src/monitor/", WATCHED),
    ("crates/host/src/radio/", RADIO),
    ("crates/host/src/reservations/", TURNS),
    ("crates/host/src/segments/", SEGMENTS),
    ("crates/host/src/stock/", STOCK),
    ("crates/host/src/stock/flow/", SOCKETS),
    ("crates/cli/", CLI),
    // A test of the laboratory that changed is run itself.
    ("crates/cli/tests/", NONE),
    ("crates/daemon/", DAEMON),
    ("crates/daemon/src/crowd/", CROWD),
    ("crates/daemon/src/radio/", RADIO),
    ("crates/daemon/src/beats/", TURNS),
];

/// Where the laboratory's tests are.
const TESTS: &str = "crates/cli/tests/lab/";

/// The tests for a change of these files, as filters for libtest.
pub fn tests_for<'a>(changed: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut tests = Vec::new();
    for path in changed {
        let own = path
            .strip_prefix(TESTS)
            .and_then(|file| file.strip_suffix(".rs"));
        tests.extend(own.map(|module| format!("{module}::")));
        tests.extend(of(path).unwrap_or_default().iter().map(|test| filter(test)));
    }
    tests.sort();
    tests.dedup();
    tests
}

/// None if the table is silent.
fn of(path: &str) -> Option<&'static [&'static str]> {
    let those = TABLE
        .iter()
        .filter(|(beginning, _)| path.starts_with(beginning));
    let (_, tests) = those.max_by_key(|(beginning, _)| beginning.len())?;
    Some(tests)
}

fn filter(test: &str) -> String {
    if test.contains("::") {
        test.to_owned()
    } else {
        format!("{test}::")
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    fn files_below(folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![Path::new(ROOT).join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let within = path.strip_prefix(ROOT).unwrap();
                    found.push(within.to_str().unwrap().to_owned());
                }
            }
        }
        found
    }

    fn covered() -> Vec<String> {
        let folders = [
            "algo",
            "bpf",
            "crates/host/src",
            "crates/cli",
            "crates/daemon",
        ];
        folders.into_iter().flat_map(files_below).collect()
    }

    #[test]
    fn every_file_has_its_tests() {
        for file in covered() {
            assert!(of(&file).is_some(), "{file}");
        }
    }

    #[test]
    fn every_line_is_about_files_that_there_are() {
        let files = covered();
        for (beginning, _) in TABLE {
            let has = files.iter().any(|file| file.starts_with(beginning));
            assert!(has, "{beginning}");
        }
    }

    #[test]
    fn every_test_exists() {
        let main = fs::read_to_string(Path::new(ROOT).join(TESTS).join("main.rs")).unwrap();
        for test in TABLE.iter().flat_map(|(_, tests)| tests.iter()) {
            let (module, function) = test.split_once("::").unwrap_or((test, ""));
            assert!(main.contains(&format!("\nmod {module};")), "{test}");
            let file = Path::new(ROOT).join(TESTS).join(format!("{module}.rs"));
            let text = fs::read_to_string(file).unwrap();
            assert!(text.contains(&format!("fn {function}")), "{test}");
        }
    }

    #[test]
    fn the_longest_beginning_counts() {
        assert_eq!(
            tests_for(["algo/gap.h"]),
            GAP.iter().map(|it| filter(it)).rev().collect::<Vec<_>>()
        );
        assert_eq!(
            tests_for([
                "crates/cli/src/main.rs",
                "crates/cli/tests/lab/many.rs",
                "docs/x.md"
            ]),
            ["codes::", "many::"]
        );
    }
}
