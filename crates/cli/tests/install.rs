//! The files of `make install`, and that `make uninstall` removes all of them.

#[cfg(not(debug_assertions))]
use std::collections::BTreeSet;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const TAKT: &str = env!("CARGO_BIN_EXE_takt");

/// Of `takt`, without symbols, as a distribution ships it, and without the folders of crates that
/// it names where it can panic: their names are longer on one machine than on another.
const BYTES_MAX: usize = 7_310_000;

fn script(root: &Path, flags: &[&str]) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/install");
    let status = Command::new(script)
        .args(flags)
        .arg(TAKT)
        .env("PREFIX", "/usr")
        .env("DESTDIR", root)
        .status()
        .expect("it starts");
    assert!(status.success());
}

/// All files below a folder, by relative path.
fn files(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("it is read");
    let paths = entries.map(|entry| entry.expect("it is read").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(root, &path)
            } else {
                vec![path.strip_prefix(root).expect("below").to_owned()]
            }
        })
        .collect()
}

#[test]
fn all_of_it_comes_and_goes() {
    let root = tempfile::tempdir().expect("a folder is made");
    let root = root.path();
    script(root, &[]);
    let found = files(root, root);
    for path in [
        "usr/bin/takt",
        "usr/bin/taktd",
        "usr/include/takt/beats.h",
        "usr/lib/systemd/system/takt-fleet.service",
        "usr/lib/systemd/system/takt-dispatch.service",
        "usr/lib/systemd/system/takt.service",
        "usr/lib/systemd/system/taktd-root.socket",
        "usr/lib/systemd/system/taktd.service",
        "usr/lib/systemd/system/taktd.socket",
        "usr/share/bash-completion/completions/takt",
        "usr/share/fish/vendor_completions.d/takt.fish",
        "usr/share/man/man1/takt.1",
        "usr/share/man/man1/takt-fleet.1",
        "usr/share/man/man1/takt-lab.1",
        "usr/share/man/man1/takt-dispatch.1",
        "usr/share/man/man1/takt-sim.1",
        "usr/share/man/man1/takt-bench.1",
        "usr/share/man/man5/takt-policy.5",
        "usr/share/man/man7/takt.7",
        "usr/share/man/man8/taktd.8",
        "usr/share/takt/policy.schema.json",
        "usr/share/zsh/site-functions/_takt",
    ] {
        assert!(found.contains(&PathBuf::from(path)), "{path}: {found:?}");
    }
    for (unit, starts) in [
        ("takt", "takt apply /etc/takt"),
        ("taktd", "taktd $TAKTD_OPTIONS"),
        ("takt-fleet", "takt-fleet agent $TAKT_FLEET_OPTIONS"),
        ("takt-dispatch", "takt-dispatch run /etc/takt/dispatch.toml"),
    ] {
        let path = root.join(format!("usr/lib/systemd/system/{unit}.service"));
        let unit = fs::read_to_string(path).expect("it is read");
        assert!(
            unit.contains(&format!("ExecStart=/usr/bin/{starts}\n")),
            "{unit}"
        );
    }

    let is_example = |path: &&PathBuf| path.starts_with("usr/share/doc/takt/examples");
    for example in found.iter().filter(is_example) {
        let text = fs::read_to_string(root.join(example)).expect("it is read");
        let schema = text
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("#:schema /"));
        let schema = schema.unwrap_or_else(|| panic!("{} names none", example.display()));
        assert!(
            root.join(schema).exists(),
            "{schema} of {}",
            example.display()
        );
    }

    // Install again over existing files, and uninstall.
    script(root, &[]);
    script(root, &["--remove"]);
    assert_eq!(files(root, root), Vec::<PathBuf>::new());
}

/// `scripts/deps` installs the laboratory's packages on CI's new machine, and Debian enables their
/// units.
#[test]
fn the_laboratorys_packages_leave_no_unit_enabled() {
    if std::env::var_os("CI").is_none() {
        return eprintln!("not tested: this machine may have its own reasons for such a unit");
    }
    for unit in ["nats-server.service", "hostapd.service"] {
        let told = Command::new("systemctl")
            .args(["is-enabled", unit])
            .output()
            .expect("there is a systemctl; scripts/deps installs it");
        let state = String::from_utf8_lossy(&told.stdout);
        assert_ne!(state.trim(), "enabled", "{unit}");
    }
}

/// systemd-analyze gives at most a hundred; an unrestricted service has 96.
#[test]
fn the_units_are_ok_by_systemds_own_word() {
    let root = tempfile::tempdir().expect("a folder is made");
    script(root.path(), &[]);
    for unit in ["takt", "taktd", "takt-dispatch", "takt-fleet"] {
        let path = format!("usr/lib/systemd/system/{unit}.service");
        let told = Command::new("systemd-analyze")
            .args(["security", "--no-pager", "--offline=true", "--threshold=50"])
            .arg(root.path().join(path))
            .output()
            .expect("there is a systemd-analyze; scripts/deps installs it");
        let told = [told.stdout, told.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        let overall = told.lines().find(|line| line.contains("Overall exposure"));
        println!("{}", overall.unwrap_or(&told));
        assert!(overall.is_some_and(|line| line.contains(" OK ")), "{told}");
    }
}

/// In the release profile, which alone is meant to be small: Cargo.toml says how.
#[test]
#[cfg(not(debug_assertions))]
fn it_is_small() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let stripped = folder.path().join("takt");
    let strip = Command::new("strip")
        .args(["-o".as_ref(), stripped.as_path(), TAKT.as_ref()])
        .status()
        .expect("it lies beside the linker");
    assert!(strip.success());
    let program = fs::read(&stripped).expect("it was written");
    let names: usize = folders_of_crates()
        .iter()
        .map(|folder| folder.len() * occurrences(&program, folder.as_bytes()))
        .sum();
    let bytes = program.len() - names;
    println!("{bytes} bytes, and {names} of folders' names");
    assert!(bytes <= BYTES_MAX, "{bytes} bytes, more than {BYTES_MAX}");
}

#[cfg(not(debug_assertions))]
fn occurrences(of: &[u8], name: &[u8]) -> usize {
    of.windows(name.len())
        .filter(|bytes| *bytes == name)
        .count()
}

/// Where Cargo keeps the sources of crates that are not ours.
#[cfg(not(debug_assertions))]
fn folders_of_crates() -> BTreeSet<String> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let told = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version=1"])
        .args(["--filter-platform", &platform])
        .output()
        .expect("it starts");
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stderr)
    );
    let told: serde_json::Value = serde_json::from_slice(&told.stdout).expect("it is JSON");
    let packages = told["packages"].as_array().expect("a list");
    packages
        .iter()
        .filter(|package| !package["source"].is_null())
        .map(|package| Path::new(package["manifest_path"].as_str().expect("a path")))
        .map(|manifest| {
            manifest
                .ancestors()
                .nth(2)
                .expect("a crate's folder has a parent")
        })
        .map(|folder| format!("{}/", folder.display()))
        .collect()
}
