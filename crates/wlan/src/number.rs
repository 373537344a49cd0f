//! The numbers by which hosts identify themselves to each other.

use std::net::{IpAddr, Ipv4Addr};

use crate::Address;

const MAC: u64 = 1 << 48;
const IPV4: u64 = 2 << 48;
const IPV6: u64 = 1 << 63;

/// Made of an address, so that no other host has it.
pub(crate) fn number_of(address: Address) -> u64 {
    match address {
        Address::Mac([a, b, c, d, e, f]) => MAC | u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
        Address::Ip(IpAddr::V4(v4)) => IPV4 | u64::from(v4.to_bits()),
        Address::Ip(IpAddr::V6(v6)) => {
            let bits = v6.to_bits();
            IPV6 | ((bits >> 64) as u64).rotate_left(32) ^ bits as u64
        }
    }
}

/// The address of which a number was made, if the number holds all of it.
pub fn address_of(number: u64) -> Option<Address> {
    let [_, _, a, b, c, d, e, f] = number.to_be_bytes();
    let mac = Address::Mac([a, b, c, d, e, f]);
    let v4 = Address::Ip(IpAddr::V4(Ipv4Addr::new(c, d, e, f)));
    [mac, v4]
        .into_iter()
        .find(|address| number_of(*address) == number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_addresses_as_far_as_they_go(mac: [u8; 6], ip: IpAddr, number: u64) {
            let mac = Address::Mac(mac);
            prop_assert_eq!(address_of(number_of(mac)), Some(mac));
            let known = Some(Address::Ip(ip)).filter(|_| ip.is_ipv4());
            prop_assert_eq!(address_of(number_of(Address::Ip(ip))), known);
            prop_assert!(address_of(number).is_none_or(|address| number_of(address) == number));
        }
    }
}
