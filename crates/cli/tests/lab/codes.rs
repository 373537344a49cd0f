//! One failure has one code: as text and as JSON, from `check` and from `apply`, with the same
//! position in the policy and the same exit code.

use std::{fs, os::unix::process::CommandExt, process::Command};

use serde_json::Value;

use crate::{
    inventory::Inventory,
    machine::DEFAULT,
    shell::{Ran, run, run_command},
    takt::{POLICY, apply, takt},
    wire::Wire,
};

/// A failure's report, in either form.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    status: Option<i32>,
    /// Without the leading `takt::`.
    code: String,
    /// Line and column in the policy.
    place: Option<(u64, u64)>,
}

impl Told {
    fn by_text(ran: &Ran) -> Self {
        let mut lines = ran.stderr.lines();
        let code = lines.find_map(|line| {
            let code = line.strip_prefix("takt::");
            code.or_else(|| line.strip_prefix("  more: takt explain "))
        });
        // Such as `╭─[/lab/policy.toml:2:7]`.
        let place = lines.find_map(|line| {
            let (_, place) = line.split_once(&format!("[{POLICY}:"))?;
            let (line, column) = place.strip_suffix(']')?.split_once(':')?;
            Some((line.parse().ok()?, column.parse().ok()?))
        });
        Self {
            status: ran.status,
            code: code
                .unwrap_or_else(|| panic!("no code in\n{ran}"))
                .to_owned(),
            place,
        }
    }

    fn by_json(ran: &Ran) -> Self {
        let said = ran.json();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let code = text(&said["code"]).unwrap_or_else(|| panic!("no code in\n{ran}"));
        let first = &said["errors"][0];
        assert_eq!(said["ok"], false, "{ran}");
        assert!(text(&said["error"]).is_some(), "{ran}");
        assert_eq!(text(&first["code"]).as_deref(), Some(&*code), "{ran}");
        let place = first["line"].as_u64().zip(first["column"].as_u64());
        if place.is_some() {
            assert_eq!(first["file"], POLICY, "{ran}");
        }
        Self {
            status: ran.status,
            code: code
                .strip_prefix("takt::")
                .expect("all begin so")
                .to_owned(),
            place,
        }
    }
}

/// Assert that both forms report this.
#[track_caller]
fn assert_told(
    mut command: impl FnMut() -> Command,
    arguments: &str,
    status: i32,
    code: &str,
    place: Option<(u64, u64)>,
) {
    let mut run_with = |more: &[&str]| {
        let words = arguments.split_whitespace().chain(more.iter().copied());
        run_command(command().args(words))
    };
    let expected = Told {
        status: Some(status),
        code: code.to_owned(),
        place,
    };
    println!("{arguments}: {code}");
    let ran = run_with(&[]);
    assert_eq!(Told::by_text(&ran), expected, "{ran}");
    let ran = run_with(&["--output", "json"]);
    assert_eq!(Told::by_json(&ran), expected, "{ran}");
    takt(&format!("explain {code}")).ok();
}

fn root() -> Command {
    Command::new("takt")
}

#[track_caller]
fn assert_refused(flags: &str, policy: &str, status: i32, code: &str, place: (u64, u64)) {
    fs::write(POLICY, policy).unwrap();
    let arguments = format!("apply {flags} {POLICY}");
    assert_told(root, &arguments, status, code, Some(place));
}

const GOOD: &str = "[link.near1]\nrate = \"100mbit\"\n";

fn task(name: &str, period: &str, budget: &str) -> String {
    format!("[[task]]\nname = \"{name}\"\nperiod = \"{period}\"\nbudget = \"{budget}\"\n")
}

/// Policies that fit no host: `check` and `apply` report the same.
#[test]
fn check_finds_what_no_host_could_accept() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let before = Inventory::take();
        let class =
            |entry: &str| format!("{GOOD}[[link.near1.class]]\nname = \"a\"\nmatch = {entry}\n");
        let ports: Vec<String> = (0..8193).map(|port| (2 * port).to_string()).collect();
        let pair = "\"1-65534\"";
        let crossed = format!("src_port = {pair}, dst_port = {pair}");
        let crossed: Vec<String> = (0..10)
            .map(|n| format!("{{ {crossed}, dscp = {n} }}"))
            .collect();
        let many: String = (0..65)
            .map(|n| format!("[link.near{n}]\nrate = \"1mbit\"\n"))
            .collect();
        let rules = "device::too_many_rules";
        let cases = [
            (
                class(&format!("{{ dst_port = \"{}\" }}", ports.join(","))),
                rules,
                (1, 7),
            ),
            (class(&format!("[{}]", crossed.join(", "))), rules, (1, 7)),
            (
                format!("{GOOD}pacing = \"gap\"\noverhead = 69\n"),
                "device::no_gap",
                (1, 7),
            ),
            (
                class("{ dst_port = \"200-100\" }"),
                "policy::never_matches",
                (5, 22),
            ),
            (
                class("{ src = \"::ffff:192.0.2.1\" }"),
                "policy::never_matches",
                (5, 17),
            ),
            (many, "policy::too_many_links", (129, 7)),
            (
                "[link.\"ne\\u0000r\"]\nrate = \"1mbit\"\n".to_owned(),
                "policy::bad_device",
                (1, 7),
            ),
            (
                task("whole", "40ms", "40ms"),
                "policy::budget_above_period",
                (4, 10),
            ),
        ];
        for (policy, code, place) in cases {
            fs::write(POLICY, &policy).unwrap();
            assert_told(root, &format!("check {POLICY}"), 2, code, Some(place));
            assert_told(root, &format!("apply {POLICY}"), 2, code, Some(place));
        }
        before.assert_is_back();
    });
}

#[test]
fn what_the_host_refuses_stands_at_its_place_in_the_policy() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let before = Inventory::take();
        assert_refused(
            "",
            "[link.absent0]\nrate = \"1mbit\"\n",
            5,
            "device::missing",
            (1, 7),
        );
        let user = format!(
            "{GOOD}[[link.near1.class]]\nname = \"a\"\nmatch = {{ user = \"no-such-user\" }}\n"
        );
        assert_refused("", &user, 2, "host::no_user", (5, 9));
        let gap = "\n[link.lo]\nrate = \"1gbit\"\npacing = \"gap\"\n";
        assert_refused("", gap, 2, "device::no_gap", (2, 7));
        run("ip tuntap add tun9 mode tun").ok();
        let receive = "[link.tun9]\nrate = \"1gbit\"\n[[link.tun9.class]]\nname = \"a\"\n\
                       priority = \"background\"\nmatch = { dst_port = 873 }\n";
        assert_refused("", receive, 2, "device::no_receive", (1, 7));
        run("ip tuntap del tun9 mode tun").ok();
        // There is one processor.
        let tasks = format!("{}{}", task("a", "40ms", "20ms"), task("b", "40ms", "20ms"));
        assert_refused("", &tasks, 2, "task::does_not_fit", (6, 8));

        run("tc qdisc add dev near1 root handle 8123: fq").ok();
        assert_refused("", GOOD, 4, "host::qdisc_in_the_way", (1, 7));
        assert_refused("--dry-run", GOOD, 4, "host::qdisc_in_the_way", (1, 7));
        run("tc qdisc del dev near1 root").ok();
        run("tc qdisc add dev near1 root handle 1: prio").ok();
        run("tc qdisc add dev near1 parent 1:1 handle 10: fq").ok();
        assert_refused("--replace", GOOD, 4, "host::qdisc_irreplaceable", (1, 7));
        run("tc qdisc del dev near1 root").ok();
        before.assert_is_back();
    });
}

#[test]
fn what_is_not_about_a_policys_place_has_one_code_as_well() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        fs::write(POLICY, GOOD).unwrap();
        fs::create_dir("/lab/empty").unwrap();
        for action in ["check", "apply"] {
            for (file, code) in [
                ("/lab/none.toml", "file::not_found"),
                ("/lab/empty", "file::is_directory"),
            ] {
                assert_told(root, &format!("{action} {file}"), 2, code, None);
            }
        }
        let nobody = || {
            let mut takt = root();
            takt.uid(65534).gid(65534);
            takt
        };
        for arguments in [&*format!("apply {POLICY}"), "status", "revert", "flows"] {
            assert_told(nobody, arguments, 3, "host::capability", None);
        }
        for arguments in ["background list", "crowd neighbours"] {
            assert_told(nobody, arguments, 3, "taktd::not_running", None);
        }

        // Revert leaves settings alone that another program has changed, and reports them.
        apply(GOOD).ok();
        run("tc qdisc replace dev near1 root handle 99: fq").ok();
        let ran = takt("revert --output json").ends_with(4);
        assert_eq!(ran.json()["code"], "takt::host::qdisc_changed", "{ran}");
        run("tc qdisc del dev near1 root").ok();
        apply(GOOD).ok();
        run("tc qdisc replace dev near1 root handle 99: fq").ok();
        takt("revert")
            .says(&["takt explain host::qdisc_changed"])
            .ends_with(4);
        run("tc qdisc del dev near1 root").ok();
    });
}
