//! The radio process: it joins devices and medium.
//!
//! Nothing waits for anything but time here: a frame is taken from a device when
//! its transmitter is free, and reaches the receiver's device when the medium
//! says so. The medium's clock starts with the process.

use std::io::{BufRead, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use takt_medium::{Action, Frame, Input, Medium, NodeId, Outcome, Profile, Receiver, SnrPath};
use takt_vduse::Taken;

use super::access_point::ApDevice;
use super::ledger::{Direction, Ledger};
use super::plan::Station;
use super::process::READY;
use super::reports::Reports;
use super::script::{Motion, Script, Statistics};
use super::station::StationDevice;
use crate::experiment::beats::{Class, enter, now_ns};
use crate::experiment::error::{ExperimentError, Result, WhileDoing};

/// Above everything that sends and receives: air does not wait for a processor.
const PRIORITY: u32 = 50;

/// Plays the script on standard input until that is closed, and writes the
/// statistics to standard output.
pub fn play_from_stdin() -> Result<()> {
    let mut text = String::new();
    let stdin = std::io::stdin();
    stdin.lock().read_line(&mut text).doing("read the script")?;
    let script: Script = serde_json::from_str(&text).map_err(|error| ExperimentError::Output {
        command: "the experiment".to_owned(),
        reason: error.to_string(),
    })?;
    let mut radio = Radio::new(&script)?;
    enter(Class::Fifo { priority: PRIORITY })?;
    println!("{READY}");
    radio.play(stdin.as_fd())?;
    let statistics = radio.finish();
    let text = serde_json::to_vec(&statistics)
        .map_err(std::io::Error::from)
        .doing("describe what happened")?;
    std::io::stdout()
        .write_all(&text)
        .doing("say what happened")
}

struct Radio {
    medium: Medium,
    access_point: ApDevice,
    stations: Vec<StationDevice>,
    /// By node: the frame that its transmitter has in hand, if it has one.
    hands: Vec<Vec<u8>>,
    /// The access point's, as its driver knows it.
    taken: Option<Taken>,
    ledger: Ledger,
    reports: Option<Reports>,
    /// When the medium's clock began.
    began_ns: u64,
    /// When the access point's transmitter got free, if it found a frame waiting.
    free_since_ns: Option<u64>,
}

impl Radio {
    fn new(script: &Script) -> Result<Self> {
        let profile = Profile::by_name(&script.profile).ok_or_else(|| {
            let known: Vec<_> = Profile::all().iter().map(|one| one.name).collect();
            ExperimentError::UnknownProfile {
                name: script.profile.clone(),
                known: known.join(", "),
            }
        })?;
        let mut medium = Medium::new(profile, script.seed);
        for station in &script.stations {
            let node = medium.add_station(path(station.motion));
            if let Some(rate) = station.rate {
                let choice = takt_medium::RateChoice::Fixed(rate);
                medium.handle(
                    0,
                    Input::Rate {
                        station: node,
                        choice,
                    },
                )?;
            }
        }
        let stations = script
            .stations()
            .map(StationDevice::create)
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            medium,
            access_point: ApDevice::create()?,
            hands: vec![Vec::new(); stations.len() + 1],
            taken: None,
            ledger: Ledger::new(stations.len(), script.interval),
            reports: script.reports.clone().map(Reports::new),
            stations,
            began_ns: now_ns(),
            free_since_ns: None,
        })
    }

    fn play(&mut self, input: BorrowedFd<'_>) -> Result<()> {
        loop {
            let now_ns = self.now_ns();
            self.access_point.device.answer()?;
            while let Some(action) = self.medium.poll(now_ns) {
                self.act(action)?;
            }
            self.fill_hands(now_ns)?;
            if let Some(reports) = &mut self.reports {
                reports.write_if_due(now_ns, &mut self.medium)?;
            }
            if self.wait(input)? {
                return Ok(());
            }
        }
    }

    fn now_ns(&self) -> u64 {
        now_ns() - self.began_ns
    }

    fn act(&mut self, action: Action) -> Result<()> {
        match action {
            Action::Deliver {
                at_ns, from, to, ..
            } => {
                let frame = &self.hands[usize::from(from.0)];
                let (station, direction, took) = match station(to) {
                    Some(index) => {
                        let took = self.stations[index].deliver(frame);
                        (index, Direction::Down, took)
                    }
                    None => {
                        let took = self.access_point.device.deliver(frame)?;
                        (usize::from(from.0) - 1, Direction::Up, took)
                    }
                };
                self.ledger
                    .delivered(station, direction, at_ns, frame.len(), took);
            }
            Action::Done {
                at_ns,
                from,
                outcome,
                ..
            } => {
                let frame = &self.hands[usize::from(from.0)];
                let (index, direction) = match station(from) {
                    Some(index) => (Some(index), Direction::Up),
                    None => (receiver(frame), Direction::Down),
                };
                if outcome == Outcome::Dropped
                    && let Some(way) = index.and_then(|at| self.ledger.way(at, direction))
                {
                    way.given_up += 1;
                }
                if from == Medium::ACCESS_POINT
                    && let Some(taken) = self.taken.take()
                {
                    self.access_point.device.finish(taken)?;
                    self.free_since_ns = Some(at_ns);
                }
            }
        }
        Ok(())
    }

    /// Gives every free transmitter the next frame of its device.
    fn fill_hands(&mut self, now_ns: u64) -> Result<()> {
        while self.medium.is_free(Medium::ACCESS_POINT) {
            let frame = &mut self.hands[usize::from(Medium::ACCESS_POINT.0)];
            let Some(taken) = self.access_point.device.take(frame)? else {
                break;
            };
            let to = match (frame.first(), receiver(frame)) {
                (Some(first), _) if first & MULTICAST != 0 => Receiver::Everyone,
                (_, Some(index)) if index < self.stations.len() => Receiver::Node(node(index)),
                _ => {
                    self.ledger.statistics.to_nobody += 1;
                    self.access_point.device.finish(taken)?;
                    continue;
                }
            };
            if let Receiver::Node(to) = to
                && let Some(way) = self.ledger.way(usize::from(to.0) - 1, Direction::Down)
            {
                way.frames += 1;
            }
            self.taken = Some(taken);
            if let Some(since_ns) = self.free_since_ns.take() {
                self.ledger.gap(now_ns.saturating_sub(since_ns));
            }
            self.transmit(now_ns, Medium::ACCESS_POINT, to)?;
        }
        for index in 0..self.stations.len() {
            let from = node(index);
            if self.medium.is_free(from)
                && self.stations[index].take(&mut self.hands[usize::from(from.0)])?
            {
                if let Some(way) = self.ledger.way(index, Direction::Up) {
                    way.frames += 1;
                }
                self.transmit(now_ns, from, Receiver::Node(Medium::ACCESS_POINT))?;
            }
        }
        Ok(())
    }

    fn transmit(&mut self, now_ns: u64, from: NodeId, to: Receiver) -> Result<()> {
        let frame = Frame {
            // A node has one frame in hand at most, so its number names it.
            token: u64::from(from.0),
            bytes: self.hands[usize::from(from.0)].len() as u32,
            to,
        };
        Ok(self
            .medium
            .handle(now_ns, Input::Transmit { from, frame })?)
    }

    /// Until there is something to do; true if the radio is switched off.
    fn wait(&mut self, input: BorrowedFd<'_>) -> Result<bool> {
        let due = [
            self.medium.wake_ns(),
            self.reports.as_ref().map(|reports| reports.due_ns()),
        ];
        let timeout = due.into_iter().flatten().min().map(|at_ns| {
            TimeSpec::from_duration(Duration::from_nanos(at_ns.saturating_sub(self.now_ns())))
        });
        let device = &self.access_point.device;
        let readable = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
        let mut wanted = vec![readable(input), readable(device.questions())];
        if self.medium.is_free(Medium::ACCESS_POINT) {
            wanted.push(readable(device.kicks()));
        }
        for (index, station) in self.stations.iter().enumerate() {
            if self.medium.is_free(node(index)) {
                wanted.push(readable(station.frames()));
            }
        }
        ppoll(&mut wanted, timeout, None).doing("wait for frames")?;
        Ok(wanted[0].any().unwrap_or(true))
    }

    /// The devices go, too.
    fn finish(mut self) -> Statistics {
        let now_ns = self.now_ns();
        for index in 0..self.stations.len() {
            if let Ok(air) = self.medium.air(node(index)) {
                let station = &mut self.ledger.statistics.stations[index];
                station.busy_ns = air.busy_ns;
                station.attempts = air.attempts;
                station.collisions = air.collisions;
                station.losses = air.losses;
            }
        }
        self.ledger.close(now_ns)
    }
}

/// In a destination's first byte.
const MULTICAST: u8 = 1;

/// The medium's number for a station; the access point is 0.
fn node(station: usize) -> NodeId {
    NodeId(station as u16 + 1)
}

fn station(node: NodeId) -> Option<usize> {
    usize::from(node.0).checked_sub(1)
}

/// The station that a frame is for.
fn receiver(frame: &[u8]) -> Option<usize> {
    let to = frame.first_chunk::<6>()?;
    Station::first(usize::MAX).position(|station| station.mac() == *to)
}

fn path(motion: Motion) -> SnrPath {
    match motion {
        Motion::Still { snr_centidb } => SnrPath::constant(snr_centidb),
        Motion::RoundTrip {
            far_centidb,
            near_centidb,
        } => SnrPath::round_trip(far_centidb, near_centidb),
    }
}
