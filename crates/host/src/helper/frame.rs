//! Frames that only the qdisc sees: 802.3x PAUSE with pause time 0, which has no effect on a
//! receiver.

use takt_algo::sys::{TAKT_BELL_BYTES, TAKT_GAP_ETHERTYPE, TAKT_GAP_LEN_MIN};

/// Bridges do not forward frames to this address, and receivers that know PAUSE consume them.
const MAC_CONTROL: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
const OPCODE_PAUSE: [u8; 2] = [0, 1];
const NO_TIME: [u8; 2] = [0, 0];

/// A gap frame of `len` bytes, without the check sequence; at least Ethernet's minimum.
pub(crate) fn gap_frame(source: [u8; 6], len: u32) -> Vec<u8> {
    pause(source, len.max(TAKT_GAP_LEN_MIN))
}

/// The bell of a link; it never leaves the qdisc.
pub(super) fn bell(source: [u8; 6]) -> Vec<u8> {
    pause(source, TAKT_BELL_BYTES)
}

fn pause(source: [u8; 6], len: u32) -> Vec<u8> {
    let mut frame = Vec::with_capacity(len as usize);
    frame.extend(MAC_CONTROL);
    frame.extend(source);
    frame.extend((TAKT_GAP_ETHERTYPE as u16).to_be_bytes());
    frame.extend(OPCODE_PAUSE);
    frame.extend(NO_TIME);
    frame.resize(len as usize, 0);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_frame_of_no_time() {
        let frame = gap_frame([2, 0, 0, 0, 0, 9], 100);
        assert_eq!(frame.len(), 100);
        assert_eq!(
            frame[..18],
            [
                1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0, 1, 0, 0
            ]
        );
        assert!(frame[18..].iter().all(|byte| *byte == 0));
        assert_eq!(gap_frame([0; 6], 0).len(), 60);
    }
}
