//! Frames of a TCP packet that was captured before segmentation, or after it was put together again:
//! its headers are repeated, and the last frame is shorter.

use takt_algo::sys::{TAKT_FAMILY_IPV6, takt_key};

const ETHERNET_BYTES: u32 = 14;
const TCP: u8 = 6;
/// Of TCP with timestamps, if the capture cut the header off.
const TCP_USUAL_BYTES: u32 = 32;

/// The lengths of the frames; one for what cannot be split. `packet` is what was captured behind
/// the Ethernet header.
pub(super) fn frames(
    bytes: u32,
    frame_bytes: Option<u32>,
    key: &takt_key,
    packet: &[u8],
) -> impl Iterator<Item = u32> {
    let headers = headers_bytes(key, packet);
    let room = match frame_bytes {
        Some(frame_bytes) if key.proto == TCP && bytes > frame_bytes => {
            frame_bytes.saturating_sub(headers)
        }
        _ => 0,
    };
    // Without room for payload a packet stays whole.
    let payload = bytes.saturating_sub(headers);
    let (whole, rest) = match room {
        0 => (0, payload),
        room => (payload / room, payload % room),
    };
    let is_whole = room == 0;
    let last = (rest > 0 && !is_whole).then_some(headers + rest);
    let only = is_whole.then_some(bytes);
    (0..whole)
        .map(move |_| headers + room)
        .chain(last)
        .chain(only)
}

fn headers_bytes(key: &takt_key, packet: &[u8]) -> u32 {
    let is_v6 = u32::from(key.family) == TAKT_FAMILY_IPV6;
    let ip_bytes = match (is_v6, packet.first()) {
        // Extension headers are rare beside TCP.
        (true, _) => 40,
        (false, Some(first)) => u32::from(first & 0xf) * 4,
        (false, None) => 20,
    };
    let offset = packet.get(ip_bytes as usize + 12);
    let tcp_bytes = offset.map_or(TCP_USUAL_BYTES, |offset| u32::from(offset >> 4) * 4);
    ETHERNET_BYTES + ip_bytes + tcp_bytes
}

#[cfg(test)]
mod tests {
    use takt_algo::sys::TAKT_FAMILY_IPV4;

    use super::*;

    fn split(bytes: u32, frame_bytes: Option<u32>, proto: u8) -> Vec<u32> {
        let key = takt_key {
            family: TAKT_FAMILY_IPV4 as u8,
            proto,
            ..takt_key::default()
        };
        let mut packet = [0; 40];
        (packet[0], packet[32]) = (0x45, 0x80);
        frames(bytes, frame_bytes, &key, &packet).collect()
    }

    #[test]
    fn payload_is_kept_and_headers_are_repeated() {
        // 14 + 20 + 32 bytes of headers, so 1448 of payload.
        assert_eq!(split(66 + 3 * 1448, Some(1514), TCP), [1514; 3]);
        assert_eq!(split(66 + 1448 + 5, Some(1514), TCP), [1514, 71]);
        for whole in [66, 1514] {
            assert_eq!(split(whole, Some(1514), TCP), [whole]);
        }
        assert_eq!(split(9000, None, TCP), [9000]);
        assert_eq!(split(9000, Some(1514), 17), [9000]);
        assert_eq!(split(9000, Some(60), TCP), [9000]);
    }
}
