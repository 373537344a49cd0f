//! IP protocols by name.

use serde_json::Value;

use super::{Fault, UNSIGNED, closest, unsigned};
use crate::Code;

pub(crate) const ICMP: u8 = 1;
pub(crate) const ICMP6: u8 = 58;

/// The common names of `/etc/protocols`, and usual variants.
pub(super) const NAMES: &[(&str, u8)] = &[
    ("icmp", ICMP),
    ("igmp", 2),
    ("ipip", 4),
    ("tcp", 6),
    ("udp", 17),
    ("dccp", 33),
    ("ipv6", 41),
    ("gre", 47),
    ("esp", 50),
    ("ah", 51),
    ("icmp6", ICMP6),
    ("icmpv6", ICMP6),
    ("ipv6-icmp", ICMP6),
    ("ospf", 89),
    ("pim", 103),
    ("vrrp", 112),
    ("l2tp", 115),
    ("sctp", 132),
    ("udplite", 136),
];

pub(crate) fn schema() -> Value {
    let names = super::any_case(NAMES.iter().map(|(name, _)| *name));
    super::text_or_integer(&format!("^({names}|{UNSIGNED})$"), u8::MAX.into())
}

/// Whether source and destination port are the first four bytes after the IP header.
pub(crate) fn has_ports(proto: u8) -> bool {
    matches!(proto, 6 | 17 | 33 | 132 | 136)
}

pub(crate) fn parse(text: &str) -> Result<u8, Fault> {
    let lower = text.to_ascii_lowercase();
    if let Some((_, number)) = NAMES.iter().find(|(name, _)| *name == lower) {
        return Ok(*number);
    }
    if let Some(number) = unsigned(text) {
        return u8::try_from(number).map_err(|_| {
            Fault::new(
                Code::OutOfRange,
                format!("there is no protocol {number}"),
                "protocol numbers go from 0 to 255",
            )
        });
    }
    let help = match closest(text, NAMES.iter().map(|(name, _)| *name)) {
        Some(name) => format!("did you mean \"{name}\"? A number from 0 to 255 will do as well"),
        None => "names are tcp udp udplite sctp dccp icmp icmp6 igmp gre esp ah ipip and a few \
                 more; a number from 0 to 255 will do as well"
            .to_owned(),
    };
    Err(Fault::new(
        Code::BadValue,
        format!("`{text}` is not a protocol Takt knows by name"),
        help,
    ))
}

/// A name for messages.
pub(crate) fn name(proto: u8) -> String {
    match NAMES.iter().find(|(_, number)| *number == proto) {
        Some((name, _)) => (*name).to_owned(),
        None => format!("protocol {proto}"),
    }
}
