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
use takt_medium::{Action, Frame, Input, Medium, NodeId, Outcome, Profile, Receiver};
use takt_vduse::Taken;

use super::access_point::ApDevice;
use super::airtime::TxQueues;
use super::ledger::{Direction, Ledger};
use super::nodes::{node, path, receiver, station};
use super::process::READY;
use super::reports::Reports;
use super::script::{Script, Statistics, Waiting};
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
    println!("{READY} {}", radio.began_ns);
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
    /// Where the access point's frames wait, if not in its qdisc.
    queues: Option<TxQueues>,
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
            let node = medium.add_station(path(&station.motion));
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
            queues: match script.waiting {
                Waiting::Qdisc => None,
                Waiting::Airtime => Some(TxQueues::new(stations.len())),
            },
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
                if from == Medium::ACCESS_POINT {
                    if let Some(taken) = self.taken.take() {
                        self.access_point.device.finish(taken)?;
                    }
                    self.free_since_ns = Some(at_ns);
                }
                if let (Some(queues), Some(index)) = (&mut self.queues, index) {
                    let air = self.medium.air(node(index)).unwrap_or_default();
                    queues.charge(index, air.busy_ns);
                }
            }
        }
        Ok(())
    }

    /// Gives every free transmitter the next frame of its device.
    fn fill_hands(&mut self, now_ns: u64) -> Result<()> {
        self.fill_queues(now_ns)?;
        while self.medium.is_free(Medium::ACCESS_POINT) && self.take(now_ns)? {
            let frame = &self.hands[usize::from(Medium::ACCESS_POINT.0)];
            let to = match (frame.first(), receiver(frame)) {
                (Some(first), _) if first & MULTICAST != 0 => Receiver::Everyone,
                (_, Some(index)) if index < self.stations.len() => Receiver::Node(node(index)),
                _ => {
                    self.ledger.statistics.to_nobody += 1;
                    if let Some(taken) = self.taken.take() {
                        self.access_point.device.finish(taken)?;
                    }
                    continue;
                }
            };
            if let Receiver::Node(to) = to {
                self.ledger
                    .taken(usize::from(to.0) - 1, Direction::Down, now_ns);
            }
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
                self.ledger.taken(index, Direction::Up, now_ns);
                self.transmit(now_ns, from, Receiver::Node(Medium::ACCESS_POINT))?;
            }
        }
        Ok(())
    }

    /// A driver with queues of its own takes all there is at once. Broadcasts are none of
    /// a station's, and nobody here sends any.
    fn fill_queues(&mut self, now_ns: u64) -> Result<()> {
        let Some(queues) = &mut self.queues else {
            return Ok(());
        };
        let mut frame = Vec::new();
        while let Some(taken) = self.access_point.device.take(&mut frame)? {
            self.access_point.device.finish(taken)?;
            match receiver(&frame) {
                Some(index) => queues.put(now_ns, index, std::mem::take(&mut frame)),
                None => self.ledger.statistics.to_nobody += 1,
            }
        }
        Ok(())
    }

    /// The access point's next frame comes into its hand; false if there is none.
    fn take(&mut self, now_ns: u64) -> Result<bool> {
        let hand = &mut self.hands[usize::from(Medium::ACCESS_POINT.0)];
        match &mut self.queues {
            Some(queues) => Ok(queues
                .take(now_ns)
                .map(|(_, frame)| *hand = frame)
                .is_some()),
            None => {
                self.taken = self.access_point.device.take(hand)?;
                Ok(self.taken.is_some())
            }
        }
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
        if self.queues.is_some() || self.medium.is_free(Medium::ACCESS_POINT) {
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
