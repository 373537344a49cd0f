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
const NL80211_ATTR_SURVEY_INFO: u16 = 84;
const NL80211_ATTR_TXQ_STATS: u16 = 265;
const NL80211_STA_INFO_SIGNAL: u16 = 7;
const NL80211_SURVEY_INFO_NOISE: u16 = 2;
const NL80211_SURVEY_INFO_IN_USE: u16 = 3;

/// A station of an access point, or, on a client, the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    pub mac: [u8; 6],
    /// Of the last frame that came from it.
    pub signal_dbm: i8,
}

/// nl80211, open.
pub struct Wireless(Family);

impl Wireless {
    /// `None`: the kernel has no wireless, or has not needed any yet.
    pub fn open() -> Result<Option<Self>, NetlinkError> {
        Ok(Family::open("nl80211")?.map(Self))
    }

    /// Whether a device's packets wait below its qdisc, in queues of the wireless stack's own;
    /// `None` if it is not wireless. The stack has figures of these queues for a device if and
    /// only if its driver takes packets from them (since Linux 4.18).
    pub fn queues_itself(&mut self, device: u32) -> Result<Option<bool>, NetlinkError> {
        let answers = self
            .0
            .dump(NL80211_CMD_GET_INTERFACE, NL80211_ATTR_IFINDEX, device)?;
        // All devices come, whichever was asked for.
        let own = answers.iter().find(|answer| {
            let index = find(answer, NL80211_ATTR_IFINDEX);
            index.is_some_and(|index| index == device.to_ne_bytes())
        });
        Ok(own.map(|answer| find(answer, NL80211_ATTR_TXQ_STATS).is_some()))
    }

    /// Everyone that a device is associated with and whose signal its driver tells.
    pub fn stations(&mut self, device: u32) -> Result<Vec<Heard>, NetlinkError> {
        let answers = self
            .0
            .dump(NL80211_CMD_GET_STATION, NL80211_ATTR_IFINDEX, device)?;
        Ok(answers.iter().filter_map(|answer| heard(answer)).collect())
    }

    /// The noise on the channel in use, if the driver tells: dBm.
    pub fn noise_dbm(&mut self, device: u32) -> Result<Option<i8>, NetlinkError> {
        let answers = match self
            .0
            .dump(NL80211_CMD_GET_SURVEY, NL80211_ATTR_IFINDEX, device)
        {
            // Most drivers' way of saying that they have no survey.
            Err(NetlinkError::Refused(refusal))
                if matches!(refusal.errno, libc::EOPNOTSUPP | libc::ENOENT) =>
            {
                return Ok(None);
            }
            answers => answers?,
        };
        Ok(answers.iter().find_map(|answer| noise(answer)))
    }
}

fn heard(attributes: &[u8]) -> Option<Heard> {
    let info = find(attributes, NL80211_ATTR_STA_INFO)?;
    Some(Heard {
        mac: find(attributes, NL80211_ATTR_MAC)?.try_into().ok()?,
        signal_dbm: dbm(find(&info, NL80211_STA_INFO_SIGNAL)?)?,
    })
}

fn noise(attributes: &[u8]) -> Option<i8> {
    let info = find(attributes, NL80211_ATTR_SURVEY_INFO)?;
    find(&info, NL80211_SURVEY_INFO_IN_USE)?;
    dbm(find(&info, NL80211_SURVEY_INFO_NOISE)?)
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
    fn the_noise_of_the_channel_in_use() {
        let noise_attribute = attribute(NL80211_SURVEY_INFO_NOISE, &[(-92i8).cast_unsigned()]);
        let in_use = attribute(NL80211_SURVEY_INFO_IN_USE, &[]);
        let survey = |inside: &[u8]| attribute(NL80211_ATTR_SURVEY_INFO, inside);
        let both = survey(&[noise_attribute.clone(), in_use.clone()].concat());
        assert_eq!(noise(&both), Some(-92));
        assert_eq!(noise(&survey(&noise_attribute)), None);
        assert_eq!(noise(&survey(&in_use)), None);
    }
}
