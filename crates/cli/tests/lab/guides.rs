//! The guides' commands, run in their order on a machine with systemd: each block marked `sh`.

use std::fs;

use crate::{
    machine::SYSTEMD,
    shell::{run, run_command},
    systemd::{self, systemctl},
    takt::{assert_no_trace, takt},
};

struct Guide {
    name: &'static str,
    text: &'static str,
    /// The device of its policy.
    device: Option<&'static str>,
}

macro_rules! guide {
    ($name:literal, $device:expr) => {
        Guide {
            name: $name,
            text: include_str!(concat!("../../../../docs/guides/", $name, ".md")),
            device: $device,
        }
    };
}

const GUIDES: [Guide; 7] = [
    guide!("README", None),
    guide!("media-server", Some("eth0")),
    guide!("home-gateway", Some("wan0")),
    guide!("laptop", Some("wlan0")),
    guide!("access-point", Some("wlan0")),
    guide!("soft-plc", None),
    guide!("audio-workstation", None),
];

/// All blocks marked `sh`, one after the other.
fn commands(text: &str) -> String {
    let mut commands = String::new();
    let mut is_in = false;
    for line in text.lines() {
        match line {
            "```sh" => is_in = true,
            "```" => is_in = false,
            _ if is_in => {
                commands.push_str(line);
                commands.push('\n');
            }
            _ => {}
        }
    }
    commands
}

#[test]
fn do_what_they_say() {
    SYSTEMD.run(|| {
        systemd::install();
        let groups = fs::read_to_string("/etc/group").unwrap_or_default();
        fs::write("/etc/group", format!("{groups}audio:x:29:\n")).unwrap();
        for Guide { name, text, device } in GUIDES {
            if let Some(device) = device {
                run(&format!("ip link add {device} type veth peer name far0")).ok();
                run(&format!("ip link set {device} up")).ok();
                run("ip link set far0 up").ok();
            }
            let mut shell = std::process::Command::new("sh");
            shell.args(["-e", "-x", "-c", &commands(text)]);
            let ran = run_command(&mut shell);
            assert_eq!(ran.status, Some(0), "{name}: {ran}");

            let _ = systemctl("disable --now takt taktd");
            systemctl(&format!("stop {}", systemd::SOCKETS)).ok();
            takt("revert").ok();
            assert_no_trace();
            if let Some(device) = device {
                run(&format!("ip link del {device}")).ok();
            }
        }
    });
}
