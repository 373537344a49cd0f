//! What a policy costs on this host, said before it is applied.

use std::path::Path;

use takt_policy::{Crowd, Policy};

/// Adds warnings to the policy.
pub fn warn(policy: &mut Policy) {
    let Some(crowd) = policy.crowd.as_ref().filter(|crowd| crowd.has_bounds()) else {
        return;
    };
    for (message, help) in of_crowd(crowd, Path::new("/sys/class/net")) {
        policy.warn_of_crowd(message, help);
    }
}

/// Messages and help. A device that is not there may be of any kind.
fn of_crowd(crowd: &Crowd, devices: &Path) -> Vec<(String, &'static str)> {
    let device = devices.join(&crowd.device);
    let reports_rates = !device.exists() || device.join("phy80211").exists();
    let name = &crowd.device;
    let rates = (!reports_rates).then(|| {
        (
            format!(
                "`{name}` reports no rates on the air, so uploads may get less than without a \
                 crowd beside terminals that are no members"
            ),
            "let all terminals join, or the access point count strangers (access_point = true)",
        )
    });
    let downloads = crowd.downloads.then(|| {
        (
            "downloads with a bound get a small part of what those without one do, where the \
             access point has one queue for all"
                .to_owned(),
            "leave `downloads` out if others there do not have it, unless its queue is fq_codel",
        )
    });
    rates.into_iter().chain(downloads).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_crowd_costs_is_said() {
        let devices = tempfile::tempdir().unwrap();
        fs::create_dir_all(devices.path().join("wlan0/phy80211")).unwrap();
        fs::create_dir_all(devices.path().join("eth0")).unwrap();
        let said = |device: &str, downloads: bool| {
            let text = format!(
                "[crowd]\ngroup = \"lab\"\nkey_file = \"k\"\ndevice = \"{device}\"\n\
                 downloads = {downloads}\n"
            );
            let policy = takt_policy::parse("test", &text).unwrap();
            of_crowd(&policy.crowd.unwrap(), devices.path()).len()
        };
        assert_eq!((said("wlan0", false), said("wlan0", true)), (0, 1));
        assert_eq!((said("eth0", false), said("eth0", true)), (1, 2));
        assert_eq!(said("absent0", false), 0);
    }
}
