//! Addresses of single hosts that answer ICMP.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::Fault;
use crate::Code;

pub(crate) fn schema() -> Value {
    json!({"type": "string", "pattern": r"^[\da-fA-F:.]+$", "examples": ["9.9.9.9"]})
}

/// `9.9.9.9`, `2620:fe::fe`.
pub(crate) fn parse(text: &str) -> Result<IpAddr, Fault> {
    let Ok(address) = text.parse::<IpAddr>() else {
        return Err(Fault::new(
            Code::BadAddress,
            format!("`{text}` is not an address"),
            "write the host's address, such as \"9.9.9.9\" or \"2620:fe::fe\"; names are not resolved",
        ));
    };
    let is_one = match address {
        IpAddr::V4(v4) => !v4.is_unspecified() && !v4.is_multicast() && !v4.is_broadcast(),
        // A mapped address is IPv4 on the wire, and a link-local one needs its device.
        IpAddr::V6(v6) => {
            !v6.is_unspecified()
                && !v6.is_multicast()
                && !v6.is_unicast_link_local()
                && v6.to_ipv4_mapped().is_none()
        }
    };
    if is_one && !address.is_loopback() {
        return Ok(address);
    }
    Err(Fault::new(
        Code::BadAddress,
        format!("`{text}` is not a host beyond the line"),
        "name a host that answers ping from beyond the line, such as \"9.9.9.9\"",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_reflectors_and_nothing_else_is() {
        for text in ["9.9.9.9", "192.0.2.1", "2620:fe::fe"] {
            assert_eq!(parse(text).map(|ip| ip.to_string()), Ok(text.to_owned()));
        }
        for text in [
            "",
            "dns.example",
            "9.9.9.9/32",
            "0.0.0.0",
            "127.0.0.1",
            "224.0.0.1",
            "::",
            "::1",
            "ff02::1",
            "fe80::1",
            "::ffff:9.9.9.9",
        ] {
            assert_eq!(
                parse(text).map_err(|fault| fault.code),
                Err(Code::BadAddress),
                "{text}"
            );
        }
    }
}
