//! The radio process: it connects devices and medium.
//!
//! Waiting is only for time: a frame is taken from a device when its transmitter is free, and
//! reaches the receiver's device when the medium says so. The medium's clock starts with the
//! process.

use std::collections::VecDeque;
use std::io::{BufRead, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::time::TimeSpec;
use takt_medium::{Action, Frame, Input, Medium, NodeId, Outcome, Profile, Receiver};

use super::airtime::TxQueues;
use super::cards;
use super::ledger::{Direction, Ledger};
use super::nodes::{is_for_group, node, path, receiver, sender, station};
use super::process::READY;
use super::reports::Reports;
use super::script::{Script, Statistics, Waiting};
use super::station::StationDevice;
use crate::experiment::beats::{Class, enter, now_ns};
use crate::experiment::card::Card;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};

/// Above all senders and receivers: air does not wait for a processor.
const PRIORITY: u32 = 50;

/// Runs the script on standard input until that is closed, and writes the statistics to
/// standard output.
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
    access_point: Card,
    stations: Vec<StationDevice>,
    /// By node: its transmitter's frame, if it has one.
    hands: Vec<Vec<u8>>,
    /// By node: its device had no frame at the last read, and has not signalled one since.
    is_idle: Vec<bool>,
    /// Frames from a station to a group: the access point forwards them before all others.
    repeats: VecDeque<Vec<u8>>,
    /// Readable when a driver has a request.
    questions: Epoll,
    /// The access point's queue, if it is not in its qdisc.
    queues: Option<TxQueues>,
    ledger: Ledger,
    reports: Option<Reports>,
    /// The zero of the medium's clock.
    began_ns: u64,
    /// When the access point's transmitter became free, if a frame was waiting.
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
            .map(|station| StationDevice::create(script.cards, station))
            .collect::<Result<Vec<_>>>()?;
        let access_point = cards::of_access_point()?;
        let cards = stations.iter().filter_map(StationDevice::card);
        Ok(Self {
            medium,
            questions: questions(cards.chain([&access_point]))?,
            access_point,
            hands: vec![Vec::new(); stations.len() + 1],
            is_idle: vec![false; stations.len() + 1],
            repeats: VecDeque::new(),
            queues: match script.waiting {
                Waiting::Qdisc => None,
                Waiting::Airtime => Some(TxQueues::new(stations.len())),
            },
            ledger: Ledger::new(script),
            reports: script.reports.clone().map(Reports::new),
            stations,
            began_ns: now_ns(),
            free_since_ns: None,
        })
    }

    fn play(&mut self, input: BorrowedFd<'_>) -> Result<()> {
        loop {
            let now_ns = self.now_ns();
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
                    // A station that sends to a group receives the access point's repetition,
                    // too.
                    Some(index) if sender(frame) == Some(index) => return Ok(()),
                    Some(index) => {
                        let took = self.stations[index].deliver(frame)?;
                        (index, Direction::Down, took)
                    }
                    None => {
                        if is_for_group(frame) {
                            self.repeats.push_back(frame.clone());
                        }
                        let took = self.access_point.deliver(frame)?;
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
                air_ns,
                ..
            } => {
                let frame = &self.hands[usize::from(from.0)];
                self.ledger
                    .done(at_ns, frame, air_ns, self.medium.busy_ns());
                let (index, direction) = match station(from) {
                    Some(index) => (Some(index), Direction::Up),
                    None => (receiver(frame), Direction::Down),
                };
                if outcome == Outcome::Dropped
                    && let Some(way) = index.and_then(|at| self.ledger.way(at, direction))
                {
                    way.given_up += 1;
                }
                match station(from) {
                    Some(index) => self.stations[index].finish()?,
                    None => {
                        self.access_point.finish()?;
                        self.free_since_ns = Some(at_ns);
                    }
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
            let to = match receiver(frame) {
                _ if is_for_group(frame) => Receiver::Everyone,
                Some(index) if index < self.stations.len() => Receiver::Node(node(index)),
                _ => {
                    self.ledger.statistics.to_nobody += 1;
                    self.access_point.finish()?;
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
            let place = usize::from(from.0);
            if self.is_idle[place] || !self.medium.is_free(from) {
                continue;
            }
            self.is_idle[place] = !self.stations[index].take(&mut self.hands[place])?;
            if !self.is_idle[place] {
                self.ledger.taken(index, Direction::Up, now_ns);
                self.transmit(now_ns, from, Receiver::Node(Medium::ACCESS_POINT))?;
            }
        }
        Ok(())
    }

    /// A driver with queues of its own takes all frames at once. Broadcasts belong to no
    /// station, and none are sent behind such a driver.
    fn fill_queues(&mut self, now_ns: u64) -> Result<()> {
        let Some(queues) = &mut self.queues else {
            return Ok(());
        };
        let mut frame = Vec::new();
        while self.access_point.take(&mut frame)? {
            self.access_point.finish()?;
            match receiver(&frame) {
                Some(index) => queues.put(now_ns, index, std::mem::take(&mut frame)),
                None => self.ledger.statistics.to_nobody += 1,
            }
        }
        Ok(())
    }

    /// Passes the access point's next frame to its transmitter; false if there is none.
    fn take(&mut self, now_ns: u64) -> Result<bool> {
        let hand = &mut self.hands[usize::from(Medium::ACCESS_POINT.0)];
        if let Some(frame) = self.repeats.pop_front() {
            *hand = frame;
            return Ok(true);
        }
        match &mut self.queues {
            Some(queues) => Ok(queues
                .take(now_ns)
                .map(|(_, frame)| *hand = frame)
                .is_some()),
            None => self.access_point.take(hand),
        }
    }

    fn transmit(&mut self, now_ns: u64, from: NodeId, to: Receiver) -> Result<()> {
        let frame = Frame {
            // A node has one frame at most, so its number is the frame's token.
            token: u64::from(from.0),
            bytes: self.hands[usize::from(from.0)].len() as u32,
            to,
        };
        Ok(self
            .medium
            .handle(now_ns, Input::Transmit { from, frame })?)
    }

    /// Waits until there is something to do; true if the radio is switched off.
    fn wait(&mut self, input: BorrowedFd<'_>) -> Result<bool> {
        let due = [
            self.medium.wake_ns(),
            self.reports.as_ref().map(|reports| reports.due_ns()),
        ];
        let timeout = due.into_iter().flatten().min().map(|at_ns| {
            TimeSpec::from_duration(Duration::from_nanos(at_ns.saturating_sub(self.now_ns())))
        });
        let readable = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
        let mut wanted = vec![readable(input), readable(self.questions.0.as_fd())];
        let mut places = Vec::new();
        for (index, station) in self.stations.iter().enumerate() {
            if self.medium.is_free(node(index)) {
                wanted.push(readable(station.frames()));
                places.push(usize::from(node(index).0));
            }
        }
        // Last: it is polled in any case.
        if self.queues.is_some() || self.medium.is_free(Medium::ACCESS_POINT) {
            wanted.push(readable(self.access_point.frames()));
        }
        ppoll(&mut wanted, timeout, None).doing("wait for frames")?;
        let mut said = wanted.iter().map(|one| one.any().unwrap_or(true));
        let (is_over, is_asked) = (said.next() == Some(true), said.next() == Some(true));
        let said: Vec<bool> = said.collect();
        for (place, has_frames) in places.into_iter().zip(said) {
            self.is_idle[place] &= !has_frames;
        }
        if is_asked {
            self.answer()?;
        }
        Ok(is_over)
    }

    fn answer(&mut self) -> Result<()> {
        let cards = self.stations.iter_mut().filter_map(StationDevice::card_mut);
        for card in cards.chain([&mut self.access_point]) {
            card.answer()?;
        }
        Ok(())
    }

    /// The devices are removed, too.
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

/// Polls all of several drivers at once: few ever send a request.
fn questions<'a>(cards: impl Iterator<Item = &'a Card>) -> Result<Epoll> {
    let all = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("watch for drivers' questions")?;
    for card in cards {
        all.add(card.questions(), EpollEvent::new(EpollFlags::EPOLLIN, 0))
            .doing("watch for drivers' questions")?;
    }
    Ok(all)
}
