//! All flows of a cell at once.

use std::net::{TcpStream, UdpSocket};
use std::thread::ScopedJoinHandle;

use super::environment::STATIONS;
use super::pattern::{Flow, Pattern, Stream};
use super::udp;
use crate::experiment::beats::sleep_until;
use crate::experiment::bulk;
use crate::experiment::error::{ExperimentError, Result};
use crate::experiment::load::{Busy, Idle};
use crate::experiment::record::{Record, Window};
use crate::experiment::wlan::{SERVER, Station};

pub struct Played {
    /// Bytes that each station received.
    pub records: Vec<Record>,
    /// The processor's work in that time.
    pub busy: Busy,
}

/// All flows, open and silent.
#[derive(Default)]
pub struct Flows {
    datagrams: Vec<(Station, Stream, (UdpSocket, UdpSocket))>,
    connections: Vec<(Station, (TcpStream, TcpStream))>,
}

impl Flows {
    /// Before strengths are reported: a throttled station could not be connected to.
    pub fn open(pattern: Pattern) -> Result<Self> {
        let mut flows = Self::default();
        for station in Station::first(STATIONS) {
            match pattern.flow(station.index()) {
                Some(Flow::Udp(stream)) => {
                    let ends = udp::open(station)?;
                    flows.datagrams.push((station, stream, ends));
                }
                Some(Flow::Tcp) => {
                    let ends = bulk::open(SERVER, station.namespace(), station.address())?;
                    flows.connections.push((station, ends));
                }
                None => {}
            }
        }
        Ok(flows)
    }
}

/// Traffic begins with the window's warm-up.
pub fn play(flows: Flows, seed: u64, window: Window) -> Result<Played> {
    let Flows {
        datagrams,
        mut connections,
    } = flows;
    sleep_until(window.warm_up_ns);
    let mut records = vec![Record::default(); STATIONS];
    let busy = std::thread::scope(|scope| {
        let mut streams = Vec::new();
        for (station, stream, (sender, receiver)) in &datagrams {
            let seed = seed.wrapping_mul(STATIONS as u64) + station.index() as u64;
            streams.push((
                station.index(),
                scope.spawn(move || udp::receive(receiver, window)),
                scope.spawn(move || udp::send(sender, *stream, window, seed)),
            ));
        }
        let mut bulk = Vec::new();
        for (station, (sender, receiver)) in &mut connections {
            bulk.push((
                station.index(),
                scope.spawn(move || bulk::receive(receiver, window)),
                scope.spawn(move || bulk::send(sender, window)),
            ));
        }
        let busy = busy_within(window)?;
        for (index, receiver, sender) in streams {
            let sent = joined(sender)?;
            records[index] = Record {
                sent,
                ..joined(receiver)?
            };
        }
        for (index, receiver, sender) in bulk {
            joined(sender)?;
            records[index] = joined(receiver)?;
        }
        Ok::<_, ExperimentError>(busy)
    })?;
    Ok(Played { records, busy })
}

fn busy_within(window: Window) -> Result<Busy> {
    sleep_until(window.begin_ns);
    let before = Idle::now()?;
    sleep_until(window.end_ns);
    Ok(Idle::now()?.since(&before))
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
