//! The wire's process: it takes a frame from a device when the wire is free, and the other device
//! has it when its last bit has come. Both directions at once.

use std::io::{BufRead, BufReader, Stdin, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use takt_vduse::{NetConfig, Wire};

use super::process::READY;
use super::script::{Counts, End, Order, Script, Way};
use crate::experiment::beats::{Class, enter, now_ns};
use crate::experiment::card::Card;
use crate::experiment::error::{ExperimentError, Result, WhileDoing};

/// Above all senders and receivers: a wire does not wait for a processor.
const PRIORITY: u32 = 50;
/// A frame that comes later is no answer to the end of the one before.
const ANSWER_MAX_NS: u64 = 250_000;

/// Plays the script in the first line of standard input until that is closed.
pub fn play_from_stdin() -> Result<()> {
    let mut input = BufReader::new(std::io::stdin());
    let script: Script = read(&mut input)?.ok_or_else(|| unexpected("no script"))?;
    let mut player = Player {
        ways: [
            Direction::new(&script.ends[0])?,
            Direction::new(&script.ends[1])?,
        ],
        port: script.port,
        began_ns: now_ns(),
        woken_ns: 0,
    };
    enter(Class::Fifo { priority: PRIORITY })?;
    say(&format!("{READY} {}", player.began_ns))?;
    player.play(&mut input)
}

struct Player {
    ways: [Direction; 2],
    port: u16,
    began_ns: u64,
    /// When the process was last woken: what is in a ring then is there by then.
    woken_ns: u64,
}

/// From a device to the other.
struct Direction {
    card: Card,
    wire: Wire,
    /// On the wire.
    frame: Vec<u8>,
    counts: Way,
    /// When the last frame had ended, and when its driver could hear of it.
    told: Option<Told>,
}

#[derive(Clone, Copy)]
struct Told {
    ended_ns: u64,
    heard_ns: Option<u64>,
}

impl Told {
    /// When a frame was there that the driver has put into its ring by then. A driver that answers
    /// at once would have done so earlier by what it heard late: the process takes time that
    /// hardware does not, on the driver's own processor.
    fn ready_ns(self, there_ns: u64) -> u64 {
        match self.heard_ns {
            Some(heard_ns) if there_ns.saturating_sub(heard_ns) <= ANSWER_MAX_NS => self
                .ended_ns
                .max(there_ns - (heard_ns - self.ended_ns).min(there_ns)),
            _ => there_ns,
        }
    }
}

impl Direction {
    fn new(end: &End) -> Result<Self> {
        let config = NetConfig {
            name: end.name.clone(),
            mac: end.mac,
            transmit_ring: end.transmit_ring,
        };
        Ok(Self {
            card: Card::new(&config)?,
            wire: Wire::new(end.speed.clone().into()),
            frame: Vec::new(),
            counts: Way::default(),
            told: None,
        })
    }
}

impl Player {
    fn play(&mut self, input: &mut BufReader<Stdin>) -> Result<()> {
        loop {
            for from in 0..self.ways.len() {
                self.advance(from)?;
            }
            let Some(is_told) = self.wait(input)? else {
                continue;
            };
            if is_told && !self.obey(input)? {
                return Ok(());
            }
        }
    }

    fn now_ns(&self) -> u64 {
        now_ns() - self.began_ns
    }

    /// Delivers frames that have ended, and sends the next ones.
    fn advance(&mut self, from: usize) -> Result<()> {
        let mut next = Vec::new();
        while let Some(end_ns) = self.ways[from].wire.end_ns() {
            if end_ns > self.now_ns() {
                return Ok(());
            }
            // What is there before the driver has this one back was there at its end.
            let follows = self.ways[from].card.take(&mut next)?;
            self.end(from)?;
            if !follows {
                break;
            }
            self.send(from, end_ns, std::mem::take(&mut next));
        }
        if self.ways[from].card.take(&mut next)? {
            let there_ns = self.woken_ns;
            let told = self.ways[from].told.take();
            let ready_ns = told.map_or(there_ns, |told| told.ready_ns(there_ns));
            self.send(from, ready_ns, next);
            // Where frames take no time.
            return self.advance(from);
        }
        Ok(())
    }

    fn send(&mut self, from: usize, ready_ns: u64, frame: Vec<u8>) {
        let way = &mut self.ways[from];
        way.wire.send(ready_ns, frame.len());
        way.frame = frame;
    }

    /// The frame on the wire has ended.
    fn end(&mut self, from: usize) -> Result<()> {
        let now_ns = self.now_ns();
        let way = &mut self.ways[from];
        let frame = std::mem::take(&mut way.frame);
        way.card.finish()?;
        way.told = way.wire.end_ns().map(|ended_ns| Told {
            ended_ns,
            heard_ns: None,
        });
        let busy_ns = way.wire.finish(now_ns).unwrap_or_default().as_nanos() as u64;
        let took = self.ways[1 - from].card.deliver(&frame)?;
        let way = &mut self.ways[from];
        way.counts.frames += 1;
        way.counts.busy_ns += busy_ns;
        way.counts.lost += u64::from(!took);
        if is_to_port(&frame, self.port) {
            way.counts.apart_ns += busy_ns;
        }
        Ok(())
    }

    /// Waits until there is something to do; whether that is a line of the input. `None`: only
    /// drivers had requests.
    fn wait(&mut self, input: &BufReader<Stdin>) -> Result<Option<bool>> {
        let now_ns = self.now_ns();
        for told in self.ways.iter_mut().filter_map(|way| way.told.as_mut()) {
            told.heard_ns.get_or_insert(now_ns);
        }
        let ends = self.ways.iter().filter_map(|way| way.wire.end_ns());
        let timeout = ends.min().map(|at_ns| {
            TimeSpec::from_duration(Duration::from_nanos(at_ns.saturating_sub(now_ns)))
        });
        let readable = |descriptor| PollFd::new(descriptor, PollFlags::POLLIN);
        let mut wanted = vec![readable(input.get_ref().as_fd())];
        wanted.extend(self.ways.iter().map(|way| readable(way.card.questions())));
        let free = self.ways.iter().filter(|way| way.wire.is_free());
        wanted.extend(free.map(|way| readable(way.card.frames())));
        ppoll(&mut wanted, timeout, None).doing("wait for frames")?;
        self.woken_ns = self.now_ns();
        let mut said = wanted.iter().map(|one| one.any().unwrap_or(true));
        let is_told = said.next() == Some(true);
        let is_asked = [said.next(), said.next()].contains(&Some(true));
        if is_asked {
            for way in &mut self.ways {
                way.card.answer()?;
            }
        }
        Ok((is_told || !is_asked).then_some(is_told))
    }

    /// Carries out the next line; false: there is none any more.
    fn obey(&mut self, input: &mut BufReader<Stdin>) -> Result<bool> {
        let Some(order) = read(input)? else {
            return Ok(false);
        };
        let at_ns = self.now_ns();
        if let Order::Speed(from, speed) = order {
            let way = self.ways.get_mut(from);
            let way = way.ok_or_else(|| unexpected("there are two ends"))?;
            way.wire.set_speed(at_ns, speed.into());
        }
        let counts = Counts {
            at_ns,
            ways: [self.ways[0].counts, self.ways[1].counts],
        };
        let text = serde_json::to_string(&counts);
        say(&text
            .map_err(std::io::Error::from)
            .doing("describe frames")?)?;
        Ok(true)
    }
}

fn read<T: serde::de::DeserializeOwned>(input: &mut BufReader<Stdin>) -> Result<Option<T>> {
    let mut line = String::new();
    input.read_line(&mut line).doing("read what to do")?;
    if line.is_empty() {
        return Ok(None);
    }
    let read = serde_json::from_str(&line);
    read.map(Some)
        .map_err(|error| unexpected(&error.to_string()))
}

fn say(line: &str) -> Result<()> {
    let mut output = std::io::stdout();
    writeln!(output, "{line}").doing("answer")?;
    output.flush().doing("answer")
}

fn unexpected(reason: &str) -> ExperimentError {
    ExperimentError::Output {
        command: "the experiment".to_owned(),
        reason: reason.to_owned(),
    }
}

/// Whether a frame is a whole packet of TCP over IPv4 to this port.
fn is_to_port(frame: &[u8], port: u16) -> bool {
    const ETHERNET_BYTES: usize = 14;
    const TCP: u8 = 6;
    let header = frame.get(ETHERNET_BYTES..).unwrap_or_default();
    let (Some(&[version, ..]), Some(&TCP)) = (header.first_chunk::<1>(), header.get(9)) else {
        return false;
    };
    let at = usize::from(version & 15) * 4 + 2;
    frame.get(12..ETHERNET_BYTES) == Some(&[8, 0][..])
        && header.get(at..at + 2) == Some(&port.to_be_bytes()[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_to_a_port_are_told_apart() {
        let frame = |kind: u8| {
            let mut frame = vec![0; 12];
            frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, kind, 0, 0]);
            frame.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x80, 0, 0x13, 0x8a]);
            frame
        };
        assert!(is_to_port(&frame(6), 5002));
        assert!(!is_to_port(&frame(6), 32768));
        assert!(!is_to_port(&frame(17), 5002));
        assert!(!is_to_port(&frame(6)[..30], 5002));
    }

    #[test]
    fn an_answer_is_as_early_as_the_end_was_told_late() {
        let told = |heard_ns| Told {
            ended_ns: 1_000,
            heard_ns,
        };
        assert_eq!(told(Some(31_000)).ready_ns(81_000), 51_000);
        // It was there before the end.
        assert_eq!(told(Some(31_000)).ready_ns(31_500), 1_500);
        assert_eq!(told(Some(31_000)).ready_ns(900_000), 900_000);
        assert_eq!(told(None).ready_ns(2_000), 2_000);
    }
}
