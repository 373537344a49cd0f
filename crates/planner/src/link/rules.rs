//! From a policy's match to masked keys.

use std::{collections::BTreeMap, net::IpAddr, ops::RangeInclusive};

use takt_algo::sys::{self, takt_key};
use takt_policy::{Family, Match, Prefix};

use super::{
    error::PlanError,
    ports::{PortPrefix, prefixes},
    questions::Questions,
};

/// A mask and the masked bits, as plain bytes so that they have an order.
pub(super) type Bits = [u8; size_of::<takt_key>()];

/// The result of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    pub order: u32,
    pub class_id: u16,
}

/// The rules of one mask, by value.
pub(super) type Entries = BTreeMap<Bits, Target>;

/// Rules found so far, by mask.
pub(super) type Found = BTreeMap<Bits, Entries>;

/// The bit that both family codes have and other frames do not.
pub(super) const ANY_IP: u8 = (sys::TAKT_FAMILY_IPV4 & sys::TAKT_FAMILY_IPV6) as u8;

/// Add the rules of `entry`. Where an earlier match has the same key, it stays: the first one in
/// the file wins.
pub(super) fn expand(
    entry: &Match,
    order: u32,
    class_id: u16,
    questions: &Questions,
    found: &mut Found,
) -> Result<(), PlanError> {
    let Some(who) = questions.bits(entry) else {
        // The policy does not ask this question, so the entry never matches.
        return Ok(());
    };
    let mut mask = takt_key::default();
    let mut value = takt_key::default();

    if let Some(family) = entry.family {
        mask.family = u8::MAX;
        value.family = family_code(family);
    } else if entry.proto.is_some() || entry.dscp.is_some() {
        // Protocol 0 and DSCP 0 must not catch ARP, which has neither.
        mask.family = ANY_IP;
        value.family = ANY_IP;
    }
    if let Some(proto) = entry.proto {
        mask.proto = u8::MAX;
        value.proto = proto;
    }
    if let Some(prefix) = &entry.src {
        (mask.src, value.src) = address(prefix);
    }
    if let Some(prefix) = &entry.dst {
        (mask.dst, value.dst) = address(prefix);
    }
    if let Some(dscp) = entry.dscp {
        mask.dscp = u8::MAX;
        value.dscp = dscp;
    }
    if let Some(mark) = &entry.mark {
        mask.mark = mark.mask;
        value.mark = mark.value;
    }
    (mask.who, value.who) = (who, who);
    let has_ports = !(entry.src_ports.is_empty() && entry.dst_ports.is_empty());
    if has_ports {
        mask.has_ports = u8::MAX;
        value.has_ports = 1;
    }

    for src in port_prefixes(&entry.src_ports) {
        for dst in port_prefixes(&entry.dst_ports) {
            (mask.src_port, value.src_port) = (src.mask, src.value);
            (mask.dst_port, value.dst_port) = (dst.mask, dst.value);
            let rules = found.entry(bits(&mask)).or_default();
            rules
                .entry(bits(&value))
                .or_insert(Target { order, class_id });
        }
        // Long lists on both sides multiply: stop while the product is small.
        PlanError::check_rules(found.values().map(BTreeMap::len).sum())?;
    }
    Ok(())
}

fn family_code(family: Family) -> u8 {
    match family {
        Family::Ipv4 => sys::TAKT_FAMILY_IPV4 as u8,
        Family::Ipv6 => sys::TAKT_FAMILY_IPV6 as u8,
    }
}

/// No range means any port: a prefix of length zero.
fn port_prefixes(ranges: &[RangeInclusive<u16>]) -> Vec<PortPrefix> {
    if ranges.is_empty() {
        return vec![PortPrefix { value: 0, mask: 0 }];
    }
    ranges.iter().flat_map(prefixes).collect()
}

/// Mask and value of a prefix, in the byte order of the wire.
fn address(prefix: &Prefix) -> ([u32; 4], [u32; 4]) {
    let (octets, family_bits) = match prefix.addr {
        IpAddr::V4(addr) => {
            let mut octets = [0; 16];
            octets[..4].copy_from_slice(&addr.octets());
            (octets, 32)
        }
        IpAddr::V6(addr) => (addr.octets(), 128),
    };
    let len = u32::from(prefix.len).min(family_bits);
    let mask = u128::MAX.checked_shl(128 - len).unwrap_or(0).to_be_bytes();
    (words(mask), words(octets))
}

fn words(octets: [u8; 16]) -> [u32; 4] {
    let (chunks, _) = octets.as_chunks::<4>();
    [0, 1, 2, 3].map(|index| u32::from_ne_bytes(chunks[index]))
}

fn bits(key: &takt_key) -> Bits {
    // SAFETY: takt_key is integers only and spells out its padding; any bytes
    // of it are initialised.
    unsafe { std::mem::transmute_copy(key) }
}

/// The other way round, for the table.
pub(super) fn key(bits: &Bits) -> takt_key {
    // SAFETY: as above; every bit pattern is a valid key.
    unsafe { std::mem::transmute_copy(bits) }
}
