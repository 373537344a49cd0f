//! Which terminals upload through an access point and belong to no group, from the
//! acknowledgements that it forwards to them.
//!
//! A terminal is known by its MAC address where frames have one, so that what a member uploads by
//! IPv6 is a member's, too, though it reports by IPv4. Behind a repeater that puts its own address
//! in the place of theirs, all are one terminal: on the air they are.

use std::{
    collections::{BTreeMap, VecDeque},
    net::IpAddr,
};

use takt_host::thinning::Upload;

use super::{Member, Strangers};
use crate::{Address, address_of};

/// Rates are those of this time. Shorter ones would vary with every loss.
const WINDOW_NS: u64 = 1_000_000_000;
/// A member may upload for so many intervals before its report arrives, and after its last one.
const SILENCES: u64 = 4;
/// A terminal that gets less than this part of an equal one wants little, as a shell or a name
/// resolver does: members would leave it a part that it does not use. One that the others starve
/// gets more than that, still counts, and so is left its part.
const WANTED_DIVISOR: u64 = 16;
/// About a segment in a second: less than this is no upload, whatever the others do.
const WANTED_MIN_BYTES_PS: u64 = 1500;
/// 10 Gbit/s. A number that rises faster is another connection's with the same ports.
const RATE_MAX_BYTES_PS: u64 = 1_250_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// What terminals uploaded of late, by successive looks at an access point's acknowledgements.
#[derive(Default)]
pub struct StrangerCounter {
    /// Times of the looks: the last one before the window, and those within.
    looks_ns: VecDeque<u64>,
    flows: BTreeMap<u64, Seen>,
    terminals: BTreeMap<Address, Terminal>,
}

/// A flow's last acknowledgement.
struct Seen {
    ack: u32,
    at_ns: u64,
}

#[derive(Default)]
struct Terminal {
    /// By look, where there are any.
    bytes: VecDeque<(u64, u64)>,
    /// It has uploaded since then.
    since_ns: u64,
    /// It counts as a member until then.
    member_until_ns: u64,
}

impl StrangerCounter {
    /// A look at the last acknowledgements of all flows. Returns who has uploaded for a while and
    /// is none of these members, which report within this interval.
    pub fn look<'a>(
        &mut self,
        now_ns: u64,
        uploads: &[Upload],
        members: impl Iterator<Item = (u64, &'a Member)>,
        interval_ns: u64,
    ) -> Strangers {
        let patience_ns = SILENCES.saturating_mul(interval_ns).max(WINDOW_NS);
        let from_ns = self.begin(now_ns);
        let members = Known::from_members(members);
        for upload in uploads {
            self.add(now_ns, upload, &members, patience_ns);
        }
        self.flows
            .retain(|_, seen| now_ns.saturating_sub(seen.at_ns) <= WINDOW_NS);
        for terminal in self.terminals.values_mut() {
            terminal.bytes.retain(|(at_ns, _)| *at_ns > from_ns);
        }
        self.terminals
            .retain(|_, terminal| !terminal.bytes.is_empty() || terminal.is_member(now_ns));
        self.strangers(now_ns, now_ns.saturating_sub(from_ns), patience_ns)
    }

    /// Returns when the window began: at the last look before it, if there was one.
    fn begin(&mut self, now_ns: u64) -> u64 {
        self.looks_ns.push_back(now_ns);
        let is_before = |at_ns: &u64| at_ns.saturating_add(WINDOW_NS) <= now_ns;
        while self.looks_ns.get(1).is_some_and(is_before) {
            self.looks_ns.pop_front();
        }
        self.looks_ns.front().copied().unwrap_or(now_ns)
    }

    fn add(&mut self, now_ns: u64, upload: &Upload, members: &Known, patience_ns: u64) {
        let ip = upload.ip.map(Address::Ip);
        let Some(address) = upload.mac.map(Address::Mac).or(ip) else {
            return;
        };
        let now = Seen {
            ack: upload.ack,
            at_ns: now_ns,
        };
        let before = self.flows.insert(upload.flow, now);
        let bytes = before.map_or(0, |before| before.bytes_until(upload.ack, now_ns));
        let is_member = members.have(upload);
        if bytes == 0 && !is_member {
            return;
        }
        let terminal = self.terminals.entry(address).or_default();
        if is_member {
            terminal.member_until_ns = now_ns.saturating_add(patience_ns);
        }
        if bytes == 0 {
            return;
        }
        if terminal.bytes.is_empty() {
            terminal.since_ns = now_ns;
        }
        match terminal.bytes.back_mut() {
            Some((at_ns, sum)) if *at_ns == now_ns => *sum = sum.saturating_add(bytes),
            _ => terminal.bytes.push_back((now_ns, bytes)),
        }
    }

    fn strangers(&self, now_ns: u64, passed_ns: u64, patience_ns: u64) -> Strangers {
        let rates = self.terminals.values().map(|terminal| {
            let bytes: u64 = terminal.bytes.iter().map(|(_, bytes)| *bytes).sum();
            let rate = u128::from(bytes) * u128::from(NS_PER_S) / u128::from(passed_ns.max(1));
            (terminal, u64::try_from(rate).unwrap_or(u64::MAX))
        });
        let rates: Vec<_> = rates.filter(|(_, rate)| *rate > 0).collect();
        let all = rates
            .iter()
            .fold(0u64, |sum, (_, rate)| sum.saturating_add(*rate));
        let equal = all / (rates.len() as u64).max(1);
        let least = (equal / WANTED_DIVISOR).max(WANTED_MIN_BYTES_PS);
        let mut strangers = Strangers::default();
        for (terminal, rate) in rates {
            let is_new = now_ns.saturating_sub(terminal.since_ns) < patience_ns;
            if !is_new && !terminal.is_member(now_ns) && rate >= least {
                let rate = u32::try_from(rate).unwrap_or(u32::MAX);
                strangers.count = strangers.count.saturating_add(1);
                strangers.rate_bytes_ps = strangers.rate_bytes_ps.saturating_add(rate);
            }
        }
        strangers
    }
}

impl Seen {
    /// Acknowledged since then. None, if the number fell, or rose by more than can be.
    fn bytes_until(&self, ack: u32, now_ns: u64) -> u64 {
        let rise = ack.wrapping_sub(self.ack);
        let passed_ns = now_ns.saturating_sub(self.at_ns);
        let most = u128::from(RATE_MAX_BYTES_PS) * u128::from(passed_ns) / u128::from(NS_PER_S);
        if rise.cast_signed() >= 0 && u128::from(rise) <= most {
            rise.into()
        } else {
            0
        }
    }
}

impl Terminal {
    fn is_member(&self, now_ns: u64) -> bool {
        now_ns < self.member_until_ns
    }
}

/// The members' addresses.
#[derive(Default)]
struct Known {
    macs: Vec<[u8; 6]>,
    ips: Vec<IpAddr>,
}

impl Known {
    fn from_members<'a>(members: impl Iterator<Item = (u64, &'a Member)>) -> Self {
        let mut known = Self::default();
        for (number, member) in members {
            known.ips.extend(member.from);
            match address_of(number) {
                Some(Address::Mac(mac)) => known.macs.push(mac),
                Some(Address::Ip(ip)) => known.ips.push(ip),
                None => {}
            }
        }
        known.macs.sort_unstable();
        known.ips.sort_unstable();
        known
    }

    fn have(&self, upload: &Upload) -> bool {
        let by_mac = |mac| self.macs.binary_search(&mac).is_ok();
        let by_ip = |ip| self.ips.binary_search(&ip).is_ok();
        upload.mac.is_some_and(by_mac) || upload.ip.is_some_and(by_ip)
    }
}
