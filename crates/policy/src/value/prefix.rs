//! Addresses and prefixes.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::Fault;
use crate::{Code, Prefix};

pub(crate) fn schema() -> Value {
    json!({"type": "string", "pattern": r"^[\da-fA-F:.]+(/\d+)?$"})
}

/// `192.0.2.10`, `192.0.2.0/24`, `2001:db8::/32`.
pub(crate) fn parse(text: &str) -> Result<Prefix, Fault> {
    let (addr_text, len_text) = match text.split_once('/') {
        Some((addr, len)) => (addr, Some(len)),
        None => (text, None),
    };
    let addr: IpAddr = addr_text.parse().map_err(|_| not_an_address(addr_text))?;
    let (bits, version) = match addr {
        IpAddr::V4(_) => (32, "IPv4"),
        IpAddr::V6(_) => (128, "IPv6"),
    };
    let len = match len_text {
        None => bits,
        Some(text) => text
            .parse()
            .ok()
            .filter(|len| *len <= bits && text.bytes().all(|b| b.is_ascii_digit()))
            .ok_or_else(|| bad_length(addr_text, text, version, bits))?,
    };
    let network = mask(addr, len);
    if network != addr {
        return Err(Fault::new(
            Code::BadAddress,
            format!("`{text}` has bits set beyond the first {len}"),
            format!("write \"{network}/{len}\" for the network, or \"{addr}\" for the one host"),
        ));
    }
    if let Some(fault) = mapped(text, addr, len) {
        return Err(fault);
    }
    Ok(Prefix { addr, len })
}

/// Bits of an IPv6 address before the IPv4 address that is mapped into it.
const MAPPED_BITS: u8 = 96;

/// Addresses of `::ffff:0:0/96` are the form in which programs give IPv4 addresses to an IPv6
/// socket. In a packet's header the address is IPv4.
fn mapped(text: &str, addr: IpAddr, len: u8) -> Option<Fault> {
    let IpAddr::V6(v6) = addr else {
        return None;
    };
    let v4 = v6.to_ipv4_mapped().filter(|_| len >= MAPPED_BITS)?;
    let instead = match len - MAPPED_BITS {
        32 => v4.to_string(),
        len => format!("{v4}/{len}"),
    };
    Some(Fault::new(
        Code::NeverMatches,
        format!("`{text}` can never match: no packet has an IPv4-mapped address"),
        format!("write \"{instead}\""),
    ))
}

/// The address with all but its first `len` bits cleared.
pub(crate) fn mask(addr: IpAddr, len: u8) -> IpAddr {
    match addr {
        IpAddr::V4(v4) => {
            let mask = u32::MAX
                .checked_shl(32 - u32::from(len.min(32)))
                .unwrap_or(0);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX
                .checked_shl(128 - u32::from(len.min(128)))
                .unwrap_or(0);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

fn not_an_address(text: &str) -> Fault {
    let help = if text.contains('%') {
        "leave out the zone after `%`: the link is the device already"
    } else if text.contains(|c: char| c.is_ascii_alphabetic()) && !text.contains(':') {
        "names are not resolved; write the address, such as \"192.0.2.10\" or \"2001:db8::/32\""
    } else {
        "write an address or a prefix, such as \"192.0.2.10\", \"192.0.2.0/24\" or \"2001:db8::/32\""
    };
    Fault::new(
        Code::BadAddress,
        format!("`{text}` is not an IP address"),
        help,
    )
}

fn bad_length(addr: &str, len: &str, version: &str, bits: u8) -> Fault {
    // A netmask in the old notation is a run of ones followed by zeros.
    let netmask = len.parse().ok().map(std::net::Ipv4Addr::to_bits);
    let help = match netmask.filter(|mask| bits == 32 && mask.leading_ones() == mask.count_ones()) {
        Some(mask) => format!(
            "write the mask as a length: \"{addr}/{}\"",
            mask.leading_ones()
        ),
        None => format!("{version} prefixes have a length from 0 to {bits}"),
    };
    Fault::new(
        Code::BadAddress,
        format!("`/{len}` is not the length of an {version} prefix"),
        help,
    )
}
