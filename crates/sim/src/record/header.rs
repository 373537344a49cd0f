//! What is kept of a packet: a header made of what the kernel's reader says of it.

use takt_algo::{
    read_ecn, read_key,
    sys::{TAKT_FAMILY_IPV4, TAKT_FAMILY_IPV6, takt_key},
};

use super::Names;

const ETHERNET_BYTES: usize = 14;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const IPV4_BYTES: u32 = 20;
const IPV6_BYTES: u32 = 40;
const UDP_BYTES: u32 = 8;
const TCP: u8 = 6;
const TCP_LEAST_BYTES: u32 = 20;
/// Of TCP with timestamps, if the header was not captured whole.
const TCP_USUAL_BYTES: u8 = 32;
const TTL: u8 = 64;

/// A frame of a packet.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    key: takt_key,
    ecn: u8,
    ethertype: u16,
    tcp_bytes: u8,
    /// Its Ethernet frame without checksum.
    pub bytes: u32,
}

/// The frames of a packet of so many bytes, of which these were captured with its Ethernet header:
/// one, or several if it is longer than `longest_bytes` and not TCP's, whose packets the reader of
/// captures splits.
pub(super) fn frames(
    captured: &[u8],
    bytes: u32,
    longest_bytes: u32,
) -> impl Iterator<Item = Frame> + use<> {
    let frame = Frame::read(captured);
    let headers = frame.as_ref().map_or(0, Frame::headers_bytes);
    let is_split = frame
        .as_ref()
        .is_some_and(|frame| bytes > longest_bytes && frame.key.proto != TCP);
    // A frame has room for payload: the longest is 590 bytes or more.
    let room = if is_split {
        longest_bytes.saturating_sub(headers).max(1)
    } else {
        u32::MAX
    };
    let mut left = bytes.saturating_sub(headers);
    let mut is_first = true;
    std::iter::from_fn(move || {
        if !std::mem::take(&mut is_first) && left == 0 {
            return None;
        }
        let payload = left.min(room);
        left -= payload;
        let mut frame = frame.clone()?;
        frame.bytes = if is_split { headers + payload } else { bytes };
        Some(frame)
    })
}

impl Frame {
    /// `None` without an Ethernet header.
    fn read(captured: &[u8]) -> Option<Self> {
        let (header, packet) = captured.split_at_checked(ETHERNET_BYTES)?;
        let ethertype = u16::from_be_bytes([header[12], header[13]]);
        let key = read_key(ethertype, packet, 0);
        let ip_bytes = match u32::from(key.family) {
            TAKT_FAMILY_IPV4 => packet
                .first()
                .map_or(0, |first| usize::from(first & 15) * 4),
            _ => IPV6_BYTES as usize,
        };
        // Behind a VLAN tag or extension headers it is somewhere else: then as usual.
        let is_plain = ethertype == IPV4 || ethertype == IPV6;
        let offset = packet.get(ip_bytes + 12).filter(|_| is_plain);
        let tcp_bytes = offset.map_or(TCP_USUAL_BYTES, |offset| offset >> 4 << 2);
        Some(Self {
            ecn: read_ecn(ethertype, packet) as u8 & 3,
            ethertype,
            tcp_bytes: tcp_bytes.max(TCP_LEAST_BYTES as u8),
            bytes: 0,
            key,
        })
    }

    /// What its headers say, with the true addresses.
    pub fn key(&self) -> takt_key {
        self.key
    }

    /// Of each frame of a packet that is split.
    fn headers_bytes(&self) -> u32 {
        let ip = match u32::from(self.key.family) {
            TAKT_FAMILY_IPV4 => IPV4_BYTES,
            TAKT_FAMILY_IPV6 => IPV6_BYTES,
            _ => 0,
        };
        let ports = if self.key.has_ports == 1 {
            UDP_BYTES
        } else {
            0
        };
        ETHERNET_BYTES as u32 + ip + ports
    }

    /// A header that says the same; with other addresses, if there are names for them. `None`: no
    /// name is left.
    pub fn header(&self, names: Option<&mut Names>) -> Option<Vec<u8>> {
        let mut key = self.key;
        if let Some(names) = names {
            names.replace(&mut key)?;
        }
        let mut out = vec![0; ETHERNET_BYTES - 2];
        let length = self.bytes.saturating_sub(ETHERNET_BYTES as u32);
        let traffic_class = key.dscp << 2 | self.ecn;
        match u32::from(key.family) {
            TAKT_FAMILY_IPV4 => {
                out.extend(IPV4.to_be_bytes());
                out.extend([0x45, traffic_class]);
                out.extend((length.min(0xffff) as u16).to_be_bytes());
                out.extend([0, 0, 0, 0, TTL, key.proto, 0, 0]);
                out.extend(key.src[0].to_ne_bytes());
                out.extend(key.dst[0].to_ne_bytes());
            }
            TAKT_FAMILY_IPV6 => {
                out.extend(IPV6.to_be_bytes());
                out.extend((6 << 28 | u32::from(traffic_class) << 20).to_be_bytes());
                let payload = length.saturating_sub(IPV6_BYTES).min(0xffff) as u16;
                out.extend(payload.to_be_bytes());
                out.extend([key.proto, TTL]);
                let words = key.src.iter().chain(&key.dst);
                out.extend(words.flat_map(|word| word.to_ne_bytes()));
            }
            _ => {
                // A tag's or IP's would ask for more than is known here.
                let is_read = [IPV4, IPV6, 0x8100, 0x88a8].contains(&self.ethertype);
                let ethertype = if is_read { 0xffff } else { self.ethertype };
                out.extend(ethertype.to_be_bytes());
                return Some(out);
            }
        }
        // Without ports the capture ends here.
        if key.has_ports == 1 {
            out.extend(key.src_port.to_be_bytes());
            out.extend(key.dst_port.to_be_bytes());
            if key.proto == TCP {
                out.extend([0; 8]);
                out.extend([self.tcp_bytes >> 2 << 4, 0, 0, 0, 0, 0, 0, 0]);
            }
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(bytes: u32, longest: u32) -> Vec<u32> {
        let mut captured = vec![0; 42];
        captured[12..15].copy_from_slice(&[8, 0, 0x45]);
        captured[23] = 17;
        frames(&captured, bytes, longest)
            .map(|frame| frame.bytes)
            .collect()
    }

    #[test]
    fn long_packets_that_are_not_of_tcp_are_split() {
        assert_eq!(udp(1514, 1514), [1514]);
        assert_eq!(udp(42 + 2 * 1472 + 5, 1514), [1514, 1514, 47]);
        assert_eq!(udp(30, 1514), [30]);
        assert!(frames(&[0; 13], 99, 1514).next().is_none());
    }

    #[test]
    fn a_header_has_nothing_but_what_is_replayed() {
        let mut captured = vec![0xaa; 200];
        captured[12..15].copy_from_slice(&[8, 0, 0x45]);
        captured[15] = 0b1011_1001;
        captured[20..22].copy_from_slice(&[0, 0]);
        captured[23] = TCP;
        captured[46] = 0x80;
        let frame = frames(&captured, 1514, 1514).next().unwrap();
        let header = frame.header(None).unwrap();
        assert_eq!(header.len(), 54);
        assert_eq!(header[..12], [0; 12]);
        assert_eq!(header[24..26], [0, 0], "the checksum");
        assert_eq!(header[46], 0x80, "the length of TCP's header");
        let again = frames(&header, 1514, 1514).next().unwrap();
        assert_eq!((again.key, again.ecn), (frame.key, 1));
        assert_eq!(again.key.dscp, 46);
    }
}
