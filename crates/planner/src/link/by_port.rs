//! The table of classes by port, for rules that ask for nothing but a protocol and one port.

use takt_algo::sys::{
    TAKT_PORT_DESTINATION, TAKT_PORT_PLACES, TAKT_PORT_SOURCE, TAKT_PORTS, takt_classify, takt_key,
    takt_rules,
};

use super::rules::ANY_IP;

/// The classes of TCP's and UDP's packets, by one of their ports (`algo/ports.h`).
pub struct ByPort {
    /// `TAKT_PORT_SOURCE` or `TAKT_PORT_DESTINATION`.
    pub which: u32,
    /// UDP's ports, then TCP's.
    pub class_ids: Vec<u16>,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// The table that says what these rules say; `None` if a table by one port cannot.
pub fn by_port(rules: &takt_rules) -> Option<ByPort> {
    let tuples = &rules.tuple[..rules.tuples as usize];
    let (mut src, mut dst) = (false, false);
    for tuple in tuples {
        let mask = &tuple.mask;
        src |= mask.src_port != 0;
        dst |= mask.dst_port != 0;
        let told = takt_key {
            family: mask.family & ANY_IP,
            src_port: mask.src_port,
            dst_port: mask.dst_port,
            proto: mask.proto,
            has_ports: mask.has_ports,
            ..takt_key::default()
        };
        if *mask != told {
            return None;
        }
    }
    if src && dst {
        return None;
    }
    let class_ids = (0..TAKT_PORT_PLACES).map(|place| {
        let port = (place % TAKT_PORTS) as u16;
        let key = takt_key {
            src_port: if src { port } else { 0 },
            dst_port: if src { 0 } else { port },
            proto: if place < TAKT_PORTS { UDP } else { TCP },
            family: ANY_IP,
            has_ports: 1,
            ..takt_key::default()
        };
        // SAFETY: two valid structs; every index in algo/ is masked.
        unsafe { takt_classify(rules, &raw const key) as u16 }
    });
    Some(ByPort {
        which: if src {
            TAKT_PORT_SOURCE
        } else {
            TAKT_PORT_DESTINATION
        },
        class_ids: class_ids.collect(),
    })
}
