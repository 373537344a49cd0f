//! The match entries that cover a given one, without comparing it with each.
//!
//! As in tuple space search (Srinivasan, Suri, Varghese 1999): entries that constrain the same
//! fields to the same width share one hash table, and an entry is looked up once per table, reduced
//! to the fields of that table. Only port ranges are compared one by one. A policy has a handful of
//! shapes; one with thousands exceeds the budget, after which only equal entries are found.

use std::collections::HashMap;

use super::cover::covers;
use crate::value::prefix;
use crate::{Mark, Match, Prefix};

/// The cost of a hash lookup, in comparisons.
const LOOKUP_COST: u64 = 8;

/// The fields that an entry constrains, and the width of each.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Shape {
    family: bool,
    proto: bool,
    dscp: bool,
    src_len: Option<u8>,
    dst_len: Option<u8>,
    mark_mask: Option<u32>,
    src_ports: Ports,
    dst_ports: Ports,
    app: bool,
    user: bool,
    /// Names in the path.
    cgroup_depth: Option<usize>,
    unit: bool,
    registered: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Ports {
    Any,
    /// A single port is part of the key.
    One,
    /// Anything else is left to [`covers`].
    Several,
}

struct Table<'a> {
    shape: Shape,
    /// Numbers ascend within a row.
    rows: HashMap<Match, Vec<(usize, &'a Match)>>,
}

pub(super) struct TupleSpace<'a> {
    tables: Vec<Table<'a>>,
    table_by_shape: HashMap<Shape, usize>,
    number_by_terms: HashMap<&'a Match, usize>,
    budget: u64,
}

impl<'a> TupleSpace<'a> {
    pub fn new(budget: u64) -> Self {
        TupleSpace {
            tables: Vec::new(),
            table_by_shape: HashMap::new(),
            number_by_terms: HashMap::new(),
            budget,
        }
    }

    /// Numbers must ascend from call to call.
    pub fn insert(&mut self, number: usize, terms: &'a Match) {
        self.number_by_terms.entry(terms).or_insert(number);
        let shape = Shape::new(terms);
        let Some(key) = shape.reduce(terms) else {
            return; // Not possible: an entry has its own shape.
        };
        let table = *self.table_by_shape.entry(shape).or_insert_with(|| {
            let rows = HashMap::new();
            self.tables.push(Table { shape, rows });
            self.tables.len() - 1
        });
        let row = self.tables[table].rows.entry(key).or_default();
        row.push((number, terms));
    }

    /// The lowest number whose entry covers this one.
    pub fn first_covering(&mut self, terms: &Match) -> Option<usize> {
        let mut first = self.number_by_terms.get(terms).copied();
        for table in &self.tables {
            if self.budget == 0 {
                break;
            }
            self.budget -= 1;
            let Some(key) = table.shape.reduce(terms) else {
                continue;
            };
            self.budget = self.budget.saturating_sub(LOOKUP_COST);
            for (number, wide) in table.rows.get(&key).into_iter().flatten() {
                if self.budget == 0 || first.is_some_and(|first| first <= *number) {
                    break;
                }
                self.budget -= 1;
                if covers(wide, terms) {
                    first = Some(*number);
                }
            }
        }
        first
    }

    pub fn is_exhausted(&self) -> bool {
        self.budget == 0
    }
}

impl Shape {
    fn new(terms: &Match) -> Shape {
        let ports = |ranges: &[std::ops::RangeInclusive<u16>]| match ranges {
            [] => Ports::Any,
            [range] if range.start() == range.end() => Ports::One,
            _ => Ports::Several,
        };
        Shape {
            family: terms.family.is_some(),
            proto: terms.proto.is_some(),
            dscp: terms.dscp.is_some(),
            src_len: terms.src.map(|prefix| prefix.len),
            dst_len: terms.dst.map(|prefix| prefix.len),
            mark_mask: terms.mark.map(|mark| mark.mask),
            src_ports: ports(&terms.src_ports),
            dst_ports: ports(&terms.dst_ports),
            app: terms.app.is_some(),
            user: terms.user.is_some(),
            cgroup_depth: terms.cgroup.as_ref().map(|path| path.split('/').count()),
            unit: terms.unit.is_some(),
            registered: terms.registered,
        }
    }

    /// The entry with only as much in it as this shape constrains; `None` if it constrains less,
    /// so that no entry of this shape can cover it.
    fn reduce(&self, terms: &Match) -> Option<Match> {
        let own = Shape::new(terms);
        let has_all = (own.family || !self.family)
            && (own.proto || !self.proto)
            && (own.dscp || !self.dscp)
            && (self.src_len <= own.src_len)
            && (self.dst_len <= own.dst_len)
            && self.src_ports.may_cover(own.src_ports)
            && self.dst_ports.may_cover(own.dst_ports)
            && (own.app || !self.app)
            && (own.user || !self.user)
            && (self.cgroup_depth <= own.cgroup_depth)
            && (own.unit || !self.unit)
            && (own.registered || !self.registered);
        if !has_all {
            return None;
        }
        let shorten = |prefix: Option<Prefix>, len: Option<u8>| {
            let (prefix, len) = (prefix?, len?);
            Some(Prefix {
                addr: prefix::mask(prefix.addr, len),
                len,
            })
        };
        let single = |ports: Ports, ranges: &[_]| match ports {
            Ports::One => ranges.to_vec(),
            Ports::Any | Ports::Several => Vec::new(),
        };
        Some(Match {
            family: terms.family.filter(|_| self.family),
            proto: terms.proto.filter(|_| self.proto),
            dscp: terms.dscp.filter(|_| self.dscp),
            src: shorten(terms.src, self.src_len),
            dst: shorten(terms.dst, self.dst_len),
            mark: match self.mark_mask {
                None => None,
                Some(mask) => Some(reduce_mark(terms.mark?, mask)?),
            },
            src_ports: single(self.src_ports, &terms.src_ports),
            dst_ports: single(self.dst_ports, &terms.dst_ports),
            app: terms.app.clone().filter(|_| self.app),
            user: terms.user.clone().filter(|_| self.user),
            cgroup: match self.cgroup_depth {
                None => None,
                Some(depth) => Some(upper(terms.cgroup.as_ref()?, depth).to_owned()),
            },
            unit: terms.unit.clone().filter(|_| self.unit),
            registered: self.registered,
        })
    }
}

impl Ports {
    fn may_cover(self, narrow: Ports) -> bool {
        match self {
            Ports::Any => true,
            Ports::One => narrow == Ports::One,
            Ports::Several => narrow != Ports::Any,
        }
    }
}

/// The first names of a path.
fn upper(path: &str, depth: usize) -> &str {
    let end = path.match_indices('/').nth(depth - 1);
    &path[..end.map_or(path.len(), |(at, _)| at)]
}

fn reduce_mark(mark: Mark, mask: u32) -> Option<Mark> {
    let looks_at_all = mask & !mark.mask == 0;
    looks_at_all.then_some(Mark {
        value: mark.value & mask,
        mask,
    })
}
