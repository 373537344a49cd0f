//! The privileges that taktd keeps after its start: only those that its work needs.

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::set_no_new_privs;

use crate::error::Error;

/// For maps and links of the policy in force, stations that a driver knows, questions to reflectors
/// (ICMP), and users' processes with their namespaces and control groups. taktd's unit has the same bound.
const KEPT: [Capability; 7] = [
    Capability::CAP_BPF,
    Capability::CAP_PERFMON,
    Capability::CAP_NET_ADMIN,
    Capability::CAP_NET_RAW,
    Capability::CAP_SYS_ADMIN,
    Capability::CAP_SYS_PTRACE,
    Capability::CAP_DAC_OVERRIDE,
];

/// Give up all other capabilities, for threads that start later as well, and also those that a
/// program started by taktd could gain from its file.
pub(crate) fn drop_others() -> Result<(), Error> {
    give_up().map_err(|error| Error::System {
        doing: "giving up privileges",
        source: std::io::Error::other(error),
    })?;
    set_no_new_privs().map_err(Error::system("giving up privileges"))
}

fn give_up() -> Result<(), caps::errors::CapsError> {
    let is_kept = |capability: &Capability| KEPT.contains(capability);
    // The bounding set limits executed programs. Changing it needs this capability.
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
