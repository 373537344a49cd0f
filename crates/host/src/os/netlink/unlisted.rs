//! Settings of qdiscs that the kernel keeps and does not list, so that no listing brings them
//! back.

use super::{Qdisc, socket::find};

/// Kinds that always have some.
const ALWAYS: [(&str, &str); 5] = [
    ("red", "its table for idle times"),
    ("choke", "its table for idle times"),
    ("gred", "the tables of its virtual queues"),
    ("plug", "its limit"),
    ("teql", "the devices that it joins"),
];

const NETEM: &str = "netem";
/// Of its options, `struct tc_netem_qopt` comes first, and the jitter last in it.
const NETEM_OPTIONS_BYTES: usize = 24;
const NETEM_JITTER_AT: usize = 20;
const TCA_NETEM_JITTER64: u16 = 11;
const TCA_NETEM_SLOT: u16 = 12;
/// In `struct tc_netem_slot`: the delay and its jitter by a distribution, each an `s64`.
const SLOT_DISTRIBUTION_AT: usize = 24;

const TCA_STAB_BASE: u16 = 1;
/// In `struct tc_sizespec`.
const TABLE_ENTRIES_AT: usize = 20;

impl Qdisc {
    /// Which of its settings the kernel does not list, or may not; `None`: it lists all.
    pub(crate) fn unlisted(&self) -> Option<&'static str> {
        let is_of_kind = |(kind, _): &&(&str, &str)| match *kind {
            // A number follows.
            "teql" => self.kind.starts_with("teql"),
            kind => self.kind == kind,
        };
        if let Some((_, what)) = ALWAYS.iter().find(is_of_kind) {
            return Some(what);
        }
        if self.kind == NETEM && may_have_distribution(&self.options) {
            return Some("its distribution of delays, if it has one");
        }
        let base = find(&self.sizes, TCA_STAB_BASE).unwrap_or_default();
        is_set(base.get(TABLE_ENTRIES_AT..)).then_some("its size table")
    }
}

/// Without jitter a distribution has no effect.
fn may_have_distribution(options: &[u8]) -> bool {
    let (own, attributes) = options
        .split_at_checked(NETEM_OPTIONS_BYTES)
        .unwrap_or((options, &[]));
    let slot = find(attributes, TCA_NETEM_SLOT).unwrap_or_default();
    is_set(own.get(NETEM_JITTER_AT..))
        || is_set(find(attributes, TCA_NETEM_JITTER64).as_deref())
        || is_set(slot.get(SLOT_DISTRIBUTION_AT..))
}

fn is_set(field: Option<&[u8]>) -> bool {
    field.is_some_and(|field| field.iter().any(|byte| *byte != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::netlink::{Handle, attribute};

    fn qdisc(kind: &str, options: Vec<u8>, sizes: Vec<u8>) -> Qdisc {
        Qdisc {
            kind: kind.to_owned(),
            handle: Handle(0x8123_0000),
            parent: Handle::ROOT,
            options,
            sizes,
        }
    }

    fn netem(jitter: u32, attributes: &[(u16, Vec<u8>)]) -> Qdisc {
        let own = [1000u32, 1000, 0, 0, 0, jitter]
            .map(u32::to_ne_bytes)
            .concat();
        let attributes = attributes
            .iter()
            .map(|(kind, value)| attribute(*kind, value));
        let options = [own, attributes.collect::<Vec<_>>().concat()].concat();
        qdisc(NETEM, options, Vec::new())
    }

    #[test]
    fn a_netem_with_jitter_may_have_a_distribution() {
        let slot = |delays: [i64; 2], by_distribution: [i64; 2]| {
            let limits = [0u8; 8].to_vec();
            let of = |times: [i64; 2]| times.map(i64::to_ne_bytes).concat();
            (
                TCA_NETEM_SLOT,
                [of(delays), limits, of(by_distribution)].concat(),
            )
        };
        let jitter64 = |jitter: i64| (TCA_NETEM_JITTER64, jitter.to_ne_bytes().to_vec());
        let lists_all = [
            netem(0, &[]),
            netem(0, &[jitter64(0)]),
            netem(0, &[slot([1, 2], [0, 0])]),
            qdisc(NETEM, Vec::new(), Vec::new()),
        ];
        assert!(lists_all.iter().all(|netem| netem.unlisted().is_none()));
        let may_not = [
            netem(1, &[]),
            netem(0, &[jitter64(1)]),
            netem(0, &[slot([0, 0], [1, 0])]),
            netem(0, &[slot([0, 0], [0, 1])]),
        ];
        assert!(may_not.iter().all(|netem| netem.unlisted().is_some()));
    }

    #[test]
    fn a_size_table_is_not_listed_and_an_overhead_is() {
        let sizes = |entries: u32| {
            let base = [
                [0u8; TABLE_ENTRIES_AT].to_vec(),
                entries.to_ne_bytes().to_vec(),
            ];
            attribute(TCA_STAB_BASE, &base.concat())
        };
        let tbf = |sizes| qdisc("tbf", vec![1], sizes).unlisted();
        assert_eq!(tbf(Vec::new()), None);
        assert_eq!(tbf(sizes(0)), None);
        assert_eq!(tbf(sizes(512)), Some("its size table"));
    }

    #[test]
    fn some_kinds_never_list_all() {
        let unlisted = |kind| qdisc(kind, vec![1], Vec::new()).unlisted();
        assert!(
            ["red", "gred", "teql0"]
                .iter()
                .all(|kind| unlisted(kind).is_some())
        );
        assert!(
            ["fq", "htb", "sfb"]
                .iter()
                .all(|kind| unlisted(kind).is_none())
        );
    }
}
