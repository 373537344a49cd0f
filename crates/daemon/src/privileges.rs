//! What taktd may do once it has started: only what its work takes.

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::set_no_new_privs;

use crate::error::Error;

/// Maps and links of the policy in force, stations that a driver knows, processes of users
/// with their namespaces and control groups. taktd's unit bounds it by the same.
const KEPT: [Capability; 6] = [
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_SYS_ADMIN,
    Capability::CAP_SYS_PTRACE,
    Capability::CAP_DAC_OVERRIDE,
];

/// Give up all others, for threads that start later as well. What a program that taktd would
/// start could gain by its file is given up, too.
pub(crate) fn drop_others() -> Result<(), Error> {
    give_up().map_err(|error| Error::System {
        doing: "giving up privileges",
        source: std::io::Error::other(error),
    })?;
    set_no_new_privs().map_err(Error::system("giving up privileges"))
}

fn give_up() -> Result<(), caps::errors::CapsError> {
    let is_kept = |capability: &Capability| KEPT.contains(capability);
    // The bounding set is there for what is executed. It can be changed only with this one.
    if caps::has_cap(None, CapSet::Effective, Capability::CAP_SETPCAP)? {
        for capability in caps::runtime::thread_all_supported() {
            if !is_kept(&capability) {
                caps::drop(None, CapSet::Bounding, capability)?;
            }
        }
    }
    caps::clear(None, CapSet::Inheritable)?;
    if caps::runtime::ambient_set_supported().is_ok() {
        caps::clear(None, CapSet::Ambient)?;
    }
    let permitted = caps::read(None, CapSet::Permitted)?;
    let kept: CapsHashSet = permitted.into_iter().filter(is_kept).collect();
    caps::set(None, CapSet::Effective, &kept)?;
    caps::set(None, CapSet::Permitted, &kept)
}
