//! The lab's cable with several queues, each of one processor.

use std::path::Path;

use crate::experiment::command;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::pair::{A, B, DEVICE, PEER_DEVICE, RECEIVER, SENDER};

const HARDWARE: [&str; 2] = ["02:00:00:00:00:0a", "02:00:00:00:00:0b"];

/// In place of the lab's own, which comes back when this is dropped.
pub struct Cable(());

impl Cable {
    /// A queue for each of these processors.
    pub fn with_queues(processors: &[usize]) -> Result<Self> {
        lay(processors.len())?;
        let cable = Self(());
        if processors.len() > 1 {
            let mut queues = processors.iter().enumerate();
            A.run(|| queues.try_for_each(|(queue, processor)| give(queue, *processor)))?;
        }
        Ok(cable)
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        if let Err(error) = lay(1) {
            eprintln!("the cable stays as it is: {error}");
        }
    }
}

/// Neighbours are permanent, as with the lab's own: no packet is ARP's.
fn lay(queues: usize) -> Result<()> {
    let [own, peer] = HARDWARE;
    let both = format!("numtxqueues {queues} numrxqueues {queues}");
    A.run(|| {
        command::ip_batch(&format!(
            "link del {DEVICE}\n\
             link add {DEVICE} {both} address {own} type veth peer name {PEER_DEVICE} netns b \
             {both} address {peer}\n\
             link set {DEVICE} addrgenmode none up\n\
             addr add {SENDER}/24 dev {DEVICE}\n\
             neigh add {RECEIVER} lladdr {peer} nud permanent dev {DEVICE}\n"
        ))
    })?;
    B.run(|| {
        command::ip_batch(&format!(
            "link set {PEER_DEVICE} addrgenmode none up\n\
             addr add {RECEIVER}/24 dev {PEER_DEVICE}\n\
             neigh add {SENDER} lladdr {own} nud permanent dev {PEER_DEVICE}\n"
        ))
    })
}

/// A transmit queue for one processor: otherwise the flow's hash chooses, and two senders may have
/// the same.
fn give(queue: usize, processor: usize) -> Result<()> {
    // /sys shows the devices of the namespace in which it was mounted.
    let folder = tempfile::tempdir().doing("make a place for sysfs")?;
    let place = folder.path().to_string_lossy().into_owned();
    command::run("mount", &["-t", "sysfs", "sysfs", &place])?;
    let path = format!("class/net/{DEVICE}/queues/tx-{queue}/xps_cpus");
    let written = std::fs::write(
        Path::new(&place).join(path),
        format!("{:x}", 1 << processor),
    );
    let unmounted = command::run("umount", &[&place]);
    written.doing("give a queue to a processor")?;
    unmounted.map(drop)
}
