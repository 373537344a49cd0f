//! One run: a foreground upload, alone or while a background upload runs.

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::processor::fill;
use super::program::{Program, Upload, send};
use super::upload::{self, Marking, Port, Reception, Server, WRITE_BYTES};
use super::work::{Moment, Observer, Work};
use crate::experiment::error::Result;

/// Of the background's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}

/// The background's transfer.
#[derive(Debug, Clone, Copy)]
pub struct Background {
    pub marking: Marking,
    pub way: Way,
    pub bytes: u64,
    /// The foreground may start when this much of it has arrived: by then the wire is busy all
    /// the time.
    pub steady_bytes: u64,
    /// The program's nice value.
    pub nice: i32,
}

impl Background {
    /// LP-LBE's "500 KB": a KB here is a thousand bytes.
    pub const fn of_500_kb(marking: Marking) -> Self {
        Self {
            marking,
            way: Way::Up,
            bytes: 500_000,
            steady_bytes: 100_000,
            nice: super::BACKGROUND_NICE,
        }
    }
}

/// How the foreground's program makes its data.
#[derive(Debug, Clone, Copy)]
pub struct Foreground {
    /// Bytes written at once.
    pub piece: usize,
    /// Work before each piece, in units of [`fill`].
    pub units: u32,
}

impl Foreground {
    /// The data is ready.
    pub const READY: Self = Self {
        piece: WRITE_BYTES,
        units: 0,
    };
}

/// The result of a run. Times are from the call of `connect()` at the host to the last byte at
/// the server's program, by one clock.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    pub foreground: Duration,
    pub background: Option<Duration>,
    /// While the foreground's upload ran.
    pub both: Effort,
    /// From its start until both had arrived, as LP-LBE counts.
    pub all: Effort,
}

/// The machine's work, modem and server included, and the bytes that the server received
/// meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    pub work: Work,
    pub bytes: u64,
}

/// The lab, set up for one contender at one rate.
pub struct Stage<'lab> {
    pub foreground: Foreground,
    /// `None`: the foreground is alone.
    pub background: Option<Background>,
    pub server: &'lab Server,
    pub observer: &'lab Observer,
    pub takt: &'lab Path,
}

impl Stage<'_> {
    /// `offset` moves the foreground's start, so that runs differ.
    pub fn transfer(&self, foreground_bytes: u64, offset: Duration) -> Result<Transfer> {
        let Some(background) = self.background else {
            return Ok(self.foreground(foreground_bytes, None)?.0);
        };
        let (bytes, steady_bytes) = (background.bytes, background.steady_bytes);
        let reception = match background.way {
            Way::Up => { self.server }.expect(Port::Background, bytes, steady_bytes)?,
            Way::Down => { self.server }.provide(Port::Background, bytes, steady_bytes)?,
        };
        let program = self.start(background)?;
        reception.wait_early()?;
        std::thread::sleep(offset);
        let (mut transfer, before, come) = self.foreground(foreground_bytes, Some(&reception))?;
        let whole_at = reception.wait_whole()?;
        transfer.all = Effort {
            work: self.observer.between(&before, &self.observer.now()?),
            bytes: foreground_bytes + background.bytes - come,
        };
        reception.finish()?;
        let started = program.finish()?;
        transfer.background = Some(whole_at - started);
        Ok(transfer)
    }

    /// Starts the background program.
    pub fn start(&self, background: Background) -> Result<Program> {
        let upload = Upload {
            port: Port::Background.number(),
            bytes: match background.way {
                Way::Up => background.bytes,
                Way::Down => 0,
            },
            piece: WRITE_BYTES,
            nice: background.nice,
        };
        Program::start(self.takt, upload::open(background.marking)?, upload)
    }

    /// Returns also the moment it began, and the part of the background that had arrived.
    fn foreground(
        &self,
        bytes: u64,
        background: Option<&Reception>,
    ) -> Result<(Transfer, Moment, u64)> {
        let come = || background.map_or(0, Reception::received_bytes);
        let reception = self.server.expect(Port::Foreground, bytes, bytes)?;
        let socket = upload::open(Marking::default())?;
        let (go, gone) = mpsc::channel();
        let Foreground { piece, units } = self.foreground;
        let sender = std::thread::spawn(move || {
            // Both ends of the channel live until the last byte has arrived.
            let _ = gone.recv();
            let prepare = || (0..units).for_each(|_| fill());
            send(socket, Port::Foreground.number(), bytes, piece, prepare)
        });
        let (before, come_before) = (self.observer.now()?, come());
        let _ = go.send(());
        let whole_at = reception.wait_whole()?;
        let (after, come_after) = (self.observer.now()?, come());
        reception.finish()?;
        let started = joined(sender)?;
        let both = Effort {
            work: self.observer.between(&before, &after),
            bytes: bytes + come_after - come_before,
        };
        let transfer = Transfer {
            foreground: whole_at - started,
            background: None,
            both,
            all: both,
        };
        Ok((transfer, before, come_before))
    }
}

pub fn joined<T>(thread: JoinHandle<Result<T>>) -> Result<T> {
    match thread.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
