//! Which destinations can be registered.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::protocol::{Code, Refusal};

/// An address and a port that packets of one receiver go to. An IPv4 address
/// within IPv6 is what it is on the wire.
pub(crate) fn check(dst: &str, port: u32) -> Result<SocketAddr, Refusal> {
    let address = match dst.parse::<IpAddr>() {
        Ok(address) => address.to_canonical(),
        Err(_) => return Err(bad_address(dst)),
    };
    let refused = |why: &str| {
        let message = format!("{address} cannot be registered: {why}");
        Err(Refusal::new(
            Code::BadAddress,
            message,
            "name one receiver's address, such as 192.0.2.10 or 2001:db8::1",
        ))
    };
    if address.is_unspecified() {
        return refused("it is not the address of one receiver");
    }
    if address.is_multicast() || address == Ipv4Addr::BROADCAST {
        return refused("it has many receivers");
    }
    match u16::try_from(port) {
        Ok(1..) => Ok(SocketAddr::new(address, port as u16)),
        _ => Err(Refusal::new(
            Code::BadPort,
            format!("{port} is not a port"),
            "ports go from 1 to 65535",
        )),
    }
}

/// `ADDR:PORT`, an IPv6 address in brackets.
pub fn destination(text: &str) -> Result<SocketAddr, Refusal> {
    let Some((host, port)) = text.rsplit_once(':') else {
        return Err(Refusal::new(
            Code::BadPort,
            format!("`{text}` has no port"),
            "write ADDR:PORT, such as 192.0.2.10:873 or [2001:db8::1]:873",
        ));
    };
    let inside = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if inside.is_none() && text.parse::<Ipv6Addr>().is_ok() {
        return Err(Refusal::new(
            Code::BadPort,
            format!("`{text}` is an IPv6 address without a port"),
            format!("write it in brackets: [{text}]:873"),
        ));
    }
    if inside.is_some_and(|host| host.parse::<Ipv4Addr>().is_ok()) {
        return Err(bad_address(host));
    }
    if inside.is_none() && host.contains(':') {
        return Err(Refusal::new(
            Code::BadAddress,
            format!("`{host}` is not in brackets"),
            format!("write an IPv6 address like this: [{host}]:{port}"),
        ));
    }
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse::<u32>().ok().filter(|_| is_number);
    let Some(number) = number else {
        return Err(Refusal::new(
            Code::BadPort,
            format!("`{port}` is not a port"),
            "ports are numbers from 1 to 65535; names of services are not resolved",
        ));
    };
    check(inside.unwrap_or(host), number)
}

fn bad_address(dst: &str) -> Refusal {
    let (message, fix) = if dst.contains('%') {
        (
            format!("`{dst}` names a device along with an address"),
            "leave out the % and what follows: packets are told apart by their address",
        )
    } else if dst.chars().any(|letter| letter.is_ascii_alphabetic()) && !dst.contains(':') {
        (
            format!("`{dst}` is not an address"),
            "names are not resolved, because what one means may change: write the address that \
             your program connects to",
        )
    } else {
        (
            format!("`{dst}` is not an address"),
            "write one in full, such as 192.0.2.10 or 2001:db8::1, without a prefix length",
        )
    };
    Refusal::new(Code::BadAddress, message, fix)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_receivers_address_and_a_port() {
        for (text, meant) in [
            ("192.0.2.10:873", "192.0.2.10:873"),
            ("[2001:db8::1]:1", "[2001:db8::1]:1"),
            ("[::ffff:192.0.2.10]:65535", "192.0.2.10:65535"),
            ("127.0.0.1:9", "127.0.0.1:9"),
        ] {
            assert_eq!(destination(text), Ok(meant.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn all_else_is_refused_with_a_reason() {
        for (text, code) in [
            ("192.0.2.10", Code::BadPort),
            ("192.0.2.10:0", Code::BadPort),
            ("192.0.2.10:65536", Code::BadPort),
            ("192.0.2.10:+1", Code::BadPort),
            ("192.0.2.10:", Code::BadPort),
            ("192.0.2.10:rsync", Code::BadPort),
            ("2001:db8::1", Code::BadPort),
            ("2001:db8::1:99999", Code::BadAddress),
            ("[192.0.2.10]:1", Code::BadAddress),
            ("0.0.0.0:1", Code::BadAddress),
            ("[::]:1", Code::BadAddress),
            ("[::ffff:0.0.0.0]:1", Code::BadAddress),
            ("224.0.0.1:1", Code::BadAddress),
            ("[ff02::1]:1", Code::BadAddress),
            ("255.255.255.255:1", Code::BadAddress),
            ("192.0.2.0/24:1", Code::BadAddress),
            ("192.0.2.010:1", Code::BadAddress),
            ("backup.example:873", Code::BadAddress),
            ("[fe80::1%eth0]:1", Code::BadAddress),
            (":1", Code::BadAddress),
        ] {
            let refusal = destination(text).unwrap_err();
            assert_eq!(refusal.code, code, "{text}: {refusal}");
            assert!(!refusal.fix.is_empty());
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,60}", port in any::<u32>()) {
            let _ = destination(&text);
            let _ = check(&text, port);
        }

        #[test]
        fn what_is_taken_is_what_was_written(address in any::<[u8; 16]>(), port in 1..=u16::MAX) {
            let meant = SocketAddr::new(Ipv6Addr::from(address).into(), port);
            if let Ok(found) = destination(&meant.to_string()) {
                prop_assert_eq!(found.ip(), meant.ip().to_canonical());
                prop_assert_eq!(found.port(), port);
            }
        }
    }
}
