//! User space's side of `algo/uploads.h`: what flows through a link have uploaded. The kernel
//! writes it at any time.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

use crate::{
    Address,
    sys::{TAKT_UPLOADS, takt_address, takt_upload, takt_uploads},
};

/// The last acknowledgement of a terminal's upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Upload {
    /// Equal for acknowledgements of one flow, within one link.
    pub flow: u64,
    /// The terminal's address where frames have Ethernet headers.
    pub mac: Option<[u8; 6]>,
    /// The terminal's address.
    pub ip: Option<IpAddr>,
    /// The next byte that the flow's receiver expects; it wraps.
    pub ack: u32,
}

impl Upload {
    /// All that lie in this table, at most 1,024.
    ///
    /// # Safety
    /// It is valid. Other processes may write it at the same time, by the rules in
    /// `algo/uploads.h`.
    pub unsafe fn all(table: *mut takt_uploads) -> Vec<Self> {
        // SAFETY: within the table.
        let first = unsafe { (&raw mut (*table).at).cast::<takt_upload>() };
        // SAFETY: a valid table has so many.
        let read = |place| unsafe { Self::from_ptr(first.add(place)) };
        (0..TAKT_UPLOADS as usize).filter_map(read).collect()
    }

    /// `None`: there is none, or it is just being written.
    ///
    /// # Safety
    /// As for [`Self::all`].
    unsafe fn from_ptr(place: *mut takt_upload) -> Option<Self> {
        // SAFETY: aligned fields of a valid place.
        let (flow, ack, mac, ip) = unsafe {
            (
                AtomicU64::from_ptr(&raw mut (*place).flow),
                AtomicU32::from_ptr(&raw mut (*place).ack),
                words(&raw mut (*place).mac),
                words(&raw mut (*place).ip),
            )
        };
        let before = flow.load(Ordering::Acquire);
        let read = Self {
            flow: before,
            mac: address_of(mac).and_then(|address| match address {
                Address::Mac(mac) => Some(mac),
                Address::Ip(_) => None,
            }),
            ip: address_of(ip).and_then(|address| match address {
                Address::Ip(ip) => Some(ip),
                Address::Mac(_) => None,
            }),
            ack: ack.load(Ordering::Relaxed),
        };
        fence(Ordering::Acquire);
        (before != 0 && flow.load(Ordering::Relaxed) == before).then_some(read)
    }
}

/// # Safety
/// It is valid for 'a.
unsafe fn words<'a>(address: *mut takt_address) -> [&'a AtomicU64; 2] {
    // SAFETY: see above; aligned fields.
    unsafe {
        let words = (&raw mut (*address).word).cast::<u64>();
        [
            AtomicU64::from_ptr(words),
            AtomicU64::from_ptr(words.add(1)),
        ]
    }
}

fn address_of(words: [&AtomicU64; 2]) -> Option<Address> {
    let word = words.map(|word| word.load(Ordering::Relaxed));
    (word != [0, 0]).then(|| takt_address { word }.into())
}

#[cfg(test)]
mod tests {
    use crate::{
        sys::{self, takt_key},
        zeroed_box,
    };

    use super::*;

    fn note(table: &mut takt_uploads, key: &takt_key, mac: u64, flow: u64, ack: u32) {
        // SAFETY: valid structs.
        unsafe { sys::takt_upload_note(table, key, mac, flow, ack) };
    }

    fn all(table: &mut takt_uploads) -> Vec<Upload> {
        // SAFETY: a valid table.
        unsafe { Upload::all(table) }
    }

    #[test]
    fn of_each_flow_the_last_number_is_read() {
        let mut table = zeroed_box::<takt_uploads>();
        assert_eq!(all(&mut table), []);
        let v4 = takt_key {
            family: sys::TAKT_FAMILY_IPV4 as u8,
            dst: [u32::from_ne_bytes([192, 0, 2, 7]), 0, 0, 0],
            ..takt_key::default()
        };
        note(&mut table, &v4, 0x0200_0000_0107, 5, 1000);
        note(&mut table, &v4, 0x0200_0000_0107, 5, 3000);
        let ip: std::net::Ipv6Addr = "2001:db8::7".parse().unwrap();
        let octets = ip.octets();
        let word = |n: usize| u32::from_ne_bytes(octets[4 * n..][..4].try_into().unwrap());
        let v6 = takt_key {
            family: sys::TAKT_FAMILY_IPV6 as u8,
            dst: [word(0), word(1), word(2), word(3)],
            ..takt_key::default()
        };
        note(&mut table, &v6, 0, 6, 7);
        let mut read = all(&mut table);
        read.sort_by_key(|upload| upload.flow);
        let expected = [
            Upload {
                flow: 5,
                mac: Some([2, 0, 0, 0, 1, 7]),
                ip: "192.0.2.7".parse().ok(),
                ack: 3000,
            },
            Upload {
                flow: 6,
                mac: None,
                ip: Some(ip.into()),
                ack: 7,
            },
        ];
        assert_eq!(read, expected);

        // Another flow in the place of one of them.
        let place = |flow: u64| flow.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
        let same = (7..).find(|flow| place(*flow) == place(5)).unwrap();
        note(&mut table, &v6, 0, same, 8);
        let flows: Vec<u64> = all(&mut table).iter().map(|upload| upload.flow).collect();
        assert_eq!(flows.len(), 2);
        assert!(flows.contains(&same) && flows.contains(&6));
    }
}
