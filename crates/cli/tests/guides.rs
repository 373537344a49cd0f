//! Every guide's policy on the kernels that distributions ship: it is carried out, or the guide names
//! the kernel that it needs, and the line that `takt check` prints makes it valid where a line can.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

const TAKT: &str = env!("CARGO_BIN_EXE_takt");
const GUIDES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides");

/// Of Debian 12 and 13, Ubuntu 22.04 and 24.04, and a new one.
const KERNELS: [&str; 5] = ["5.15", "6.1", "6.8", "6.12", "6.18"];

fn check(policy: &Path, kernel: &str) -> Output {
    Command::new(TAKT)
        .arg("check")
        .arg(policy)
        .args(["--kernel", kernel, "--explain"])
        .output()
        .expect("takt starts")
}

/// The policies that a guide has its reader write.
fn policies(guide: &str) -> Vec<&str> {
    let blocks = guide.split("<<'END'\n").skip(1);
    blocks
        .filter_map(|block| block.split("\nEND\n").next())
        .filter(|block| block.contains("[link.") || block.contains("[[task]]"))
        .collect()
}

/// The line that is said to help, added to each class that is named.
fn with_line_that_is_told(policy: &str, said: &str) -> Option<String> {
    let places = said.split("the line `best_effort = true` in ").nth(1)?;
    let places = places.split(" lets ").next()?;
    let mut policy = policy.to_owned();
    if places.starts_with("every class") {
        let device = policy.split("[link.").nth(1)?.split(']').next()?;
        let default = format!("\n[[link.{device}.class]]\nname = \"default\"\n");
        let all = policy + &default;
        let is_name = |line: &&str| line.starts_with("name = ");
        let names: Vec<String> = { all.lines().filter(is_name) }
            .map(|line| format!("{line}\n"))
            .collect();
        let add = |all: String, name| all.replace(name, &format!("{name}best_effort = true\n"));
        return Some(names.iter().map(String::as_str).fold(all.clone(), add));
    }
    for class in places.split('`').skip(1).step_by(2) {
        let name = format!("name = \"{class}\"\n");
        assert!(policy.contains(&name), "{class} of {policy}");
        policy = policy.replace(&name, &format!("{name}best_effort = true\n"));
    }
    Some(policy)
}

#[test]
fn work_on_every_kernel_or_name_the_one_they_need() {
    let folder = tempfile::tempdir().expect("a folder is made");
    let file = folder.path().join("policy.toml");
    let mut checked = 0;
    for guide in fs::read_dir(GUIDES).expect("the guides") {
        let guide = guide.expect("a guide").path();
        let text = fs::read_to_string(&guide).expect("a guide");
        for policy in policies(&text) {
            for kernel in KERNELS {
                let place = format!("{} on Linux {kernel}", guide.display());
                fs::write(&file, policy).expect("it is written");
                let told = check(&file, kernel);
                let said = String::from_utf8_lossy(&told.stdout).into_owned();
                checked += 1;
                if told.status.success() {
                    continue;
                }
                assert_eq!(told.status.code(), Some(3), "{place}: {said}");
                assert!(text.contains("Linux 6.16"), "{place}: {said}");
                if let Some(policy) = with_line_that_is_told(policy, &said) {
                    fs::write(&file, policy).expect("it is written");
                    let told = check(&file, kernel);
                    let again = String::from_utf8_lossy(&told.stdout);
                    assert!(told.status.success(), "{place}: {said}{again}");
                }
            }
        }
    }
    assert!(checked >= 6 * KERNELS.len(), "{checked} policies");
}
