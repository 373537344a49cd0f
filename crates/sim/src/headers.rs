//! The headers of a source's flows: of each range in the traffic file, one value for each flow.

use std::{net::IpAddr, ops::RangeInclusive};

use takt_algo::{
    has_ports,
    sys::{TAKT_FAMILY_IPV4, TAKT_FAMILY_IPV6, takt_key},
};
use takt_planner::{Question, Questions};
use takt_policy::{Family, Match, Prefix};

/// What Linux gives to connections (`net.ipv4.ip_local_port_range`).
const EPHEMERAL_PORTS: RangeInclusive<u16> = 32768..=60999;
/// iperf3's.
const SERVER_PORT: u16 = 5201;
/// For documentation (RFC 5737, RFC 3849).
const SRC_V4: [u8; 4] = [192, 0, 2, 1];
const DST_V4: [u8; 4] = [198, 51, 100, 1];
const SRC_V6: [u16; 8] = [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1];
const DST_V6: [u16; 8] = [0x2001, 0xdb8, 0, 0, 0, 0, 0, 2];

/// The key of the flow with this index. Destinations differ first, then sources: flows beyond all
/// combinations begin again.
pub(crate) fn key(headers: &Match, index: u32, questions: &Questions) -> takt_key {
    let mut rest = u64::from(index);
    // Addresses imply it.
    let is_v6 = headers.family == Some(Family::Ipv6);
    let proto = headers.proto.unwrap_or_default();
    let mut key = takt_key {
        mark: headers.mark.map_or(0, |mark| mark.value),
        family: if is_v6 {
            TAKT_FAMILY_IPV6
        } else {
            TAKT_FAMILY_IPV4
        } as u8,
        proto,
        dscp: headers.dscp.unwrap_or_default(),
        who: who(headers, questions),
        ..takt_key::default()
    };
    let (usual_src, usual_dst) = if is_v6 {
        (IpAddr::from(SRC_V6), IpAddr::from(DST_V6))
    } else {
        (IpAddr::from(SRC_V4), IpAddr::from(DST_V4))
    };
    if has_ports(proto) {
        key.has_ports = 1;
        key.dst_port = port(&headers.dst_ports, SERVER_PORT..=SERVER_PORT, &mut rest);
    }
    key.dst = words(address(headers.dst, usual_dst, &mut rest));
    if key.has_ports == 1 {
        key.src_port = port(&headers.src_ports, EPHEMERAL_PORTS, &mut rest);
    }
    key.src = words(address(headers.src, usual_src, &mut rest));
    key
}

/// Takes the index within `count` from the rest, which goes on to the next field.
fn take(rest: &mut u64, count: u64) -> u64 {
    let index = *rest % count;
    *rest /= count;
    index
}

fn port(ranges: &[RangeInclusive<u16>], usual: RangeInclusive<u16>, rest: &mut u64) -> u16 {
    let usual = [usual];
    let ranges = if ranges.is_empty() { &usual } else { ranges };
    let ports = || ranges.iter().cloned().flatten();
    let at = take(rest, ports().count() as u64);
    ports().nth(at as usize).unwrap_or_default()
}

fn address(prefix: Option<Prefix>, usual: IpAddr, rest: &mut u64) -> IpAddr {
    let Some(Prefix { addr, len }) = prefix else {
        return usual;
    };
    let free_bits = match addr {
        IpAddr::V4(_) => 32 - u32::from(len),
        IpAddr::V6(_) => 128 - u32::from(len),
    };
    // More flows than this there are not.
    let host = take(rest, 1 << free_bits.min(32));
    match addr {
        IpAddr::V4(addr) => IpAddr::from((u32::from(addr) | host as u32).to_be_bytes()),
        IpAddr::V6(addr) => IpAddr::from((u128::from(addr) | u128::from(host)).to_be_bytes()),
    }
}

/// Where a packet goes; `None` if it is not IP.
pub(crate) fn destination(key: &takt_key) -> Option<IpAddr> {
    let octets = key.dst.map(u32::to_ne_bytes);
    match u32::from(key.family) {
        TAKT_FAMILY_IPV4 => Some(IpAddr::from(octets[0])),
        TAKT_FAMILY_IPV6 => {
            let mut all = [0; 16];
            all.copy_from_slice(octets.as_flattened());
            Some(IpAddr::from(all))
        }
        _ => None,
    }
}

/// As on the wire.
fn words(address: IpAddr) -> [u32; 4] {
    match address {
        IpAddr::V4(address) => [u32::from_ne_bytes(address.octets()), 0, 0, 0],
        IpAddr::V6(address) => {
            let octets = address.octets();
            let word = |at: usize| [octets[at], octets[at + 1], octets[at + 2], octets[at + 3]];
            [0, 4, 8, 12].map(|at| u32::from_ne_bytes(word(at)))
        }
    }
}

/// The bit of each question that is answered with yes for this sender.
fn who(headers: &Match, questions: &Questions) -> u32 {
    let own: Vec<Question> = headers.questions().collect();
    let holds = |asked: &Question| own.iter().any(|is| answers(is, asked));
    let bits = questions
        .iter()
        .enumerate()
        .filter(|(_, asked)| holds(asked));
    bits.fold(0, |who, (bit, _)| who | 1 << bit)
}

/// A control group is in all groups above it.
fn answers(is: &Question, asked: &Question) -> bool {
    match (is, asked) {
        (Question::Cgroup(is), Question::Cgroup(asked)) => is
            .strip_prefix(asked.as_str())
            .is_some_and(|below| below.is_empty() || below.starts_with('/')),
        _ => is == asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str, flows: u32) -> Vec<takt_key> {
        let text = format!("[[source]]\nname = \"a\"\nkind = \"backlog\"\nheaders = {{ {text} }}");
        let traffic = takt_policy::traffic::parse("test", &text).unwrap();
        let headers = &traffic.sources[0].headers;
        (0..flows)
            .map(|index| key(headers, index, &Questions::default()))
            .collect()
    }

    #[test]
    fn flows_take_the_values_of_a_range_in_turn() {
        let keys = keys("dst_port = \"80,5004-5006\", dst = \"198.51.100.0/31\"", 9);
        let ports: Vec<u16> = keys.iter().map(|key| key.dst_port).collect();
        assert_eq!(ports, [80, 5004, 5005, 5006, 80, 5004, 5005, 5006, 80]);
        let last = |key: &takt_key| key.dst[0].to_ne_bytes()[3];
        let hosts: Vec<u8> = keys.iter().map(last).collect();
        assert_eq!(hosts, [0, 0, 0, 0, 1, 1, 1, 1, 0]);
        assert_eq!(keys[8].src_port, keys[0].src_port + 1);
        assert_eq!(keys[0].proto, 17);
    }

    #[test]
    fn owners_answer_for_the_groups_above_them() {
        let questions = |text: &str| {
            let text = format!(
                "[link.a]\nrate = \"1gbit\"\n[[link.a.class]]\nname = \"b\"\nmatch = {{ {text} }}"
            );
            Questions::of(&takt_policy::parse("test", &text).unwrap().links)
        };
        let is = Match {
            cgroup: Some("backup.slice/nightly".to_owned()),
            ..Match::default()
        };
        assert_eq!(who(&is, &questions("cgroup = \"backup.slice\"")), 1);
        assert_eq!(who(&is, &questions("cgroup = \"backup.slice/night\"")), 0);
        assert_eq!(who(&is, &questions("app = \"nightly\"")), 0);
    }
}
