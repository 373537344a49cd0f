//! Decisions of a line, on a host that is made up.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, time::Duration};

use takt_autorate::{Answer, Both, Bounds, Rates};
use takt_policy::Framing;

use super::line::{Count, Follower, LASTS, Terms, Way, World};
use crate::service::Service;

const MS: u64 = 1_000_000;
const BOUNDS: Bounds = Bounds {
    min_bps: 1_000_000,
    base_bps: 8_000_000,
    max_bps: 30_000_000,
};

/// A host with a line of its own; answers come after 20 ms, and later if the line is full.
#[derive(Default)]
struct Made {
    now_ns: u64,
    line_bps: u64,
    /// Sent on by the rate in force, while there is load.
    is_loaded: bool,
    queue_bits: u64,
    count: Count,
    waiting: VecDeque<Answer>,
    set: Both<Option<u64>>,
    before: Both<Option<u64>>,
    asked: u32,
    is_silent: bool,
    trouble: Option<String>,
}

#[derive(Clone, Default)]
struct Host(Rc<RefCell<Made>>);

impl World for Host {
    fn now_ns(&self) -> u64 {
        self.0.borrow().now_ns
    }

    fn look(&mut self) -> Result<(), String> {
        self.0.borrow().trouble.clone().map_or(Ok(()), Err)
    }

    fn rates_bps(&self) -> Both<Option<u64>> {
        self.0.borrow().before
    }

    fn ask(&mut self, reflector: usize, now_ns: u64) -> Result<(), String> {
        let mut made = self.0.borrow_mut();
        made.asked += 1;
        let queue_ns = made.queue_bits * 1_000 * MS / made.line_bps;
        let answer = Answer {
            reflector,
            sent_ns: now_ns,
            heard_ns: now_ns + 20 * MS + queue_ns,
            one_way: None,
        };
        if !made.is_silent {
            made.waiting.push_back(answer);
        }
        Ok(())
    }

    fn answers(&mut self, now_ns: u64) -> Vec<Answer> {
        let mut made = self.0.borrow_mut();
        let come = made
            .waiting
            .iter()
            .take_while(|answer| answer.heard_ns <= now_ns);
        let come = come.count();
        made.waiting.drain(..come).collect()
    }

    fn count(&mut self) -> Result<Option<Count>, String> {
        Ok(Some(self.0.borrow().count))
    }

    fn set(&mut self, rates: &Rates, lasts: Duration) {
        assert_eq!(lasts, LASTS);
        self.0.borrow_mut().set = Both {
            up: rates.up.map(|rate| rate.rate_bps),
            down: rates.down.map(|rate| rate.rate_bps),
        };
    }
}

struct Test {
    host: Host,
    follower: Follower<Host>,
}

impl Test {
    fn new(line_bps: u64, before_bps: Option<u64>) -> Self {
        let host = Host::default();
        {
            let mut made = host.0.borrow_mut();
            (made.now_ns, made.line_bps) = (5_000 * MS, line_bps);
            made.before.up = before_bps;
        }
        let way = Way {
            link: "wan0".to_owned(),
            bounds: BOUNDS,
            framing: Framing::default(),
        };
        let terms = Terms {
            device: "wan0".to_owned(),
            up: Some(way),
            down: None,
            reflectors: vec![
                [192, 0, 2, 1].into(),
                [192, 0, 2, 2].into(),
                [192, 0, 2, 3].into(),
            ],
        };
        Self {
            follower: Follower::new(terms, host.clone()),
            host,
        }
    }

    fn pass(&mut self, seconds: u64) {
        let end_ns = self.host.now_ns() + seconds * 1_000 * MS;
        while self.host.now_ns() < end_ns {
            let now_ns = self.host.now_ns();
            let (due_ns, result) = self.follower.step(now_ns);
            assert_eq!(result, Ok(()));
            assert!(due_ns > now_ns && due_ns <= now_ns + 500 * MS);
            let mut made = self.host.0.borrow_mut();
            let ms = (due_ns - now_ns).div_ceil(MS);
            made.now_ns += ms * MS;
            if made.is_loaded {
                let sent_bits = made.set.up.unwrap_or(BOUNDS.base_bps) * ms / 1_000;
                let line_bits = made.line_bps * ms / 1_000;
                made.count.bytes.up += sent_bits / 8;
                made.queue_bits = (made.queue_bits + sent_bits).saturating_sub(line_bits);
            }
        }
    }

    fn rate_mbit(&self) -> f64 {
        self.host
            .0
            .borrow()
            .set
            .up
            .map_or(0.0, |bps| bps as f64 / 1e6)
    }
}

#[test]
fn the_rate_follows_the_line() {
    let mut test = Test::new(20_000_000, None);
    test.pass(2);
    assert_eq!(test.rate_mbit(), 8.0);
    test.host.0.borrow_mut().is_loaded = true;
    test.pass(20);
    assert!(
        (16.0..23.0).contains(&test.rate_mbit()),
        "{}",
        test.rate_mbit()
    );
    test.host.0.borrow_mut().line_bps = 6_000_000;
    test.pass(5);
    assert!(
        (2.0..6.6).contains(&test.rate_mbit()),
        "{}",
        test.rate_mbit()
    );
    assert_eq!(test.host.0.borrow().set.down, None);
}

#[test]
fn reflectors_that_are_gone_end_at_the_base() {
    let mut test = Test::new(20_000_000, None);
    test.host.0.borrow_mut().is_loaded = true;
    test.pass(20);
    assert!(test.rate_mbit() > 12.0);
    test.host.0.borrow_mut().is_silent = true;
    test.pass(40);
    assert_eq!(test.rate_mbit(), 8.0);
}

#[test]
fn another_taktds_rate_is_gone_on_with() {
    let mut test = Test::new(20_000_000, Some(17_000_000));
    test.pass(1);
    assert_eq!(test.rate_mbit(), 17.0);
}

#[test]
fn a_device_that_is_another_one_has_carried_nothing_yet() {
    let mut test = Test::new(20_000_000, None);
    test.pass(1);
    {
        let mut made = test.host.0.borrow_mut();
        made.count.device += 1;
        made.count.bytes.up = 1 << 40;
    }
    test.pass(2);
    assert_eq!(test.rate_mbit(), 8.0);
}

#[test]
fn what_is_in_the_way_is_said_and_tried_again() {
    let mut test = Test::new(20_000_000, None);
    test.host.0.borrow_mut().trouble = Some("there is no device wan0".to_owned());
    let now_ns = test.host.now_ns();
    let (due_ns, result) = test.follower.step(now_ns);
    assert_eq!(result, Err("there is no device wan0".to_owned()));
    assert_eq!(due_ns, now_ns + 1_000 * MS);
    assert_eq!(test.host.0.borrow().asked, 0);

    let mut made = test.host.0.borrow_mut();
    made.trouble = None;
    made.now_ns = due_ns;
    drop(made);
    test.pass(1);
    assert!(test.host.0.borrow().asked > 0);
}
