//! How well a wireless device hears other stations: the signal-to-noise ratio.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    error::Error,
    os::{
        OsError,
        netlink::{
            Device, Netlink,
            wireless::{self, Wireless},
        },
    },
    radio::RadioError,
};

/// The noise assumed if a driver does not report it: a quiet 20 MHz channel.
const NOISE_ASSUMED_DBM: i8 = -95;

/// Reads a wireless device's driver.
pub struct SignalMeter {
    device: String,
    index: u32,
    wireless: Wireless,
}

impl SignalMeter {
    /// Fails if the device is missing or not wireless.
    pub fn open(device: &str) -> Result<Self, Error> {
        let mut netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
        let found = Device::named(&mut netlink, device);
        let found = found.map_err(OsError::netlink("listing devices"))?;
        let none = |reason| RadioError::NoSignal {
            device: device.to_owned(),
            reason,
        };
        let found =
            found.ok_or_else(|| none("there is no such device in this network namespace"))?;
        let wireless = Wireless::open().map_err(OsError::netlink("looking for nl80211"))?;
        let mut wireless =
            wireless.ok_or_else(|| none("this kernel has no wireless devices (no nl80211)"))?;
        let is_wireless = wireless.is_wireless(found.index);
        if !is_wireless.map_err(OsError::netlink("looking for wireless devices"))? {
            return Err(none("it is not a wireless device").into());
        }
        Ok(Self {
            device: device.to_owned(),
            index: found.index,
            wireless,
        })
    }

    /// The stations heard now, and how well: signal over noise in dB, by hardware address. On
    /// an access point they are its stations, on a client the access point. Fails when the
    /// device is gone.
    pub fn measure(&mut self) -> Result<BTreeMap<[u8; 6], i32>, Error> {
        let doing = |what| OsError::netlink(format!("asking for {what} of {}", self.device));
        let heard = self
            .wireless
            .stations(self.index)
            .map_err(doing("the stations"))?;
        let noise_dbm = self
            .wireless
            .noise_dbm(self.index)
            .map_err(doing("the noise"))?;
        let noise_dbm = noise_dbm.unwrap_or(NOISE_ASSUMED_DBM);
        let snr_db = heard.iter().map(|station| {
            let snr_db = i32::from(station.signal_dbm) - i32::from(noise_dbm);
            (station.mac, snr_db)
        });
        Ok(snr_db.collect())
    }

    /// What was received from each station so far, as far as the driver counts it.
    pub fn received(&mut self) -> Result<BTreeMap<[u8; 6], ReceivedFrames>, Error> {
        let doing = format!("asking for the frames from stations of {}", self.device);
        let received = self.wireless.received(self.index);
        let received = received.map_err(OsError::netlink(doing))?.into_iter();
        let of_station = |from: wireless::Received| {
            let frames = ReceivedFrames {
                frames: from.frames,
                phy_bps: from.phy_bps,
            };
            (from.mac, frames)
        };
        Ok(received.map(of_station).collect())
    }

    /// The name of the network that the device is in; `None`: it is in none, or its network has none.
    pub fn ssid(&mut self) -> Result<Option<Vec<u8>>, Error> {
        let doing = format!("asking for the network of {}", self.device);
        let ssid = self.wireless.ssid(self.index);
        ssid.map_err(OsError::netlink(doing))
    }

    /// What it sent so far; `None`: its driver does not count it, or there is no station.
    pub fn sent(&mut self) -> Result<Option<SentFrames>, Error> {
        let doing = format!("asking for the frames of {}", self.device);
        let sent = self
            .wireless
            .sent(self.index)
            .map_err(OsError::netlink(doing))?;
        let most = sent.iter().max_by_key(|sent| sent.frames);
        Ok(most.map(|most| SentFrames {
            frames: sent.iter().map(|sent| u64::from(sent.frames)).sum(),
            retries: sent.iter().map(|sent| u64::from(sent.retries)).sum(),
            phy_bps: most.phy_bps,
        }))
    }
}

/// What a device sent, to all stations together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentFrames {
    /// Frames that were sent at least once.
    pub frames: u64,
    /// Attempts after their first.
    pub retries: u64,
    /// Rate of the last frame to the station that most went to, in bits per second.
    pub phy_bps: u64,
}

/// What a device received from a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedFrames {
    /// So far; it wraps.
    pub frames: u32,
    /// Rate of the last one, in bits per second.
    pub phy_bps: u64,
}

/// A wireless device, and where its packets are queued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WirelessVerdict {
    /// Its name.
    pub device: String,
    /// Below the qdisc, in queues of the wireless stack's own: the qdisc sees no backlog.
    pub queues_itself: bool,
}

/// All wireless devices of this network namespace.
pub fn wireless_verdicts() -> Result<Vec<WirelessVerdict>, Error> {
    let mut netlink = Netlink::open().map_err(OsError::netlink("opening a route socket"))?;
    let devices = Device::list(&mut netlink).map_err(OsError::netlink("listing devices"))?;
    let wireless = Wireless::open().map_err(OsError::netlink("looking for nl80211"))?;
    let Some(mut wireless) = wireless else {
        return Ok(Vec::new());
    };
    let mut verdicts = Vec::new();
    for device in devices {
        let asked = wireless.queues_itself(device.index);
        let asked = asked.map_err(OsError::netlink("looking for wireless devices"))?;
        verdicts.extend(asked.map(|queues_itself| WirelessVerdict {
            device: device.name,
            queues_itself,
        }));
    }
    Ok(verdicts)
}
