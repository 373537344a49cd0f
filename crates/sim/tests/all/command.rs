//! The program: what it prints, that it prints it again, and what it refuses.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Called in the repository's root, so that no output names a place of this host.
pub fn takt_sim(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_takt-sim"))
        .current_dir(root())
        .args(arguments)
        .output()
        .expect("takt-sim starts")
}

pub fn text(output: &Output) -> String {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

const GATEWAY: [&str; 3] = [
    "examples/home-gateway.toml",
    "--traffic",
    "examples/traffic/home-gateway.toml",
];

fn gateway<'a>(more: &[&'a str]) -> Vec<&'a str> {
    GATEWAY.into_iter().chain(more.iter().copied()).collect()
}

/// `cargo insta review` shows what a change does to them.
#[test]
fn tables_fit_80_columns_and_are_as_they_were() {
    let compared = ["--beside", "tree,fifo"];
    for (name, arguments) in [("one", gateway(&[])), ("several", gateway(&compared))] {
        let text = text(&takt_sim(&arguments));
        let long = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
}

#[test]
fn a_seed_gives_the_same_bytes_and_another_others() {
    let json = |seed: &str| text(&takt_sim(&gateway(&["--output", "json", "--seed", seed])));
    let first = json("7");
    assert_eq!(json("7"), first);
    assert_ne!(json("8"), first);
}

/// Each seed's run is what it is alone, whatever runs beside it.
#[test]
fn seeds_give_means_with_intervals() {
    let short = ["--duration", "3s", "--beside", "fifo", "--output", "json"];
    let json = |more: &[&str]| -> serde_json::Value {
        let arguments: Vec<&str> = gateway(&short)
            .into_iter()
            .chain(more.iter().copied())
            .collect();
        serde_json::from_str(&text(&takt_sim(&arguments))).expect("JSON")
    };
    let several = json(&["--seeds", "3..6"]);
    assert_eq!(several["seeds"], serde_json::json!([3, 4, 5, 6]));
    let alone = ["3", "4", "5", "6"].map(|seed| json(&["--seed", seed]));
    for run in 0..2 {
        let class = &several["variants"][0]["runs"][run]["classes"][0];
        let rates = alone.each_ref().map(|one| {
            let class = &one["variants"][0]["runs"][run]["classes"][0];
            class["delivered_bps"].as_f64().expect("a number")
        });
        let mean = rates.iter().sum::<f64>() / 4.0;
        let spread = &class["delivered_bps"];
        assert!((spread["mean"].as_f64().expect("a number") - mean).abs() < 1e-3);
        assert!(spread["half"].as_f64().expect("a number") >= 0.0);
        assert_eq!(spread["max"], rates.iter().copied().fold(0.0, f64::max));
        assert_eq!(spread["seeds"], 4);
    }

    let table = text(&takt_sim(&gateway(&[
        "--duration",
        "3s",
        "--seeds",
        "1..3",
    ])));
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert!(
        table.contains("seeds 1 to 3") && table.contains('±'),
        "{table}"
    );
}

#[test]
fn a_page_has_curves_and_all_numbers() {
    let page = text(&takt_sim(&gateway(&[
        "--output",
        "html",
        "--beside",
        "fifo",
        "--duration",
        "3s",
    ])));
    assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    assert!(page.contains("<polyline") && page.contains("Rates over time"));
    assert!(page.contains("calls"));
    let radio = [
        "examples/radio-gateway.toml",
        "--traffic",
        "examples/traffic/radio-gateway.toml",
        "--output",
        "html",
    ];
    assert!(text(&takt_sim(&radio)).contains("television"));
}

/// Every quantity's name ends in its unit.
#[test]
fn json_has_units() {
    let json = text(&takt_sim(&gateway(&[
        "--output",
        "json",
        "--compare",
        "examples/home-gateway.toml",
    ])));
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let variants = value["variants"].as_array().expect("a list");
    assert_eq!(variants[0]["runs"], variants[1]["runs"]);
    let class = &variants[0]["runs"][0]["classes"][0];
    let mut numbers = 0;
    let mut check = |name: &str, value: &serde_json::Value| {
        if value.is_number() {
            let units = ["_bps", "_ns", "_ppm", "_packets", "_percent"];
            assert!(units.iter().any(|unit| name.ends_with(unit)), "{name}");
            numbers += 1;
        }
    };
    for (name, value) in class.as_object().expect("an object") {
        check(name, value);
        value
            .as_object()
            .into_iter()
            .flatten()
            .for_each(|(name, value)| check(name, value));
    }
    assert!(numbers > 10, "{class}");
}

/// Each file in `examples/traffic` is for the policy of the same name.
#[test]
fn examples_work() {
    let folder = root().join("examples/traffic");
    let mut seen = 0;
    for entry in fs::read_dir(folder).expect("examples") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("UTF-8");
        let policy = format!("examples/{name}");
        let traffic = format!("examples/traffic/{name}");
        let text = text(&takt_sim(&[
            &policy,
            "--traffic",
            &traffic,
            "--duration",
            "3s",
        ]));
        assert!(text.contains("takt: "), "{text}");
        seen += 1;
    }
    assert!(seen >= 2);
}

#[test]
fn what_is_wrong_is_refused_with_the_place_and_the_fix() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("it is written");
        path.to_str().expect("UTF-8").to_owned()
    };
    let source = "[[source]]\nname = \"a\"\nkind = \"backlog\"\n";
    let good = file("good.toml", source);
    let unknown = file("unknown.toml", &format!("{source}ratee = \"1mbit\"\n"));
    let air = "[device]\nmedium = \"802.11g\"\n[[station]]\nname = \"n\"\n\
               address = \"192.0.2.7\"\nsnr = 25\n";
    let lost = file("lost.toml", &format!("{air}{source}"));
    let air = file(
        "air.toml",
        &format!("{air}{source}headers = {{ dst = \"192.0.2.7\" }}\n"),
    );
    let radio = "examples/radio-gateway.toml";
    let tasks = file(
        "task.toml",
        "[[task]]\nname = \"a\"\nperiod = \"40ms\"\nbudget = \"1ms\"\n",
    );
    let two = file(
        "two.toml",
        "[link.a]\nrate = \"1gbit\"\n[link.b]\nrate = \"1gbit\"\n",
    );
    let policy = "examples/home-gateway.toml";
    for (policy, traffic, says) in [
        (policy, unknown.as_str(), "did you mean `rate`?"),
        (policy, "none.toml", "there is no file none.toml"),
        (radio, &good, "take [radio] out"),
        (
            policy,
            &lost,
            "sends to 198.51.100.1, which is no [[station]]",
        ),
        ("examples/gap.toml", &air, "which has no position on a wire"),
        (&tasks, &good, "has no link"),
        (&two, &good, "say which one with --link"),
    ] {
        let output = takt_sim(&[policy, "--traffic", traffic]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(says), "{error}");
        let output = takt_sim(&[policy, "--traffic", traffic, "--output", "json"]);
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert!(value["errors"][0]["message"].is_string(), "{value}");
    }
    let gaps = [policy, "--traffic", &air, "--beside", "pspacer"];
    let error = takt_sim(&gaps).stderr;
    let error = String::from_utf8_lossy(&error);
    assert!(error.contains("take it out of --beside"), "{error}");
    for (seeds, says) in [
        (&["--seeds", "9..2"][..], "must be greater than the first"),
        (&["--seeds", "1..2", "--seed", "3"], "cannot be used with"),
        (
            &["--seeds", "1..2", "--output", "html"],
            "leave out --seeds",
        ),
    ] {
        let output = takt_sim(&gateway(seeds));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(says), "{error}");
    }
    let tree = file(
        "tree.toml",
        "[link.a]\nrate = \"1gbit\"\nbackend = \"tree\"\n",
    );
    let run = text(&takt_sim(&[&tree, "--traffic", &good, "--duration", "1ms"]));
    assert!(run.contains("a at 1gbit, tree"), "{run}");
    let short = takt_sim(&gateway(&["--duration", "2s"]));
    let error = String::from_utf8_lossy(&short.stderr);
    assert!(error.contains("measures after 2s"), "{error}");
    let chosen = takt_sim(&[&two, "--traffic", &good, "--link", "b", "--duration", "1ms"]);
    assert!(text(&chosen).contains("b at 1gbit"));
    let missed = takt_sim(&[&two, "--traffic", &good, "--link", "c"]);
    let error = String::from_utf8_lossy(&missed.stderr);
    assert!(error.contains("has no link c; it has a, b"), "{error}");
}
