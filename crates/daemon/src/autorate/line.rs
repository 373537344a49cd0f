//! One line: its law, and what the law is told.

use std::{net::IpAddr, time::Duration};

use takt_autorate::{Answer, Both, Bounds, Law, Rates};
use takt_planner::line_bytes;
use takt_policy::{Framing, Link};

use crate::service::Service;

/// How often links and sockets are looked for; both come and go.
const LOOK_NS: u64 = 1_000_000_000;
/// A rate that is not set again counts for so long. A taktd that dies leaves none for good.
pub(super) const LASTS: Duration = Duration::from_secs(3);

/// What the policy says about a line.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub device: String,
    /// `None`: the rate of this direction does not change.
    pub up: Option<Way>,
    pub down: Option<Way>,
    pub reflectors: Vec<IpAddr>,
}

/// What the policy says about one direction.
#[derive(Debug, Clone)]
pub(super) struct Way {
    /// The link's name.
    pub link: String,
    pub bounds: Bounds,
    pub framing: Framing,
}

impl Way {
    pub fn for_link(link: &Link) -> Option<Self> {
        let autorate = link.autorate.as_ref()?;
        Some(Self {
            link: link.device.clone(),
            bounds: Bounds {
                min_bps: autorate.min_bps,
                base_bps: link.rate_bps,
                max_bps: autorate.max_bps,
            },
            framing: link.framing,
        })
    }
}

/// What the line's device has carried, as the kernel counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Of the same device they grow only.
    pub device: u32,
    pub packets: Both<u64>,
    pub bytes: Both<u64>,
}

/// The host, as far as a line needs it.
pub(super) trait World {
    /// Grows while the host sleeps, too.
    fn now_ns(&self) -> u64;
    /// Open what is missing.
    fn look(&mut self) -> Result<(), String>;
    /// The rates that were set before, and still count.
    fn rates_bps(&self) -> Both<Option<u64>>;
    fn ask(&mut self, reflector: usize, now_ns: u64) -> Result<(), String>;
    /// Those that have come, at most as many as were asked for.
    fn answers(&mut self, now_ns: u64) -> Vec<Answer>;
    /// `None`: there is no such device.
    fn count(&mut self) -> Result<Option<Count>, String>;
    fn set(&mut self, rates: &Rates, lasts: Duration);
}

/// What a line carries of so many packets, as if each had their mean length: few lines have frames that
/// cost by their length.
fn on_the_wire(of_line: Framing, packets: u64, bytes: u64) -> u64 {
    match bytes.checked_div(packets) {
        Some(mean_bytes) => line_bytes(of_line, mean_bytes).saturating_mul(packets),
        None => bytes,
    }
}

/// Keeps the rates of a line.
pub(super) struct Follower<W> {
    terms: Terms,
    world: W,
    law: Option<Law>,
    look_ns: u64,
    looked: Result<(), String>,
    counted: Option<Count>,
}

impl<W: World> Follower<W> {
    pub fn new(terms: Terms, world: W) -> Self {
        Self {
            terms,
            world,
            law: None,
            look_ns: 0,
            looked: Ok(()),
            counted: None,
        }
    }

    /// Another taktd, or another policy, may have set rates a moment ago.
    fn law(&mut self, now_ns: u64) -> &mut Law {
        let (terms, world) = (&self.terms, &self.world);
        self.law.get_or_insert_with(|| {
            let bounds = Both {
                up: terms.up.as_ref().map(|way| way.bounds),
                down: terms.down.as_ref().map(|way| way.bounds),
            };
            let mut law = Law::new(bounds, terms.reflectors.len(), now_ns);
            law.start_at(world.rates_bps());
            law
        })
    }

    /// Bytes on the wire since the last look; none after the device has changed.
    fn carried(&mut self) -> Result<Both<u64>, String> {
        let count = self.world.count()?;
        let before = std::mem::replace(&mut self.counted, count);
        let (Some(now), Some(before)) = (count, before) else {
            return Ok(Both::default());
        };
        if now.device != before.device {
            return Ok(Both::default());
        }
        let wire = |way: &Option<Way>, packets: [u64; 2], bytes: [u64; 2]| {
            let framing = way.as_ref().map(|way| way.framing).unwrap_or_default();
            on_the_wire(
                framing,
                packets[0].saturating_sub(packets[1]),
                bytes[0].saturating_sub(bytes[1]),
            )
        };
        Ok(Both {
            up: wire(
                &self.terms.up,
                [now.packets.up, before.packets.up],
                [now.bytes.up, before.bytes.up],
            ),
            down: wire(
                &self.terms.down,
                [now.packets.down, before.packets.down],
                [now.bytes.down, before.bytes.down],
            ),
        })
    }

    /// What is to be done now; when it is due again.
    fn follow(&mut self, now_ns: u64) -> Result<u64, String> {
        let answers = self.world.answers(now_ns);
        let carried = self.carried()?;
        let law = self.law(now_ns);
        for answer in answers {
            law.hear(answer);
        }
        let rates = law.step(now_ns, carried);
        let asked = law.ask(now_ns);
        let due_ns = law.due_ns();
        self.world.set(&rates, LASTS);
        match asked {
            Some(reflector) => self.world.ask(reflector, now_ns).map(|()| due_ns),
            None => Ok(due_ns),
        }
    }
}

impl<W: World> Service<()> for Follower<W> {
    fn step(&mut self, monotonic_ns: u64) -> (u64, Result<(), String>) {
        let now_ns = self.world.now_ns();
        if now_ns >= self.look_ns {
            self.look_ns = now_ns + LOOK_NS;
            self.looked = self.world.look();
        }
        if let Err(problem) = &self.looked {
            return (monotonic_ns + LOOK_NS, Err(problem.clone()));
        }
        match self.follow(now_ns) {
            Ok(due_ns) => (monotonic_ns + due_ns.saturating_sub(now_ns), Ok(())),
            Err(problem) => (monotonic_ns + LOOK_NS, Err(problem)),
        }
    }
}
