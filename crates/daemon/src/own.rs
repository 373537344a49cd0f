//! What other hosts call this host.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::{SystemTime, UNIX_EPOCH},
};

use nix::ifaddrs::getifaddrs;
use takt_host::present_name;
use takt_wlan::{Address, radio::Report};

/// A report of this device without a measurement; `None` if it has no address.
pub(crate) fn report_of(device: &str) -> Option<Report> {
    let is_known = getifaddrs()
        .ok()?
        .any(|found| found.interface_name == device);
    if is_known {
        addresses_of(device)
    } else {
        addresses_of(&present_name(device).ok()??)
    }
}

/// `device` is its present name.
fn addresses_of(device: &str) -> Option<Report> {
    let (mut mac, mut v4, mut v6) = (None, None, None);
    for found in getifaddrs()
        .ok()?
        .filter(|found| found.interface_name == device)
    {
        let Some(address) = found.address else {
            continue;
        };
        if let Some(link) = address.as_link_addr() {
            mac = mac.or(link.addr());
        } else if let Some(inet) = address.as_sockaddr_in() {
            v4 = v4.or(Some(inet.ip()));
        } else if let Some(inet) = address.as_sockaddr_in6() {
            // An address that other hosts know it by.
            let is_known: fn(&Ipv6Addr) -> bool = |ip| !ip.is_unicast_link_local();
            v6 = v6.or(Some(inet.ip()).filter(is_known));
        }
    }
    let of_one = |address: Address| address.is_of_one();
    let report = Report {
        mac: mac.filter(|mac| of_one(Address::Mac(*mac))),
        v4: v4.filter(|v4: &Ipv4Addr| of_one(Address::Ip(IpAddr::V4(*v4)))),
        v6: v6.filter(|v6| of_one(Address::Ip(IpAddr::V6(*v6)))),
        snr_centidb: 0,
    };
    report.sender().map(|_| report)
}

/// A start number that a sender never had before, as long as the clock is not set back.
pub(crate) fn epoch() -> Result<u64, String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.map_err(|_| "the clock is before 1970; set it")?;
    Ok(since.as_nanos() as u64)
}
