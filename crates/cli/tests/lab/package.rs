//! Takt's Debian package, in a machine of its own that runs systemd: another file is /usr/bin/takt
//! there. `packaging/deb/pack` makes it; its dependencies are the lab's matter.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{machine::SYSTEMD, shell::run_command};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/systemd/package.sh");
const DPKG: [&str; 4] = [
    "/usr/bin/dpkg",
    "/usr/bin/dpkg-deb",
    "/usr/bin/dpkg-split",
    "/usr/bin/tar",
];

/// A package of this version, with this program.
fn package(dir: &Path, program: &Path, name: &str, version: &str) -> PathBuf {
    let tree = dir.join(name);
    run_command(
        Command::new(format!("{REPOSITORY}/scripts/install"))
            .arg(program)
            .env("PREFIX", "/usr")
            .env("DESTDIR", &tree),
    )
    .ok();
    let package = dir.join(format!("{name}.deb"));
    run_command(
        Command::new(format!("{REPOSITORY}/packaging/deb/pack"))
            .args([&tree, &package])
            .env("VERSION", version)
            .env("ARCH", "amd64")
            .env("DEPENDS", "libc6")
            // Unpacking takes the emulator longer than reading.
            .env("DPKG_DEB_COMPRESSOR_TYPE", "none"),
    )
    .ok();
    package
}

#[test]
fn a_package_is_installed_upgraded_under_load_removed_and_purged() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("takt");
    let built = Path::new(env!("CARGO_BIN_EXE_takt"));
    run_command(
        Command::new("strip")
            .arg("-o")
            .args([program.as_path(), built]),
    )
    .ok();
    let mut lab = SYSTEMD.exec();
    for file in DPKG {
        lab.args(["--add", file]);
    }
    for (name, version) in [("old", "0.1.0~1"), ("new", "0.1.0~2")] {
        lab.arg("--add")
            .arg(package(dir.path(), &program, name, version));
    }
    lab.args(["--add", SCRIPT]);
    let ran = run_command(lab.args(["--", "sh", "/add/package.sh"]));
    let expected = "\
installed: inactive inactive, no links are managed
upgraded: the link is untouched
upgraded: 0 packets lost
upgraded: takt.service did not stop
upgraded: taktd is /usr/bin/takt
on trial: not removed, active active
removed: qdisc noqueue 0: root refcnt 2
removed: there is policy.toml
purged
";
    let said: Vec<&str> = ran.stdout.lines().map(str::trim_end).collect();
    assert_eq!(said, expected.lines().collect::<Vec<_>>(), "{ran}");
    ran.ok();
}
