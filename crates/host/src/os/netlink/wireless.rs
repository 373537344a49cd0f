//! What a wireless device's driver knows of the signal (nl80211).

use super::{
    generic::Family,
    socket::{NetlinkError, find},
};

const NL80211_CMD_GET_INTERFACE: u8 = 5;
const NL80211_CMD_GET_STATION: u8 = 17;
const NL80211_CMD_GET_SURVEY: u8 = 50;
const NL80211_ATTR_IFINDEX: u16 = 3;
const NL80211_ATTR_MAC: u16 = 6;
const NL80211_ATTR_STA_INFO: u16 = 21;
const NL80211_ATTR_WIPHY_FREQ: u16 = 38;
const NL80211_ATTR_SSID: u16 = 52;
const NL80211_ATTR_SURVEY_INFO: u16 = 84;
const NL80211_ATTR_TXQ_STATS: u16 = 265;
const NL80211_STA_INFO_SIGNAL: u16 = 7;
const NL80211_STA_INFO_TX_BITRATE: u16 = 8;
const NL80211_STA_INFO_RX_PACKETS: u16 = 9;
const NL80211_STA_INFO_TX_PACKETS: u16 = 10;
const NL80211_STA_INFO_TX_RETRIES: u16 = 11;
const NL80211_STA_INFO_RX_BITRATE: u16 = 14;
const NL80211_RATE_INFO_BITRATE: u16 = 1;
const NL80211_RATE_INFO_BITRATE32: u16 = 5;
/// Of a bit rate.
const BITRATE_UNIT_BPS: u64 = 100_000;
const NL80211_SURVEY_INFO_FREQUENCY: u16 = 1;
const NL80211_SURVEY_INFO_NOISE: u16 = 2;
const NL80211_SURVEY_INFO_IN_USE: u16 = 3;

/// A station of an access point, or, on a client, the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    pub mac: [u8; 6],
    /// Of the last frame received from it.
    pub signal_dbm: i8,
}

/// What a device sent to a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Frames that were sent at least once.
    pub frames: u32,
    /// Attempts after their first.
    pub retries: u32,
    /// Of the last frame.
    pub phy_bps: u64,
}

/// What a device received from a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    pub mac: [u8; 6],
    /// Frames so far; it wraps.
    pub frames: u32,
    /// Of the last frame.
    pub phy_bps: u64,
}

/// nl80211, open.
pub struct Wireless(Family);

impl Wireless {
    /// `None`: the kernel has no wireless support, or has not loaded it yet.
    pub fn open() -> Result<Option<Self>, NetlinkError> {
        Ok(Family::open("nl80211")?.map(Self))
    }

    /// Whether a device's packets wait below its qdisc, in queues of the wireless stack's own;
    /// `None` if it is not wireless. The stack has figures of these queues for a device if and
    /// only if its driver takes packets from them (since Linux 4.18).
    pub fn queues_itself(&mut self, device: u32) -> Result<Option<bool>, NetlinkError> {
        let own = self.interface(device)?;
        Ok(own.map(|answer| find(&answer, NL80211_ATTR_TXQ_STATS).is_some()))
    }

    pub fn is_wireless(&mut self, device: u32) -> Result<bool, NetlinkError> {
        Ok(self.interface(device)?.is_some())
    }

    /// The name of the network that a device is in; `None`: it is in none, or its network has none.
    pub fn ssid(&mut self, device: u32) -> Result<Option<Vec<u8>>, NetlinkError> {
        let own = self.interface(device)?;
        Ok(own.and_then(|answer| find(&answer, NL80211_ATTR_SSID)))
    }

    /// All stations that a device is associated with and whose signal its driver reports.
    pub fn stations(&mut self, device: u32) -> Result<Vec<Heard>, NetlinkError> {
        let answers = self
            .0
            .dump(NL80211_CMD_GET_STATION, NL80211_ATTR_IFINDEX, device)?;
        Ok(answers.iter().filter_map(|answer| heard(answer)).collect())
    }

    /// What was sent to each station, as far as the driver counts it.
    pub fn sent(&mut self, device: u32) -> Result<Vec<Sent>, NetlinkError> {
        let answers = self
            .0
            .dump(NL80211_CMD_GET_STATION, NL80211_ATTR_IFINDEX, device)?;
        Ok(answers.iter().filter_map(|answer| sent(answer)).collect())
    }

    /// What was received from each station, as far as the driver counts it.
    pub fn received(&mut self, device: u32) -> Result<Vec<Received>, NetlinkError> {
        let answers = self
            .0
            .dump(NL80211_CMD_GET_STATION, NL80211_ATTR_IFINDEX, device)?;
        Ok(answers
            .iter()
            .filter_map(|answer| received(answer))
            .collect())
    }

    /// The noise on the channel in use, if the driver reports it: dBm.
    pub fn noise_dbm(&mut self, device: u32) -> Result<Option<i8>, NetlinkError> {
        let answers = match self
            .0
            .dump(NL80211_CMD_GET_SURVEY, NL80211_ATTR_IFINDEX, device)
        {
            // The usual error of drivers without a survey.
            Err(NetlinkError::Refused(refusal))
                if matches!(refusal.errno, libc::EOPNOTSUPP | libc::ENOENT) =>
            {
                return Ok(None);
            }
            answers => answers?,
        };
        let surveys: Vec<Survey> = answers.iter().filter_map(|answer| survey(answer)).collect();
        // Not all drivers mark the channel in use.
        let frequency = if surveys.iter().any(|survey| survey.in_use) {
            None
        } else {
            self.interface(device)?.and_then(|own| {
                let frequency = find(&own, NL80211_ATTR_WIPHY_FREQ)?;
                frequency.try_into().ok().map(u32::from_ne_bytes)
            })
        };
        Ok(noise_of(&surveys, frequency))
    }

    /// The kernel's data of a device; `None` if it is not wireless.
    fn interface(&mut self, device: u32) -> Result<Option<Vec<u8>>, NetlinkError> {
        let answers = self
            .0
            .dump(NL80211_CMD_GET_INTERFACE, NL80211_ATTR_IFINDEX, device)?;
        // The kernel lists all devices, whichever was asked for.
        Ok(answers.into_iter().find(|answer| {
            let index = find(answer, NL80211_ATTR_IFINDEX);
            index.is_some_and(|index| index == device.to_ne_bytes())
        }))
    }
}

/// A driver's data of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survey {
    in_use: bool,
    frequency_mhz: Option<u32>,
    noise_dbm: Option<i8>,
}

pub(super) fn heard(attributes: &[u8]) -> Option<Heard> {
    let info = find(attributes, NL80211_ATTR_STA_INFO)?;
    Some(Heard {
        mac: find(attributes, NL80211_ATTR_MAC)?.try_into().ok()?,
        signal_dbm: dbm(find(&info, NL80211_STA_INFO_SIGNAL)?)?,
    })
}

pub(super) fn sent(attributes: &[u8]) -> Option<Sent> {
    let info = find(attributes, NL80211_ATTR_STA_INFO)?;
    Some(Sent {
        frames: count(&info, NL80211_STA_INFO_TX_PACKETS)?,
        retries: count(&info, NL80211_STA_INFO_TX_RETRIES)?,
        phy_bps: bitrate_bps(&info, NL80211_STA_INFO_TX_BITRATE)?,
    })
}

pub(super) fn received(attributes: &[u8]) -> Option<Received> {
    let info = find(attributes, NL80211_ATTR_STA_INFO)?;
    Some(Received {
        mac: find(attributes, NL80211_ATTR_MAC)?.try_into().ok()?,
        frames: count(&info, NL80211_STA_INFO_RX_PACKETS)?,
        phy_bps: bitrate_bps(&info, NL80211_STA_INFO_RX_BITRATE)?,
    })
}

fn count(info: &[u8], kind: u16) -> Option<u32> {
    find(info, kind)?.try_into().ok().map(u32::from_ne_bytes)
}

fn bitrate_bps(info: &[u8], kind: u16) -> Option<u64> {
    let bitrate = find(info, kind)?;
    // The shorter one is missing where it would overflow.
    let long = find(&bitrate, NL80211_RATE_INFO_BITRATE32);
    let long = long.and_then(|value| value.try_into().ok().map(u32::from_ne_bytes));
    let short = find(&bitrate, NL80211_RATE_INFO_BITRATE);
    let short = short.and_then(|value| value.try_into().ok().map(u16::from_ne_bytes));
    Some(u64::from(long.or(short.map(u32::from))?) * BITRATE_UNIT_BPS)
}

pub(super) fn survey(attributes: &[u8]) -> Option<Survey> {
    let info = find(attributes, NL80211_ATTR_SURVEY_INFO)?;
    Some(Survey {
        in_use: find(&info, NL80211_SURVEY_INFO_IN_USE).is_some(),
        frequency_mhz: find(&info, NL80211_SURVEY_INFO_FREQUENCY)
            .and_then(|value| value.try_into().ok().map(u32::from_ne_bytes)),
        noise_dbm: find(&info, NL80211_SURVEY_INFO_NOISE).and_then(dbm),
    })
}

/// Of the channel in use, or else of the one at this frequency.
pub(super) fn noise_of(surveys: &[Survey], frequency_mhz: Option<u32>) -> Option<i8> {
    let is_own = |survey: &&Survey| {
        survey.in_use || frequency_mhz.is_some() && survey.frequency_mhz == frequency_mhz
    };
    surveys.iter().find(is_own)?.noise_dbm
}

/// One byte, with a sign.
fn dbm(value: Vec<u8>) -> Option<i8> {
    value.first().map(|byte| byte.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attribute as the kernel lays it out.
    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = 4 + value.len() as u16;
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn stations_with_a_signal() {
        const NESTED: u16 = 1 << 15;
        let mac = attribute(NL80211_ATTR_MAC, &[2, 0, 0, 0, 1, 0]);
        let info = |inside: &[u8]| attribute(NL80211_ATTR_STA_INFO | NESTED, inside);
        let signal = attribute(NL80211_STA_INFO_SIGNAL, &[(-57i8).cast_unsigned()]);
        let more = attribute(1, &[1, 2, 3, 4]);
        let whole = [mac.clone(), info(&[more.clone(), signal].concat())].concat();
        let expected = Heard {
            mac: [2, 0, 0, 0, 1, 0],
            signal_dbm: -57,
        };
        assert_eq!(heard(&whole), Some(expected));
        assert_eq!(heard(&[mac, info(&more)].concat()), None);
        for end in 0..whole.len() {
            heard(&whole[..end]);
        }
    }

    #[test]
    fn what_was_sent_to_a_station() {
        let nested = |kind: u16, inside: &[u8]| attribute(kind | 1 << 15, inside);
        let of = |bitrate: &[u8]| {
            let counts = [
                attribute(NL80211_STA_INFO_TX_PACKETS, &900u32.to_ne_bytes()),
                attribute(NL80211_STA_INFO_TX_RETRIES, &100u32.to_ne_bytes()),
            ];
            let rate = nested(NL80211_STA_INFO_TX_BITRATE, bitrate);
            nested(NL80211_ATTR_STA_INFO, &[counts.concat(), rate].concat())
        };
        let short = attribute(NL80211_RATE_INFO_BITRATE, &540u16.to_ne_bytes());
        let long = attribute(NL80211_RATE_INFO_BITRATE32, &70_000u32.to_ne_bytes());
        let expected = |phy_bps| Sent {
            frames: 900,
            retries: 100,
            phy_bps,
        };
        assert_eq!(sent(&of(&short)), Some(expected(54_000_000)));
        assert_eq!(
            sent(&of(&[short.clone(), long].concat())),
            Some(expected(7_000_000_000))
        );
        assert_eq!(sent(&of(&[])), None);
        let whole = of(&short);
        for end in 0..whole.len() {
            sent(&whole[..end]);
        }
    }

    #[test]
    fn what_was_received_from_a_station() {
        let nested = |kind: u16, inside: &[u8]| attribute(kind | 1 << 15, inside);
        let rate = attribute(NL80211_RATE_INFO_BITRATE, &110u16.to_ne_bytes());
        let info = [
            attribute(NL80211_STA_INFO_RX_PACKETS, &7u32.to_ne_bytes()),
            nested(NL80211_STA_INFO_RX_BITRATE, &rate),
        ];
        let whole = [
            attribute(NL80211_ATTR_MAC, &[2, 0, 0, 0, 1, 0]),
            nested(NL80211_ATTR_STA_INFO, &info.concat()),
        ];
        let whole = whole.concat();
        let expected = Received {
            mac: [2, 0, 0, 0, 1, 0],
            frames: 7,
            phy_bps: 11_000_000,
        };
        assert_eq!(received(&whole), Some(expected));
        for end in 0..whole.len() {
            received(&whole[..end]);
        }
    }

    #[test]
    fn the_noise_of_the_channel_in_use() {
        let of = |mhz: u32, noise_dbm: i8, in_use: bool| {
            let mut inside = attribute(NL80211_SURVEY_INFO_FREQUENCY, &mhz.to_ne_bytes());
            let noise = [noise_dbm.cast_unsigned()];
            inside.extend(attribute(NL80211_SURVEY_INFO_NOISE, &noise));
            if in_use {
                inside.extend(attribute(NL80211_SURVEY_INFO_IN_USE, &[]));
            }
            survey(&attribute(NL80211_ATTR_SURVEY_INFO, &inside)).expect("a survey")
        };
        let told = [of(2412, -92, false), of(2437, -88, true)];
        assert_eq!(noise_of(&told, None), Some(-88));
        let untold = [of(2412, -92, false), of(2437, -88, false)];
        assert_eq!(noise_of(&untold, Some(2437)), Some(-88));
        assert_eq!(noise_of(&untold, Some(2462)), None);
        assert_eq!(noise_of(&untold, None), None);
        let nothing = survey(&attribute(NL80211_ATTR_SURVEY_INFO, &[])).expect("a survey");
        assert_eq!(noise_of(&[nothing], None), None);
    }
}
