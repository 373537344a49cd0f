//! Whether one match entry matches every packet that another one matches.

use std::ops::RangeInclusive;

use crate::value::prefix;
use crate::{Mark, Match, Prefix};

/// Term by term: an absent term matches everything. Sound, and complete for two completed entries,
/// except that it does not consider sets joined from several entries, nor implications between
/// different kinds of questions about a socket's owner.
pub(super) fn covers(wide: &Match, narrow: &Match) -> bool {
    same_or_absent(&wide.family, &narrow.family)
        && same_or_absent(&wide.proto, &narrow.proto)
        && same_or_absent(&wide.dscp, &narrow.dscp)
        && prefix_covers(wide.src, narrow.src)
        && prefix_covers(wide.dst, narrow.dst)
        && mark_covers(wide.mark, narrow.mark)
        && ports_cover(&wide.src_ports, &narrow.src_ports)
        && ports_cover(&wide.dst_ports, &narrow.dst_ports)
        && same_or_absent(&wide.app, &narrow.app)
        && same_or_absent(&wide.user, &narrow.user)
        && cgroup_covers(wide.cgroup.as_deref(), narrow.cgroup.as_deref())
        && same_or_absent(&wide.unit, &narrow.unit)
        && (narrow.registered || !wide.registered)
}

fn same_or_absent<T: PartialEq>(wide: &Option<T>, narrow: &Option<T>) -> bool {
    wide.is_none() || wide == narrow
}

/// A control group includes those below it.
fn cgroup_covers(wide: Option<&str>, narrow: Option<&str>) -> bool {
    match (wide, narrow) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => narrow
            .strip_prefix(wide)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
    }
}

fn prefix_covers(wide: Option<Prefix>, narrow: Option<Prefix>) -> bool {
    match (wide, narrow) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => {
            wide.family() == narrow.family()
                && wide.len <= narrow.len
                && prefix::mask(narrow.addr, wide.len) == wide.addr
        }
    }
}

fn mark_covers(wide: Option<Mark>, narrow: Option<Mark>) -> bool {
    match (wide, narrow) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(wide), Some(narrow)) => {
            wide.mask & !narrow.mask == 0 && narrow.value & wide.mask == wide.value
        }
    }
}

/// Ports are compared as sets; even the set of all ports requires a protocol with ports.
fn ports_cover(wide: &[RangeInclusive<u16>], narrow: &[RangeInclusive<u16>]) -> bool {
    let is_inside = |part: &RangeInclusive<u16>| {
        // Sorted and disjoint: only the last range that starts no later can hold it.
        let after = wide.partition_point(|range| range.start() <= part.start());
        after > 0 && part.end() <= wide[after - 1].end()
    };
    wide.is_empty() || (!narrow.is_empty() && narrow.iter().all(is_inside))
}
