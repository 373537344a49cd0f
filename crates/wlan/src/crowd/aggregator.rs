//! A host that collects the terminals' reports and sends the sum to all of them. It is best on
//! the wire, since a frame from one terminal to another goes over the air twice.

use std::net::SocketAddr;

use takt_host::Datagrams;

use super::{
    Form, Member, Own,
    beat::{Beat, within_ms},
    heard_rate,
    members::Members,
    report::{REPORT_BYTES, Report},
    sum::{self, ENTRIES_MAX, Entry, Head, Strangers},
};
use crate::sealed::{BODY_MAX_BYTES, DATAGRAM_MAX_BYTES, Purpose, Receiver, Sender};

/// Receives all reports and answers with their sum.
pub struct Aggregator {
    interval_ns: u64,
    receiver: Receiver,
    sender: Sender,
    beat: Beat,
    members: Members,
    strangers: Strangers,
    /// Reports without room.
    not_its_own: u64,
}

impl Aggregator {
    /// An aggregator without members. `random` places its first sum within an interval.
    pub fn new(now_ns: u64, own: Own, random: u32) -> Self {
        let bodies = REPORT_BYTES..=REPORT_BYTES;
        Self {
            interval_ns: own.interval_ns,
            receiver: Receiver::new(own.key.clone(), Purpose::CROWD, bodies, heard_rate(2)),
            sender: Sender::new(own.key, Purpose::CROWD_SUM, own.number, own.epoch),
            beat: Beat::new(now_ns, own.interval_ns, random),
            members: Members::default(),
            strangers: Strangers::default(),
            not_its_own: 0,
        }
    }

    /// Handles a datagram; returns whether a member sent it.
    pub fn hear(&mut self, now_ns: u64, from: SocketAddr, datagram: &[u8]) -> bool {
        let mut body = [0; BODY_MAX_BYTES];
        let opened = self.receiver.open(now_ns, from.ip(), datagram, &mut body);
        let Ok(opened) = opened else {
            return false;
        };
        let from = Some(from.ip().to_canonical());
        let report = Report::from_bytes(opened.body);
        let is_taken = report.is_some_and(
            |Report {
                 activity,
                 within_ms,
             }| {
                self.members
                    .hear(now_ns, opened.sender, from, activity, within_ms)
            },
        );
        if !is_taken {
            self.not_its_own += 1;
        }
        is_taken
    }

    /// What an access point counts of terminals that belong to no group, for the next sums.
    pub fn count_strangers(&mut self, strangers: Strangers) {
        self.strangers = strangers;
    }

    /// As they were counted last.
    pub fn strangers(&self) -> Strangers {
        self.strangers
    }

    /// Writes the sum, once an interval, in as many datagrams as it takes. There is none
    /// without members.
    pub fn tell(&mut self, now_ns: u64, random: u32, mut send: impl FnMut(&[u8])) {
        let interval_ns = self.interval_ns();
        if !self.beat.strikes(now_ns, interval_ns, random) {
            return;
        }
        self.members.expire(now_ns);
        let head = Head {
            within_ms: within_ms(interval_ns),
            strangers: self.strangers,
        };
        let entry = |(number, member): (u64, &Member)| Entry {
            number,
            activity: member.activity,
        };
        let mut entries = self.members.iter().map(entry).peekable();
        while entries.peek().is_some() {
            let (mut body, mut datagram) = ([0; BODY_MAX_BYTES], [0; DATAGRAM_MAX_BYTES]);
            let body = sum::write(head, entries.by_ref().take(ENTRIES_MAX), &mut body);
            if let Some(sealed) = self.sender.seal(body, &mut datagram) {
                send(sealed);
            }
        }
    }

    /// When [`Self::tell`] is due next.
    pub fn due_ns(&self) -> u64 {
        self.beat.due_ns()
    }

    /// The interval between sums, with the current members.
    pub fn interval_ns(&self) -> u64 {
        Form::Aggregated.interval_ns(self.interval_ns, self.members.count())
    }

    /// The members, by number.
    pub fn members(&self) -> impl Iterator<Item = (u64, &Member)> {
        self.members.iter()
    }

    /// `dropped`: datagrams that the kernel dropped.
    pub fn datagrams(&self, dropped: u64) -> Datagrams {
        self.receiver.counters().told(self.not_its_own, dropped)
    }
}
