//! One event loop that keeps every flow backlogged and reads arrivals.
//!
//! One thread for both ends: on the lab's single processor a second one would only add task
//! switches, and the operating system's choice between the two would show in the results. A
//! source sends one packet for each that left: a burst would still be in progress when the next
//! packet is due, and always delay the same ones. Arrivals are read in batches, since the
//! kernel has stamped them long before. They are read right after packets were sent, when the
//! next one is due latest. A separate timer would fall in step with the packets and always
//! disturb the same ones.

use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::time::{ClockId, clock_gettime};

use super::error::{ExperimentError, Result, WhileDoing};
use super::load::{Busy, Idle};
use super::metronome;
use super::shape::Shape;
use super::sink::{Reader, Record, Sink};
use super::source::{self, Sent, Source};

/// Packets sent between two reads of the sinks, unless there are more sinks.
const PACKETS_PER_LOOK: usize = 16;
/// Reading the load figures keeps the processor busy for a moment.
const AFTER_A_LOAD_FIGURE: Duration = Duration::from_millis(20);
/// Sockets visited before the next read of the sinks.
const EVENTS: usize = 64;
/// The timer's token; sources have their index.
const TICK: u64 = u64::MAX;
/// A queue that does not shrink for this long is stuck.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(30);

pub struct Traffic {
    epoll: Epoll,
    sources: Vec<Source>,
    sinks: Vec<Sink>,
    payload: Vec<u8>,
    reader: Reader,
    sent_since_look: usize,
}

/// The measured interval, by the clock of the receive timestamps.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub start_ns: u64,
    pub end_ns: u64,
    pub busy: Busy,
}

/// The record of one flow's packets, warm-up included.
#[derive(Debug)]
pub struct Flow {
    pub sent: u64,
    pub record: Record,
}

impl Flow {
    /// Arrivals are in order of time.
    pub fn arrivals_within(&self, window: &Window) -> &[u64] {
        self.arrivals_between(window.start_ns, window.end_ns)
    }

    /// Likewise, by the clock of the receive timestamps.
    pub fn arrivals_between(&self, start_ns: u64, end_ns: u64) -> &[u64] {
        let arrivals_ns = &self.record.arrivals_ns;
        let from = arrivals_ns.partition_point(|at_ns| *at_ns < start_ns);
        let to = arrivals_ns.partition_point(|at_ns| *at_ns < end_ns);
        arrivals_ns.get(from..to).unwrap_or_default()
    }
}

impl Traffic {
    /// Every source sends as soon as the traffic is pumped.
    pub fn new(shape: &Shape, sources: Vec<Source>, sinks: Vec<Sink>) -> Result<Self> {
        let traffic = Self::at_rest(shape, sources, sinks)?;
        for index in 0..traffic.sources.len() {
            traffic.start(index)?;
        }
        Ok(traffic)
    }

    /// No source sends before it is started.
    pub fn at_rest(shape: &Shape, sources: Vec<Source>, sinks: Vec<Sink>) -> Result<Self> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).doing("create an epoll")?,
            sources,
            sinks,
            payload: source::payload(shape.packet_bytes),
            reader: Reader::new(),
            sent_since_look: 0,
        })
    }

    /// From now on, source `index` keeps packets queued.
    pub fn start(&self, index: usize) -> Result<()> {
        let event = EpollEvent::new(EpollFlags::EPOLLOUT, index as u64);
        self.epoll
            .add(self.sources[index].socket(), event)
            .doing("watch a sending socket")
    }

    /// From now on, source `index` sends nothing; its queued packets still leave.
    pub fn stop(&self, index: usize) -> Result<()> {
        self.epoll
            .delete(self.sources[index].socket())
            .doing("forget a sending socket")
    }

    /// Starts the sources one after the other, one at every `tick`.
    pub fn start_one_by_one(&mut self, tick: Duration) -> Result<()> {
        let timer = metronome::ticking(tick)?;
        let event = EpollEvent::new(EpollFlags::EPOLLIN, TICK);
        self.epoll.add(&timer, event).doing("watch a timer")?;
        let (began, mut started) = (Instant::now(), 0);
        while started < self.sources.len() {
            let mut events = [EpollEvent::empty(); EVENTS];
            let ready = self.wait(&mut events, EpollTimeout::NONE)?;
            for event in &events[..ready] {
                if event.data() != TICK {
                    self.send(event.data() as usize)?;
                    continue;
                }
                timer.wait().doing("read a timer")?;
                // A source that is late for one tick is on time for the next.
                let due = began.elapsed().as_nanos() / tick.as_nanos();
                let due = self.sources.len().min(due as usize);
                for index in started..due {
                    self.start(index)?;
                }
                started = started.max(due);
            }
            self.look()?;
        }
        self.epoll.delete(&timer).doing("forget a timer")
    }

    /// From now on, every source keeps this many packets queued.
    pub fn keep_waiting(&self, backlog: u32, shape: &Shape) -> Result<()> {
        for source in &self.sources {
            source.keep_waiting(backlog, shape.packet_bytes)?;
        }
        Ok(())
    }

    /// Warms up, then runs for `duration`; returns the interval and the machine's load in it.
    pub fn run(&mut self, warm_up: Duration, duration: Duration) -> Result<Window> {
        self.pump(warm_up)?;
        let idle_before = Idle::now()?;
        self.pump(AFTER_A_LOAD_FIGURE)?;
        let start_ns = receive_clock_ns()?;
        self.pump(duration)?;
        let end_ns = receive_clock_ns()?;
        Ok(Window {
            start_ns,
            end_ns,
            busy: Idle::now()?.since(&idle_before),
        })
    }

    /// Stops sending and waits until every queued packet has come out.
    pub fn finish(mut self) -> Result<Vec<Flow>> {
        let started = Instant::now();
        loop {
            let mut queued_bytes = 0;
            for source in &self.sources {
                queued_bytes += source.queued_bytes()?;
            }
            self.read_arrivals()?;
            if queued_bytes == 0 {
                break;
            }
            if started.elapsed() > DRAIN_TIME_MAX {
                return Err(ExperimentError::Stuck {
                    queued_bytes,
                    waited_s: DRAIN_TIME_MAX.as_secs(),
                });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // The last packet may have left the queue after the last read.
        self.read_arrivals()?;
        Ok(self
            .sources
            .into_iter()
            .zip(self.sinks.into_iter().flat_map(Sink::into_records))
            .map(|(source, record)| Flow {
                sent: source.sent(),
                record,
            })
            .collect())
    }

    /// Runs for `duration` and leaves the queues unchanged.
    pub fn pump(&mut self, duration: Duration) -> Result<()> {
        let end = Instant::now() + duration;
        let mut events = [EpollEvent::empty(); EVENTS];
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let timeout = EpollTimeout::try_from(left + Duration::from_millis(1))
                .unwrap_or(EpollTimeout::MAX);
            let ready = self.wait(&mut events, timeout)?;
            for event in &events[..ready] {
                self.send(event.data() as usize)?;
            }
            self.look()?;
        }
    }

    fn wait(&self, events: &mut [EpollEvent], timeout: EpollTimeout) -> Result<usize> {
        match self.epoll.wait(events, timeout) {
            Ok(ready) => Ok(ready),
            Err(Errno::EINTR) => Ok(0),
            Err(errno) => Err(errno).doing("wait for sockets"),
        }
    }

    fn send(&mut self, index: usize) -> Result<()> {
        if self.sources[index].send(&mut self.payload)? == Sent::One {
            self.sent_since_look += 1;
        }
        Ok(())
    }

    /// Reads the sinks if enough has been sent.
    fn look(&mut self) -> Result<()> {
        if self.sent_since_look >= PACKETS_PER_LOOK.max(self.sinks.len()) {
            self.read_arrivals()?;
            self.sent_since_look = 0;
        }
        Ok(())
    }

    fn read_arrivals(&mut self) -> Result<()> {
        for sink in &mut self.sinks {
            while sink.read(&mut self.reader)? {}
        }
        Ok(())
    }
}

/// The clock of `SO_TIMESTAMPNS`.
pub fn receive_clock_ns() -> Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).doing("read the clock")?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}
