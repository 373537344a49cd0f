//! What is on the line, and for how long.

use std::net::IpAddr;
use std::time::Duration;

use super::choice::Choice;
use super::line::{Line, Way};
use super::network::{A, B, C, Family, Server};
use super::stream::{Direction, Stream};
use super::talk::{Pattern, Talk};
use crate::experiment::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Traffic {
    /// Realtime response under load (RRUL, of flent): four flows up and four down of one host, half
    /// of them to the far server, and its pings.
    Rrul,
    /// The same, with a video call of another host and a game of a third.
    Call,
    /// The same, with pages of a fourth host.
    Page,
    /// A host with many flows beside a host with one, and pings of a third.
    Fair(Direction, Family),
    /// The same, both with one server: only the hosts' own addresses tell them apart.
    FairAtOneServer(Direction),
    /// A host's datagrams that nothing pushes back, a flow of another, and pings of a third.
    Flood(Direction),
    /// Datagrams both ways that never wait: what forwarding one costs.
    Forwarded,
}

/// Flows of the host that has many.
const MANY: usize = 32;

const PING: Pattern = Pattern {
    every: Duration::from_millis(20),
    up_bytes: 84,
    down_bytes: 84,
};
/// Sixty packets a second.
const GAME: Pattern = Pattern {
    every: Duration::from_micros(16_667),
    up_bytes: 100,
    down_bytes: 100,
};
/// Half of the slowest line that has them.
const FORWARDED: Pattern = Pattern {
    every: Duration::from_millis(4),
    up_bytes: 1250,
    down_bytes: 1250,
};
const FORWARDED_UP_BPS_MIN: u64 = 5_000_000;
const CALL_EVERY: Duration = Duration::from_millis(4);
const CALL_BPS: u64 = 2_500_000;
/// A call takes no more than this part of the line: programs adapt theirs.
const CALL_PERCENT_MAX: u64 = 30;
pub const FLOOD_BYTES: u32 = 1250;
/// Of the line: twice as much as it has; and most of it, since with more the line's own queue is
/// full, and a gateway behind it can do nothing.
const FLOOD_UP_PERCENT: u64 = 200;
const FLOOD_DOWN_PERCENT: u64 = 90;

impl Traffic {
    pub const ALL: [Self; 12] = [
        Self::Rrul,
        Self::Call,
        Self::Page,
        Self::Fair(Direction::Down, Family::Ipv4),
        Self::Fair(Direction::Up, Family::Ipv4),
        Self::Fair(Direction::Down, Family::Ipv6),
        Self::Fair(Direction::Up, Family::Ipv6),
        Self::FairAtOneServer(Direction::Down),
        Self::FairAtOneServer(Direction::Up),
        Self::Flood(Direction::Up),
        Self::Flood(Direction::Down),
        Self::Forwarded,
    ];

    /// In short runs, too.
    fn is_principal(self) -> bool {
        matches!(self, Self::Rrul | Self::Call | Self::Fair(..))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Rrul => "rrul",
            Self::Call => "call",
            Self::Page => "page",
            Self::Fair(Direction::Down, Family::Ipv4) => "fair-down-ipv4",
            Self::Fair(Direction::Up, Family::Ipv4) => "fair-up-ipv4",
            Self::Fair(Direction::Down, Family::Ipv6) => "fair-down-ipv6",
            Self::Fair(Direction::Up, Family::Ipv6) => "fair-up-ipv6",
            Self::FairAtOneServer(Direction::Down) => "fair-down-one-server",
            Self::FairAtOneServer(Direction::Up) => "fair-up-one-server",
            Self::Forwarded => "forwarded",
            Self::Flood(Direction::Up) => "flood-up",
            Self::Flood(Direction::Down) => "flood-down",
        }
    }

    /// The ping comes first.
    pub fn talks(self, line: Line) -> Result<Vec<Talk>> {
        let talk =
            |host, server: Server, pattern| Talk::open(host, server.address(Family::Ipv4), pattern);
        let ping = |host| talk(host, Server::Near, PING);
        let flood = |direction| talk(A, Server::Near, flood(line, direction));
        match self {
            Self::Rrul | Self::Page => Ok(vec![ping(A)?]),
            Self::Call => Ok(vec![
                ping(A)?,
                talk(B, Server::Call, call(line))?,
                talk(C, Server::Game, GAME)?,
            ]),
            Self::Fair(..) | Self::FairAtOneServer(_) => Ok(vec![talk(C, Server::Game, PING)?]),
            Self::Forwarded => Ok(vec![talk(C, Server::Game, FORWARDED)?]),
            Self::Flood(direction) => Ok(vec![talk(C, Server::Game, PING)?, flood(direction)?]),
        }
    }

    /// How many of the talks begin before the load, so that their delays can be compared: all but
    /// a flood.
    pub fn talks_without_load(self) -> usize {
        match self {
            Self::Call => 3,
            _ => 1,
        }
    }

    /// Of hosts with several, the one with a single flow comes last.
    pub fn streams(self) -> Result<Vec<Stream>> {
        let [near, far, other] =
            [Server::Near, Server::Far, Server::Other].map(|server| server.address(Family::Ipv4));
        match self {
            Self::Rrul | Self::Call | Self::Page => [Direction::Up, Direction::Down]
                .into_iter()
                .flat_map(|direction| [near, far, near, far].map(|to| (direction, to)))
                .map(|(direction, to)| Stream::open(direction, A, to))
                .collect(),
            Self::Fair(direction, family) => {
                let [to, other] = [Server::Near, Server::Other].map(|to| to.address(family));
                many_and_one(direction, to, other)
            }
            Self::FairAtOneServer(direction) => many_and_one(direction, near, near),
            Self::Forwarded => Ok(Vec::new()),
            Self::Flood(direction) => Ok(vec![Stream::open(direction, B, other)?]),
        }
    }
}

fn many_and_one(direction: Direction, to: IpAddr, other: IpAddr) -> Result<Vec<Stream>> {
    let many = std::iter::repeat_n((A, to), MANY);
    many.chain([(B, other)])
        .map(|(host, to)| Stream::open(direction, host, to))
        .collect()
}

fn call(line: Line) -> Pattern {
    let bytes = |way: Way| {
        let bps = CALL_BPS.min(way.shaped_bps() * CALL_PERCENT_MAX / 100);
        (bps * CALL_EVERY.as_micros() as u64 / 8_000_000) as u32
    };
    Pattern {
        every: CALL_EVERY,
        up_bytes: bytes(line.up),
        down_bytes: bytes(line.down),
    }
}

fn flood(line: Line, direction: Direction) -> Pattern {
    let every = |way: Way, percent| {
        let bps = way.bps * percent / 100;
        Duration::from_nanos(u64::from(FLOOD_BYTES) * 8_000_000_000 / bps)
    };
    let (every, up_bytes, down_bytes) = match direction {
        Direction::Up => (every(line.up, FLOOD_UP_PERCENT), FLOOD_BYTES, 0),
        Direction::Down => (every(line.down, FLOOD_DOWN_PERCENT), 0, FLOOD_BYTES),
    };
    Pattern {
        every,
        up_bytes,
        down_bytes,
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub line: Line,
    pub traffic: Traffic,
    /// Packets of many frames, as hosts send and gateways merge them.
    pub offloads: bool,
    pub duration: Duration,
}

impl Case {
    pub fn name(&self) -> String {
        // A slash would make it a part of another case.
        let line = self.line.name.replace('/', "-");
        let offloads = if self.offloads { "-gro" } else { "" };
        format!("{line}-{}{offloads}", self.traffic.name())
    }
}

/// Cases that have a network in common.
#[derive(Debug)]
pub struct Group {
    pub line: Line,
    pub offloads: bool,
    pub cases: Vec<Case>,
}

/// Frame by frame the fastest line is too much for the emulated processor, and single datagrams of
/// a flood likewise.
const OFFLOADS_FROM_BPS: u64 = 500_000_000;

pub fn groups(short: bool, choice: &Choice) -> Result<Vec<Group>> {
    let (mut lines, mut traffic) = (choice.lines()?, choice.traffic()?);
    if short && choice.lines.is_empty() {
        lines.truncate(1);
    }
    if short && choice.traffic.is_empty() {
        traffic.retain(|one| one.is_principal());
    }
    let duration = Duration::from_secs(if short { 10 } else { 30 });
    let group = |line: Line, offloads, traffic: Vec<Traffic>| {
        let cases = traffic.into_iter().map(|traffic| Case {
            line,
            traffic,
            offloads,
            duration,
        });
        Group {
            line,
            offloads,
            cases: cases.collect(),
        }
    };
    let mut groups = Vec::new();
    for line in lines {
        let is_fast = line.down.bps >= OFFLOADS_FROM_BPS;
        let mut usual = traffic.clone();
        usual.retain(|one| match one {
            Traffic::Flood(_) => !is_fast,
            Traffic::Forwarded => line.up.bps >= FORWARDED_UP_BPS_MIN,
            _ => true,
        });
        groups.push(group(line, is_fast, usual));
        if !is_fast && !short && traffic.contains(&Traffic::Rrul) {
            groups.push(group(line, true, vec![Traffic::Rrul]));
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_is_of_one_line() {
        let groups = groups(true, &Choice::default()).unwrap();
        assert_eq!(groups.len(), 1);
        let names: Vec<String> = groups[0].cases.iter().map(Case::name).collect();
        assert_eq!(names[0], "20-5-rrul");
        assert!(names.contains(&"20-5-fair-up-ipv6".to_owned()), "{names:?}");
    }

    #[test]
    fn a_choice_is_of_any_length() {
        let choice = Choice {
            lines: vec!["940/40".to_owned()],
            traffic: vec!["page".to_owned(), "flood-up".to_owned()],
            ..Choice::default()
        };
        for short in [true, false] {
            let groups = groups(short, &choice).unwrap();
            let names: Vec<String> = groups[0].cases.iter().map(Case::name).collect();
            assert_eq!(names, ["940-40-page-gro"]);
        }
    }

    #[test]
    fn names_are_unique_and_of_no_other_case() {
        let mut names: Vec<String> = groups(false, &Choice::default())
            .unwrap()
            .iter()
            .flat_map(|group| group.cases.iter().map(Case::name))
            .collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().all(|name| !name.contains('/')));
        assert!(names.contains(&"940-40-rrul-gro".to_owned()), "{names:?}");
    }

    #[test]
    fn a_call_leaves_room_on_a_slow_line() {
        let pattern = |name| call(Line::named(name).unwrap());
        let fast = pattern("100/20");
        assert_eq!((fast.up_bytes, fast.down_bytes), (1250, 1250));
        let slow = pattern("20/5");
        assert_eq!((slow.up_bytes, slow.down_bytes), (712, 1250));
    }

    #[test]
    fn a_flood_is_twice_the_uplink_or_fits_the_downlink() {
        let line = Line::named("20/5").unwrap();
        let up = flood(line, Direction::Up);
        assert_eq!((up.every, up.down_bytes), (Duration::from_millis(1), 0));
        let down = flood(line, Direction::Down);
        assert_eq!(
            (down.every, down.up_bytes),
            (Duration::from_nanos(555_555), 0)
        );
    }
}
