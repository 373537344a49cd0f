//! One run: a foreground upload, alone or while a background upload runs.

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::contender::Contender;
use super::program::{Program, send};
use super::upload::{self, Marking, Port, Reception, Server, WRITE_BYTES};
use super::work::{Moment, Observer, Work};
use crate::experiment::error::Result;

/// The background upload, of "500 KB": a KB here is a thousand bytes.
pub const BACKGROUND_BYTES: u64 = 500_000;
/// The foreground may start when this much of it has arrived: by then the wire is busy all the
/// time.
const STEADY_BYTES: u64 = 100_000;

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
    pub contender: Contender,
    pub server: &'lab Server,
    pub observer: &'lab Observer,
    pub takt: &'lab Path,
}

impl Stage<'_> {
    /// `offset` moves the foreground's start, so that runs differ.
    pub fn transfer(&self, foreground_bytes: u64, offset: Duration) -> Result<Transfer> {
        if !self.contender.has_background() {
            return Ok(self.foreground(foreground_bytes, None)?.0);
        }
        let reception = self
            .server
            .expect(Port::Background, BACKGROUND_BYTES, STEADY_BYTES)?;
        let program = self.background(BACKGROUND_BYTES)?;
        reception.wait_early()?;
        std::thread::sleep(offset);
        let (mut transfer, before, come) = self.foreground(foreground_bytes, Some(&reception))?;
        let whole_at = reception.wait_whole()?;
        transfer.all = Effort {
            work: self.observer.between(&before, &Moment::now()?),
            bytes: foreground_bytes + BACKGROUND_BYTES - come,
        };
        reception.finish()?;
        let started = program.finish()?;
        transfer.background = Some(whole_at - started);
        Ok(transfer)
    }

    /// Starts the background program.
    pub fn background(&self, bytes: u64) -> Result<Program> {
        let socket = upload::open(self.contender.marking())?;
        let port = Port::Background.number();
        Program::start(self.takt, socket, port, bytes, WRITE_BYTES)
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
        let sender = std::thread::spawn(move || {
            // Both ends of the channel live until the last byte has arrived.
            let _ = gone.recv();
            send(socket, Port::Foreground.number(), bytes, WRITE_BYTES)
        });
        let (before, come_before) = (Moment::now()?, come());
        let _ = go.send(());
        let whole_at = reception.wait_whole()?;
        let (after, come_after) = (Moment::now()?, come());
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
