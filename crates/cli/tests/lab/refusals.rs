//! A refusal is one sentence with its own exit code, and leaves everything as it was.

use std::{fs, os::unix::process::CommandExt, process::Command};

use crate::{
    machine::{DEFAULT, OLDEST, WITHOUT_BPF_QDISCS, on_old_kernels},
    shell::{Ran, run, run_command},
    takt::{POLICY, apply, apply_with, as_nobody, assert_no_trace, link, takt},
    wire::Wire,
};

/// Bits of `capabilities(7)`.
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_BPF: u32 = 39;

const GOOD: &str = "[link.near1]\nrate = \"100mbit\"\n";

#[test]
fn a_wrong_policy_is_shown_and_changes_nothing() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        fs::create_dir("/lab/directory").unwrap();
        fs::write("/lab/latin1.toml", b"[link.near1]\n# \xe4\n").unwrap();
        fs::write("/lab/large.toml", "# and on\n".repeat(1_200_000)).unwrap();
        fs::write("/lab/empty.toml", "").unwrap();
        let unknown_key = format!("{GOOD}cealing = 1\n");
        let missing_device = "\n[link.absent0]\nrate = \"1mbit\"\n";
        let half_missing = format!("{GOOD}{missing_device}");
        type Case<'a> = (&'a str, &'a dyn Fn() -> Ran, i32, &'a [&'a str]);
        let cases: [Case; 8] = [
            (
                "unknown key",
                &|| apply(&unknown_key),
                2,
                &["cealing", "policy.toml:3:1"],
            ),
            (
                "wrong unit",
                &|| apply("[link.near1]\nrate = \"25mb\"\n"),
                2,
                &["25mbit", ":2:8"],
            ),
            (
                "missing device",
                &|| apply(missing_device),
                5,
                &["absent0", "policy.toml:2:7", "ip link"],
            ),
            (
                "missing device beside a good one",
                &|| apply(&half_missing),
                5,
                &["absent0", "policy.toml:4:7"],
            ),
            (
                "directory",
                &|| takt("apply /lab/directory"),
                2,
                &["/lab/directory is a directory"],
            ),
            (
                "not UTF-8",
                &|| takt("apply /lab/latin1.toml"),
                2,
                &["not UTF-8", "latin1.toml:2:3"],
            ),
            (
                "10 MB",
                &|| takt("apply /lab/large.toml"),
                2,
                &["large.toml"],
            ),
            ("empty", &|| takt("apply /lab/empty.toml"), 2, &["empty"]),
        ];
        for (what, act, status, parts) in &cases {
            println!("{what}");
            act().says(parts).ends_with(*status);
            assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
            assert_no_trace();
        }

        // Nor does it change an earlier policy's setup.
        apply(GOOD).ok();
        let before = link("near1");
        for (what, act, status, parts) in &cases {
            println!("{what}, later");
            act().says(parts).ends_with(*status);
            let after = link("near1");
            assert!(after.attached);
            assert_eq!(after.generation, before.generation);
        }
    });
}

#[test]
fn every_command_answers_in_json() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let json = |ran: Ran, status: i32| ran.ends_with(status).json();
        let attached = json(apply_with("--output json", GOOD), 0);
        assert_eq!(attached["links"][0]["action"], "attached");
        let status = json(takt("--output json status"), 0);
        assert_eq!(status["links"][0]["device"], "near1");
        let dry_run = json(takt(&format!("apply --dry-run --output json {POLICY}")), 0);
        assert_eq!(dry_run["dry_run"], true);
        let reverted = json(takt("revert --output json"), 0);
        assert_eq!(reverted["links"][0]["device"], "near1");
        assert!(json(takt("doctor --output json"), 0)["features"].is_array());
        assert_eq!(
            json(takt(&format!("check --output json {POLICY}")), 0)["ok"],
            true
        );

        let missing = json(
            apply_with("--output json", "[link.absent0]\nrate = \"1mbit\""),
            5,
        );
        assert_eq!(missing["errors"][0]["line"], 1);
        assert_eq!(missing["errors"][0]["offending"], "absent0");
        run("tc qdisc add dev near1 root fq").ok();
        let foreign = json(apply_with("--output json", GOOD), 4);
        assert!(foreign["error"].as_str().unwrap().contains("fq"));
        let refused = run_command(as_nobody().args(["status", "--output", "json"]));
        assert!(json(refused, 3)["error"].is_string());
    });
}

#[test]
fn a_missing_capability_is_named() {
    DEFAULT.run(|| {
        let wire = Wire::new(1);
        fs::write(POLICY, GOOD).unwrap();
        for arguments in [&["apply", POLICY][..], &["status"], &["flows"], &["revert"]] {
            let capabilities = [(CAP_NET_ADMIN, "CAP_NET_ADMIN"), (CAP_BPF, "CAP_BPF")];
            for (bit, name) in capabilities {
                run_command(without_capability(bit).args(arguments))
                    .says(&[name, "root"])
                    .ends_with(3);
            }
            run_command(as_nobody().args(arguments))
                .says(&["CAP_"])
                .ends_with(3);
        }
        run_command(as_nobody().arg("doctor"))
            .says(&[
                "CAP_",
                "not tried codel",
                "not tried receive",
                "not tried beats       see",
            ])
            .ends_with(3);
        assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
        assert_no_trace();
    });
}

#[test]
fn old_kernels_are_told_what_they_lack() {
    on_old_kernels(|| lacks_bpf_qdiscs(&Wire::new(1)));
}

#[test]
fn a_kernel_without_bpf_qdiscs_is_told_what_it_lacks() {
    WITHOUT_BPF_QDISCS.run(|| lacks_bpf_qdiscs(&Wire::new(1)));
}

fn lacks_bpf_qdiscs(wire: &Wire) {
    let lacks = ["BPF qdiscs", "Linux 6.16", "CONFIG_NET_SCH_BPF=y"];
    takt("doctor").says(&lacks).ends_with(3);
    let demanded = GOOD.replacen("rate", "backend = \"takt\"\nrate", 1);
    // Whichever part of it the policy asks for.
    for policy in [demanded.clone(), format!("{demanded}[radio]\n")] {
        apply(&policy).says(&lacks).ends_with(3);
        assert!(wire.root_qdisc().starts_with("qdisc noqueue"));
        assert_no_trace();
    }
    takt("status").says(&["no links are managed"]).ok();
    takt("revert").says(&["nothing to revert"]).ok();
    assert_no_trace();
}

/// Its interpreter runs what the kernel's own qdiscs need. The setting is one of the host's own network
/// namespace, which is that of the kernel's threads.
#[test]
fn a_kernel_that_compiles_no_programs_gets_another_backend() {
    let there = |line: &str| {
        let words = line.split_whitespace();
        let mut enter = Command::new("nsenter");
        run_command(enter.arg("--net=/proc/2/ns/net").args(words))
    };
    DEFAULT.alone().run(|| {
        there("ip link add near9 type dummy").ok();
        there("ip link set near9 up").ok();
        there("sysctl -qw net.core.bpf_jit_enable=0").ok();
        let policy = GOOD.replace("near1", "near9");
        let apply = |policy: &str| {
            fs::write(POLICY, policy).unwrap();
            there(&format!("takt apply {POLICY}"))
        };
        let tried = std::panic::catch_unwind(|| {
            there("takt doctor")
                .says(&["bpf_jit_enable=1"])
                .ends_with(3);
            let demanded = policy.replacen("rate", "backend = \"takt\"\nrate", 1);
            apply(&demanded).says(&["bpf_jit_enable = 1"]).ends_with(3);
            let class = "[[link.near9.class]]\nname = \"mine\"\nmatch = { user = 0 }\n";
            apply(&format!("{policy}{class}"))
                .says(&["owners of sockets"])
                .ends_with(3);
            apply(&policy).says(&["near9: attached"]).ok();
            there("tc qdisc show dev near9").says(&["qdisc htb"]).ok();
            there("takt revert").ok();
        });
        there("sysctl -qw net.core.bpf_jit_enable=1").ok();
        there("ip link del near9").ok();
        tried.unwrap();
    });
}

/// Trees work there; what else takt has says what it lacks, in words and not in the verifier's.
#[test]
fn the_oldest_kernel_is_told_what_it_lacks() {
    OLDEST.run(|| {
        let _wire = Wire::new(1);
        takt("doctor")
            .says(&[
                "works    tree",
                "missing  crowd       this kernel lacks congestion controls written in BPF",
                "missing  flows       this kernel lacks BPF programs that look at TCP",
            ])
            .ends_with(3);
        takt("flows").says(&["lacks", "Linux 6.12"]).ends_with(3);
        takt("crowd key /lab/refused.key").ok();
        apply("[crowd]\ngroup = \"lab\"\nkey_file = \"refused.key\"\ndevice = \"near1\"\n")
            .says(&["lacks", "Linux 6.12"])
            .ends_with(3);
        assert_no_trace();
    });
}

/// Root without one capability and without CAP_SYS_ADMIN, which includes many.
fn without_capability(bit: u32) -> Command {
    let mut takt = Command::new("takt");
    // SAFETY: system calls, which are allowed between fork and exec.
    unsafe {
        takt.pre_exec(move || {
            for bit in [bit, CAP_SYS_ADMIN] {
                nix::errno::Errno::result(libc::prctl(libc::PR_CAPBSET_DROP, bit))?;
            }
            Ok(())
        });
    }
    takt
}
