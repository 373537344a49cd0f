//! All flows of a cell at once.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::thread::ScopedJoinHandle;

use super::case::Flow;
use super::probe::{Probe, Told};
use crate::experiment::beats::sleep_until;
use crate::experiment::bulk;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::load::{Busy, Idle};
use crate::experiment::namespace::Namespace;
use crate::experiment::record::{Record, Window};

pub struct Played {
    /// By flow.
    pub flows: Vec<(Flow, Heard)>,
    /// The processor's work in that time.
    pub busy: Busy,
    pub retransmitted_segments: u64,
}

/// Both ends of one flow.
pub struct Heard {
    pub received: Record,
    pub sender: Told,
}

/// Traffic begins with the window's warm-up; `senders` are all hosts that may send.
pub fn play(flows: &[Flow], senders: &[Namespace], window: Window) -> Result<Played> {
    let mut open = Vec::new();
    for flow in flows {
        let (receiver, address) = flow.receiver();
        open.push((*flow, bulk::open(flow.sender(), receiver, address)?));
    }
    let names = open
        .iter()
        .map(|(_, (sender, _))| name(sender))
        .collect::<Result<Vec<_>>>()?;
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for (flow, (sender, receiver)) in &mut open {
            let flow = *flow;
            scope.spawn(move || send(sender, flow, window));
            running.push((flow, scope.spawn(move || bulk::receive(receiver, window))));
        }
        let seen = watch(senders, window)?;
        let mut flows = Vec::new();
        for ((flow, receiver), name) in running.into_iter().zip(&names) {
            let heard = Heard {
                received: joined(receiver)?,
                sender: seen.told.get(name).cloned().unwrap_or_default(),
            };
            flows.push((flow, heard));
        }
        Ok(Played {
            flows,
            busy: seen.busy,
            retransmitted_segments: seen.retransmitted_segments,
        })
    })
}

fn send(socket: &mut TcpStream, flow: Flow, window: Window) -> Result<()> {
    let at_ns = |since: std::time::Duration| window.warm_up_ns + since.as_nanos() as u64;
    sleep_until(at_ns(flow.begins));
    bulk::send_until(socket, flow.ends.map_or(window.end_ns, at_ns))?;
    bulk::end(socket)
}

struct Watched {
    busy: Busy,
    told: BTreeMap<(String, String), Told>,
    retransmitted_segments: u64,
}

fn watch(senders: &[Namespace], window: Window) -> Result<Watched> {
    sleep_until(window.begin_ns);
    let (idle, retransmitted) = (Idle::now()?, retransmitted_segments(senders)?);
    let probe = Probe::start()?;
    sleep_until(window.end_ns);
    let busy = Idle::now()?.since(&idle);
    Ok(Watched {
        busy,
        told: probe.finish()?,
        retransmitted_segments: retransmitted_segments(senders)? - retransmitted,
    })
}

/// The flow's name in the probe.
fn name(sender: &TcpStream) -> Result<(String, String)> {
    let local = sender.local_addr().doing("ask for a flow's address")?;
    let peer = sender.peer_addr().doing("ask for a flow's address")?;
    Ok((local.to_string(), peer.to_string()))
}

/// Counted since the namespaces were made, in all of them.
fn retransmitted_segments(namespaces: &[Namespace]) -> Result<u64> {
    // /proc/net is the namespace of the process's first thread.
    const COUNTERS: &str = "/proc/thread-self/net/snmp";
    let mut sum = 0;
    for namespace in namespaces {
        let text =
            namespace.run(|| std::fs::read_to_string(COUNTERS).doing("read TCP's counters"))?;
        sum += counter(&text, "RetransSegs").unwrap_or_default();
    }
    Ok(sum)
}

/// The first line that begins with `Tcp:` names the counters of the second.
fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let mut names = lines.next()?.split_ascii_whitespace();
    let place = names.position(|one| one == name)?;
    lines
        .next()?
        .split_ascii_whitespace()
        .nth(place)?
        .parse()
        .ok()
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text = "Ip: A\nIp: 1\nTcp: RtoMin RetransSegs InErrs\nTcp: 200 17 0\n";
        assert_eq!(counter(text, "RetransSegs"), Some(17));
        assert_eq!(counter(text, "Other"), None);
        assert_eq!(counter("", "RetransSegs"), None);
    }
}
