//! A station's network device, of either kind.

use std::os::fd::BorrowedFd;

use super::cards;
use super::plan::Station;
use super::script::Cards;
use super::tap::Tap;
use crate::experiment::card::Card;
use crate::experiment::error::Result;

/// Removed when it is dropped.
pub enum StationDevice {
    Tap(Box<Tap>),
    Card(Card),
}

impl StationDevice {
    pub fn create(cards: Cards, station: Station) -> Result<Self> {
        Ok(match cards {
            Cards::Tap => Self::Tap(Box::new(Tap::create(station)?)),
            Cards::Virtio => Self::Card(cards::of_station(station)?),
        })
    }

    pub fn card(&self) -> Option<&Card> {
        match self {
            Self::Tap(_) => None,
            Self::Card(card) => Some(card),
        }
    }

    pub fn card_mut(&mut self) -> Option<&mut Card> {
        match self {
            Self::Tap(_) => None,
            Self::Card(card) => Some(card),
        }
    }

    /// Readable when there may be a frame to [`take`](Self::take).
    pub fn frames(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tap(tap) => tap.frames(),
            Self::Card(card) => card.frames(),
        }
    }

    /// Takes the device's next frame, which replaces what is in `frame`; false if there is
    /// none.
    pub fn take(&mut self, frame: &mut Vec<u8>) -> Result<bool> {
        match self {
            Self::Tap(tap) => tap.take(frame),
            Self::Card(card) => card.take(frame),
        }
    }

    /// The air has finished the frame that was taken.
    pub fn finish(&mut self) -> Result<()> {
        match self {
            // It left the device when it was read.
            Self::Tap(_) => Ok(()),
            Self::Card(card) => card.finish(),
        }
    }

    /// Passes a frame to the station; false if it has no room for it, or is down.
    pub fn deliver(&mut self, frame: &[u8]) -> Result<bool> {
        match self {
            Self::Tap(tap) => Ok(tap.deliver(frame)),
            Self::Card(card) => card.deliver(frame),
        }
    }
}
