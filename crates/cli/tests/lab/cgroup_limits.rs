//! Weights of control groups, and on older kernels limits, do not hold while beats are loaded: a
//! host that uses them is told so, and decides.

use crate::{
    control_group::Group,
    inventory::Inventory,
    machine::{DEFAULT, WITHOUT_BPF_QDISCS},
    metronome::{Shell, state},
    takt::{POLICY, apply, apply_with, assert_no_trace, takt},
};

const TASK: &str = r#"
[[task]]
name = "unused"
period = "40ms"
budget = "1ms"
"#;

const IGNORED: &str = "[beats]\nignore_cgroup_limits = true\n";

#[test]
fn a_limit_of_a_control_group_refuses_beats() {
    WITHOUT_BPF_QDISCS.run(|| {
        let group = Group::new("limited");
        group.set("cpu.max", "20000 100000");
        // No thread loses anything.
        apply(TASK).ok();
        takt("revert").ok();
        assert_no_trace();

        let process = Shell::new("sleep 1000");
        group.take(&process);
        let before = Inventory::take();
        for flags in ["", "--dry-run", "--confirm 10s"] {
            apply_with(flags, TASK)
                .says(&[
                    "control group /limited has cpu.max = 20000 100000",
                    "set it to max",
                    "ignore_cgroup_limits = true in [beats]",
                    "takt explain host::cgroup_limits",
                ])
                .ends_with(4);
            assert_no_trace();
        }
        before.assert_is_back();
        // It lacks BPF qdiscs as well.
        takt("doctor")
            .says(&["refused   beats       control group /limited has cpu.max = 20000 100000"])
            .ends_with(3);

        apply(&format!("{IGNORED}{TASK}")).ok();
        assert_eq!(state(), "enabled");
        // The policy in force stays.
        apply(TASK).ends_with(4);
        assert_eq!(state(), "enabled");
        takt("revert").ok();

        drop(process);
        drop(group);
        apply(TASK).ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn so_does_a_weight_on_every_kernel() {
    DEFAULT.run(|| {
        let group = Group::new("light");
        let process = Shell::new("sleep 1000");
        group.take(&process);
        apply(TASK).ok();
        takt("revert").ok();
        group.set("cpu.weight", "50");
        apply(TASK)
            .says(&["control group /light has cpu.weight = 50", "set it to 100"])
            .ends_with(4);
        let said = takt(&format!("apply --output json {POLICY}")).json();
        assert_eq!(said["code"], "takt::host::cgroup_limits");
        let limits = &takt("doctor --output json").json()["cgroup_limits"];
        assert_eq!(limits[0]["group"], "/light");
        assert_eq!(limits[0]["setting"], "cpu.weight");
        assert_eq!(limits[0]["value"], "50");
        assert_no_trace();
        drop(process);
        drop(group);
    });
}
