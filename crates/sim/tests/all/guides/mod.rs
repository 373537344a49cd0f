//! What guides and examples promise to their users' traffic, beside CAKE and FIFO.

mod air;
mod household;
mod report;
mod server;

use std::{collections::BTreeSet, fs, path::Path};

use self::report::Report;
use crate::command::{root, takt_sim, text};

/// Tests: a link of a policy, the traffic that its users have (a file in `traffic/`), for how long,
/// and what they are promised. Each link has one at least.
macro_rules! tried {
    ($($test:ident: $policy:literal, $link:literal, $traffic:literal, $duration:literal,
       $promise:path;)*) => {
        const TRIED: &[(&str, &str)] = &[$(($policy, $link)),*];

        $(#[test]
        fn $test() {
            $promise(&simulate($policy, $link, $traffic, $duration));
        })*
    };
}

tried! {
    guide_of_an_access_point:
        "docs/guides/access-point.md", "wlan0", "stations", "12s", air::one_bad_link_costs_little;
    guide_of_a_gateway:
        "docs/guides/home-gateway.md", "wan0", "household", "12s", household::calls_stay_clear;
    guide_of_a_gateway_at_night:
        "docs/guides/home-gateway.md", "wan0", "household-night", "8s",
        household::the_backup_has_the_rest;
    guide_of_a_gateway_downloading:
        "docs/guides/home-gateway.md", "wan0.download", "household-download", "5s",
        household::calls_stay_clear_of_downloads;
    guide_of_a_laptop:
        "docs/guides/laptop.md", "wlan0", "laptop", "12s", household::a_user_is_not_disturbed;
    guide_of_a_laptop_that_uploads:
        "docs/guides/laptop.md", "wlan0", "laptop-upload", "8s", household::the_backup_waits;
    guide_of_a_media_server:
        "docs/guides/media-server.md", "eth0", "viewers", "1500ms", server::viewers_have_a_pace;

    crowd_gateway:
        "examples/crowd-gateway.toml", "eth1", "room", "8s", household::packets_wait_here;
    gap:
        "examples/gap.toml", "eth0", "measurement", "700ms", server::spacing_is_exact;
    home_gateway:
        "examples/home-gateway.toml", "wan0", "household", "12s", household::calls_stay_clear;
    home_gateway_at_night:
        "examples/home-gateway.toml", "wan0", "household-night", "8s",
        household::the_backup_has_the_rest;
    laptop:
        "examples/laptop.toml", "wlan0", "laptop", "12s", household::a_user_is_not_disturbed;
    laptop_that_uploads:
        "examples/laptop.toml", "wlan0", "laptop-upload", "8s", household::the_backup_waits;
    media_server:
        "examples/media-server.toml", "eth0", "streams", "1500ms", server::streams_are_on_the_beat;
    per_flow:
        "examples/per-flow.toml", "eth0", "clients", "1500ms", server::clients_have_a_pace;
    radio_gateway:
        "examples/radio-gateway.toml", "eth1", "stations", "12s", air::one_bad_link_costs_little;
    tenants:
        "examples/tenants.toml", "eth0", "tenants", "2500ms", server::tenants_have_their_share;
    tenants_with_room:
        "examples/tenants.toml", "eth0", "tenants-web", "2s", server::spare_capacity_is_halved;
    tenant_alone:
        "examples/tenants.toml", "eth0", "tenant-alone", "1500ms", server::a_tenant_borrows;
    two_ports_sensors:
        "examples/two-ports.toml", "lan0", "sensors", "4s", server::sensors_are_paced;
    two_ports_replication:
        "examples/two-ports.toml", "fiber0.100", "replication", "200ms",
        server::replication_is_paced;
    wifi_media_gateway_to_stations:
        "examples/wifi-media-gateway.toml", "wlan0", "broadcast", "12s",
        air::streams_reach_every_station;
    wifi_media_gateway_to_the_house:
        "examples/wifi-media-gateway.toml", "eth0", "house", "5s",
        household::streams_do_not_wait_for_the_backup;
}

/// Where policies are, and how the names of these files end.
const FOLDERS: [(&str, &str); 2] = [("docs/guides", "md"), ("examples", "toml")];

/// The policy with links of an example, or the one that a guide has its reader write; `None` if
/// there is none.
fn policy_with_links(path: &str) -> Option<String> {
    let text = fs::read_to_string(root().join(path)).expect("a guide or an example");
    if path.ends_with(".toml") {
        return has_links(&text).then_some(text);
    }
    let blocks = text.split("<<'END'\n").skip(1);
    let blocks = blocks.map(|rest| rest.split_once("\nEND\n").expect("its end").0);
    let mut with_links = blocks.filter(|policy| has_links(policy));
    let policy = with_links.next();
    assert_eq!(
        with_links.next(),
        None,
        "{path}: a policy that is not tried"
    );
    policy.map(str::to_owned)
}

fn has_links(policy: &str) -> bool {
    policy.lines().any(|line| line.starts_with("[link."))
}

/// Takt, CAKE and a FIFO with the traffic of this name.
fn simulate(policy: &str, link: &str, traffic: &str, duration: &str) -> Report {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("policy.toml");
    fs::write(&file, policy_with_links(policy).expect("a policy")).expect("written");
    let file = file.to_str().expect("UTF-8");
    let traffic = format!("crates/sim/tests/all/guides/traffic/{traffic}.toml");
    let output = takt_sim(&[
        file,
        "--link",
        link,
        "--traffic",
        &traffic,
        "--duration",
        duration,
        "--beside",
        "cake,fifo",
        "--output",
        "json",
    ]);
    Report::new(&text(&output))
}

fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|it| it == ending));
    paths
        .map(|path| {
            path.file_name()
                .expect("a name")
                .to_str()
                .expect("UTF-8")
                .to_owned()
        })
        .collect()
}

#[test]
fn no_link_of_a_guide_or_an_example_is_forgotten() {
    let mut there = BTreeSet::new();
    for (folder, ending) in FOLDERS {
        for name in names(&root().join(folder), ending) {
            let path = format!("{folder}/{name}");
            let Some(text) = policy_with_links(&path) else {
                continue;
            };
            let policy = takt_policy::parse(&path, &text).expect("a policy");
            assert!(policy.warnings.is_empty(), "{}", policy.warnings);
            there.extend(
                policy
                    .links
                    .into_iter()
                    .map(|link| (path.clone(), link.device)),
            );
        }
    }
    let tried = TRIED
        .iter()
        .map(|(path, link)| ((*path).to_owned(), (*link).to_owned()));
    assert_eq!(there, tried.collect());
}
