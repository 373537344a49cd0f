//! A client's report: its addresses and the strength of its connection. It is the body of a
//! sealed datagram.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Sample;
use crate::{Address, number::number_of};

/// Kind, one zero byte, MAC, IPv4, IPv6, and hundredths of a dB, big-endian. An address that a
/// client does not have is zero.
pub const REPORT_BYTES: usize = 2 + 6 + 4 + 16 + 4;

const KIND: u8 = 1;

/// A client's addresses and strength of connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// The MAC address of its device.
    pub mac: Option<[u8; 6]>,
    /// Its IPv4 address.
    pub v4: Option<Ipv4Addr>,
    /// Its IPv6 address; not a link-local one.
    pub v6: Option<Ipv6Addr>,
    /// Signal over noise, the interval's average.
    pub snr_centidb: i32,
}

impl Report {
    /// The body of a datagram, see [`REPORT_BYTES`].
    pub fn to_bytes(self) -> [u8; REPORT_BYTES] {
        let mut bytes = [0; REPORT_BYTES];
        bytes[0] = KIND;
        bytes[2..8].copy_from_slice(&self.mac.unwrap_or_default());
        let v4 = self.v4.map_or([0; 4], |v4| v4.octets());
        bytes[8..12].copy_from_slice(&v4);
        let v6 = self.v6.map_or([0; 16], |v6| v6.octets());
        bytes[12..28].copy_from_slice(&v6);
        bytes[28..].copy_from_slice(&self.snr_centidb.to_be_bytes());
        bytes
    }

    /// `None`: it is no report, or names a group's address.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; REPORT_BYTES] = bytes.try_into().ok()?;
        if bytes[..2] != [KIND, 0] {
            return None;
        }
        let mac: [u8; 6] = bytes[2..8].try_into().ok()?;
        let v4: [u8; 4] = bytes[8..12].try_into().ok()?;
        let v6: [u8; 16] = bytes[12..28].try_into().ok()?;
        let snr: [u8; 4] = bytes[28..].try_into().ok()?;
        let report = Self {
            mac: Some(mac).filter(|mac| *mac != [0; 6]),
            v4: Some(Ipv4Addr::from(v4)).filter(|v4| !v4.is_unspecified()),
            v6: Some(Ipv6Addr::from(v6)).filter(|v6| !v6.is_unspecified()),
            snr_centidb: i32::from_be_bytes(snr),
        };
        let sample = report.sample();
        let all_of_one = sample.addresses().all(|address| address.is_of_one());
        (sample.addresses().next().is_some() && all_of_one).then_some(report)
    }

    /// The strength, for every address that is named.
    pub fn sample(&self) -> Sample {
        let ips = [self.v4.map(IpAddr::from), self.v6.map(IpAddr::from)];
        let [v4, v6] = ips.map(|ip| ip.map(Address::Ip));
        Sample {
            names: [self.mac.map(Address::Mac), v4, v6],
            snr_centidb: self.snr_centidb,
        }
    }

    /// The number under which this report is sealed, made of the first of its addresses. So a
    /// sender's number says for which client it may report.
    pub fn sender(&self) -> Option<u64> {
        self.sample().addresses().next().map(number_of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn report() -> impl Strategy<Value = Report> {
        let addresses = any::<(Option<[u8; 6]>, Option<Ipv4Addr>, Option<Ipv6Addr>)>();
        (addresses, any::<i32>()).prop_map(|((mac, v4, v6), snr_centidb)| Report {
            mac,
            v4,
            v6,
            snr_centidb,
        })
    }

    proptest! {
        #[test]
        fn what_is_said_is_read_or_refused(report in report()) {
            let sample = report.sample();
            let good = sample.addresses().next().is_some()
                && sample.addresses().all(|address| address.is_of_one());
            let read = Report::from_bytes(&report.to_bytes());
            if good {
                prop_assert_eq!(read, Some(report))
            } else {
                // An address of zeroes is absent.
                prop_assert!(read.is_none_or(|read| read != report))
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            head in prop::option::of(Just([1u8, 0])),
            bytes in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let bytes: Vec<u8> = head.into_iter().flatten().chain(bytes).collect();
            if let Some(report) = Report::from_bytes(&bytes) {
                prop_assert_eq!(&report.to_bytes()[..], &bytes[..]);
                prop_assert!(report.sender().is_some());
            }
        }
    }
}
