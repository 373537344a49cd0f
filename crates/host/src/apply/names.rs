//! The names by which a policy calls devices.

use takt_policy::Policy;

use super::undecided::Undecided;
use crate::os::netlink::Device;

/// Refuse a policy that calls one device by two names: the parts of the policy know by a name
/// which of them are about the same device.
pub(super) fn refuse_two_of_one<'a>(
    policy: &Policy,
    devices: impl Iterator<Item = &'a Device> + Clone,
) -> Result<(), Undecided> {
    let links = policy.links.iter().map(|link| &link.device);
    let crowd = policy.crowd.as_ref().map(|crowd| &crowd.device);
    let report = policy
        .radio
        .as_ref()
        .and_then(|radio| radio.report.as_ref());
    let names = links
        .chain(crowd)
        .chain(report.map(|report| &report.device));
    let mut known: Vec<(u32, &String)> = Vec::new();
    for name in names {
        let Some(device) = devices.clone().find(|device| device.is_called(name)) else {
            continue; // The part that needs the device refuses the policy.
        };
        match known.iter().find(|(index, _)| *index == device.index) {
            Some((_, other)) if *other != name => {
                return Err(Undecided::TwoNames {
                    device: name.clone(),
                    other: (*other).clone(),
                });
            }
            Some(_) => {}
            None => known.push((device.index, name)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(policy: &str) -> Option<String> {
        let policy = takt_policy::parse("policy.toml", policy).expect("a policy");
        let eth0 = Device {
            index: 3,
            name: "eth0".to_owned(),
            alternative_names: vec!["enp1s0".to_owned(), "wan".to_owned()],
            ..Device::default()
        };
        let eth1 = Device {
            index: 4,
            name: "eth1".to_owned(),
            ..Device::default()
        };
        let refused = refuse_two_of_one(&policy, [eth0, eth1].iter());
        refused.err().map(|error| error.to_string())
    }

    #[test]
    fn two_names_of_one_device_are_refused() {
        let link = |name: &str| format!("[link.{name}]\nrate = \"1gbit\"\n");
        let two = "wan and enp1s0 are names of one device";
        let both = link("enp1s0") + &link("wan");
        assert_eq!(refused(&both).as_deref(), Some(two));
        let crowd =
            link("enp1s0") + "[crowd]\ngroup = \"g\"\nkey_file = \"g.key\"\ndevice = \"wan\"\n";
        assert_eq!(refused(&crowd).as_deref(), Some(two));
    }

    #[test]
    fn one_name_or_several_devices_are_not() {
        let link = |name: &str| format!("[link.{name}]\nrate = \"1gbit\"\n");
        let crowd = "[crowd]\ngroup = \"g\"\nkey_file = \"g.key\"\ndevice = \"wan\"\n";
        for policy in [
            link("wan"),
            link("wan") + crowd,
            link("wan") + &link("eth1"),
            link("wan") + &link("eth7") + &link("eth8"),
        ] {
            assert_eq!(refused(&policy), None, "{policy}");
        }
    }
}
