//! A device that a link was on, and that is gone or is back as another one.

use takt_planner::{ClassIds, Questions, plan};
use takt_policy::parse_in;

use crate::{
    link::{gap, on_device, receive},
    os::netlink::{Device, Port, TAKT},
    state::source::Source,
};

/// What is wrong with a link whose device is gone.
pub(crate) const GONE: &str =
    "the device is gone; taktd puts takt back when it returns, `takt revert` forgets it";

/// The same, or why the device that has the name now is not served. `refused` is why the policy
/// cannot be carried out on it.
pub(crate) fn problem(
    name: &str,
    ports: &[Port],
    refused: impl FnOnce(&Device) -> Option<String>,
) -> String {
    let back = ports.iter().find(|port| port.device.is_called(name));
    let reason = back.and_then(|port| refused(&port.device).or_else(|| foreign_root(port)));
    reason.map_or(GONE.to_owned(), |reason| {
        format!("the device is back and not served: {reason}")
    })
}

fn foreign_root(port: &Port) -> Option<String> {
    let root = port.root.as_ref()?;
    let is_ours = root.kind == TAKT || port.carries_stock();
    (!is_ours).then(|| {
        format!(
            "it carries another program's qdisc, {} {}; `takt apply --replace` puts takt in its \
             place",
            root.kind, root.handle
        )
    })
}

/// What a device of this kind lacks for the link of a policy that was in force.
pub(crate) fn refused_kind(name: &str, source: &Source, device: &Device) -> Option<String> {
    // The same program read it when it was applied.
    let policy = parse_in(&source.folder, &source.name, &source.text).ok()?;
    let link = policy.links.iter().find(|link| link.device == name)?;
    let link = &*on_device(link, device, device.hardware);
    let planned = plan(link, &ClassIds::default(), &Questions::of(&policy.links)).ok()?;
    if let Err(problem) = gap::check(device, &planned.tables) {
        return Some(problem.to_string());
    }
    let received = receive::check(device, planned.receive.is_some());
    received.err().map(|problem| problem.to_string())
}
