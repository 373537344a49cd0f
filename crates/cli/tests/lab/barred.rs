//! The kernel has one error for many reasons to refuse: takt tells them apart.

use std::{fs, io, os::unix::process::CommandExt, process::Command};

use crate::{
    inventory::Inventory,
    machine::DEFAULT,
    shell::{Ran, run_command},
    takt::{POLICY, takt},
    wire::Wire,
};

const GOOD: &str = "[link.near1]\nrate = \"100mbit\"\n";

/// Assert that doctor names the reason, and that no other command starts.
#[track_caller]
fn assert_barred(takt_so: impl Fn() -> Command, code: &str, says: &[&str]) {
    fs::write(POLICY, GOOD).unwrap();
    let before = Inventory::take();
    let run_with = |words: &[&str]| -> Ran { run_command(takt_so().args(words)) };
    run_with(&["doctor"]).says(says).ends_with(3);
    for words in [&["apply", POLICY][..], &["status"], &["revert"], &["flows"]] {
        run_with(words).says(says).says(&[code]).ends_with(3);
        let json = run_with(&[words, &["--output", "json"]].concat())
            .ends_with(3)
            .json();
        assert_eq!(json["code"], format!("takt::{code}"));
    }
    before.assert_is_back();
    takt(&format!("explain {code}")).ok();
}

#[test]
fn a_user_namespace_is_no_missing_capability() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let says = ["user namespace"];
        // As root of the namespace, with every capability, and as a user without a number there.
        assert_barred(|| in_user_namespace(true), "host::user_namespace", &says);
        assert_barred(|| in_user_namespace(false), "host::user_namespace", &says);
    });
}

#[test]
fn a_filter_of_system_calls_is_no_missing_capability() {
    DEFAULT.run(|| {
        let _wire = Wire::new(1);
        let says = ["seccomp", "bpf(2)"];
        assert_barred(|| without_bpf_calls(libc::EPERM), "host::seccomp", &says);
        assert_barred(|| without_bpf_calls(libc::EACCES), "host::seccomp", &says);
    });
}

fn in_user_namespace(is_root_there: bool) -> Command {
    let mut takt = Command::new("takt");
    let enter = move || {
        // SAFETY: a system call.
        let entered = unsafe { libc::unshare(libc::CLONE_NEWUSER) };
        nix::errno::Errno::result(entered)?;
        if is_root_there {
            fs::write("/proc/self/uid_map", "0 0 1")
        } else {
            Ok(())
        }
    };
    // SAFETY: system calls, which are allowed between fork and exec.
    unsafe { takt.pre_exec(enter) };
    takt
}

/// With a filter that answers bpf(2), for every caller.
fn without_bpf_calls(errno: i32) -> Command {
    const NUMBER: u32 = 0; // Where a filter finds the call's.
    let statement = |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, NUMBER),
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_bpf as u32,
        ),
        statement(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | errno as u32,
        ),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let install = move || {
        let mut filter = filter;
        let program = libc::sock_fprog {
            len: filter.len() as u16,
            filter: filter.as_mut_ptr(),
        };
        // SAFETY: a filter that lives as long as the call.
        let done = unsafe {
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER as libc::c_ulong,
                &raw const program,
            )
        };
        match done {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let mut takt = Command::new("takt");
    // SAFETY: a system call, which is allowed between fork and exec.
    unsafe { takt.pre_exec(install) };
    takt
}
