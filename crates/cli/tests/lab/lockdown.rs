//! A kernel that keeps its memory from root. Lockdown cannot be undone, so the machine is this
//! test's own.

use crate::{machine::DEFAULT, shell::run_command};

const SCRIPT: &str = "
    mount -t securityfs none /sys/kernel/security
    echo confidentiality > /sys/kernel/security/lockdown || exit 77
    cat /sys/kernel/security/lockdown >&2
    printf '[link.va]\\nrate = \"1gbit\"\\n[[link.va.class]]\\nname = \"a\"\\nmatch = { user = 1000 }\\n' \
        > policy.toml
    takt doctor
    echo doctor: $?
    takt apply policy.toml
    echo apply: $?
    takt --output json apply policy.toml
    tc qdisc show dev va
    ls /sys/fs/bpf /run
";

#[test]
fn a_kernel_that_is_locked_down_is_told_from_a_missing_capability() {
    let ran = run_command(DEFAULT.exec().args(["--", "sh", "-c", SCRIPT]));
    println!("{ran}");
    let ran = ran.ends_with(0).says(&[
        "doctor: 3",
        "apply: 3",
        "locked down",
        "host::lockdown",
        "qdisc noqueue",
    ]);
    assert!(!ran.stdout.contains("CAP_"), "{ran}");
}
