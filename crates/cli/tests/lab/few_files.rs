//! A process, or a host, with a low limit of open files: takt either works, or names the limit and
//! changes nothing.

use std::{fs, os::unix::process::CommandExt, process::Command};

use nix::sys::resource::{Resource, setrlimit};

use crate::{
    inventory::Inventory,
    machine::DEFAULT,
    refused::{ALL, OLD},
    rounds,
    shell::{Ran, run, run_command},
    takt::{POLICY, apply, takt},
    wire::Wire,
};

/// The three standard ones, and one to load programs with.
const LEAST: u64 = 4;
const SAYS: [&str; 3] = ["too many open files", "ulimit -n", "host::too_many_files"];

fn with_limit(soft: u64, hard: u64, words: &[&str]) -> Ran {
    let mut takt = Command::new("takt");
    let limit = move || Ok(setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?);
    // SAFETY: a system call, which is allowed between fork and exec.
    unsafe { takt.pre_exec(limit) };
    run_command(takt.args(words))
}

#[test]
fn a_limit_that_is_too_low_is_what_the_message_says() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        run("takt crowd key /lab/crowd.key");
        let nothing = Inventory::take();
        apply(OLD).ok();
        fs::write(POLICY, ALL).unwrap();
        let before = Inventory::take();
        let apply = ["apply", POLICY];
        for limit in rounds::in_turn("limits that are too low", LEAST..=40, 4) {
            with_limit(limit, limit, &["check", POLICY]).ok();
            for words in [
                &apply[..],
                &["apply", "--dry-run", POLICY],
                &["status"],
                &["revert"],
            ] {
                with_limit(limit, limit, words).says(&SAYS).ends_with(3);
            }
            with_limit(limit, limit, &["doctor"])
                .says(&SAYS[..2])
                .ends_with(3);
        }
        before.assert_is_back();
        // With a higher limit there is enough at some point, and an earlier try changes nothing.
        let mut failed = 0;
        for limit in (41..).step_by(10) {
            let applied = with_limit(limit, limit, &apply);
            if applied.status == Some(0) {
                break;
            }
            applied.says(&SAYS).ends_with(3);
            failed += 1;
        }
        assert!(failed > 1, "{failed}");
        // takt raises the limit as far as it may.
        with_limit(LEAST, 1024, &["revert"]).ok();
        with_limit(LEAST, 1024, &apply).ok();
        with_limit(LEAST, 1024, &["status"]).ok();
        takt("revert").ok();
        nothing.assert_is_back();
    });
}
