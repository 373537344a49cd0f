//! The size table of a tree's root (`tc stab`), from which HTB takes what a frame costs on the line.
//!
//! HTB's own `linklayer` knows ATM's cells, but no overhead below 0 and no PTM. With an entry for each
//! length the table is exact where a packet is one frame; of a packet of several the kernel looks up
//! the length of all (`__qdisc_calculate_pkt_len`).

use takt_planner::tree::Line;

use crate::os::netlink::attribute;

/// `struct tc_sizespec`, and its table of numbers of 16 bits.
const TCA_STAB_BASE: u16 = 1;
const TCA_STAB_DATA: u16 = 2;

/// The attribute's content.
pub(super) fn of_line(line: &Line) -> Vec<u8> {
    let table = line.table();
    // An entry is for one length, and says it in bytes.
    let (cell_log, size_log, cell_align) = (0u8, 0u8, 0i16);
    // The table counts these two.
    let (overhead_bytes, link_layer, least_bytes) = (0u32, 0u32, 0u32);
    let mut base = vec![cell_log, size_log];
    base.extend(cell_align.to_ne_bytes());
    for word in [
        overhead_bytes,
        link_layer,
        least_bytes,
        line.longest_bytes,
        table.len() as u32,
    ] {
        base.extend(word.to_ne_bytes());
    }
    let data: Vec<u8> = table.iter().flat_map(|bytes| bytes.to_ne_bytes()).collect();
    [
        attribute(TCA_STAB_BASE, &base),
        attribute(TCA_STAB_DATA, &data),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use takt_policy::parse;

    use super::*;

    #[test]
    fn every_length_has_an_entry() {
        let text = "[link.eth0]\nrate = \"10mbit\"\nframing = \"pppoa-vcmux\"\n";
        let link = &parse("test", text).expect("a policy").links[0];
        let line = Line {
            framing: link.framing,
            longest_bytes: 1518,
        };
        let sizes = of_line(&line);
        // Two attributes' headers, tc_sizespec, and 1519 entries, padded.
        assert_eq!(sizes.len(), 4 + 24 + 4 + 2 * 1519 + 2);
        let entry = |bytes: usize| {
            let at = 4 + 24 + 4 + 2 * bytes;
            u16::from_ne_bytes([sizes[at], sizes[at + 1]])
        };
        // 1,514 bytes with an Ethernet header are 1,500 of IP and 10 of PPP and AAL5: 32 cells.
        assert_eq!(entry(1514), 32 * 53);
        assert_eq!(entry(0), 0);
    }
}
