//! Laying out the classifier's tuples and its hash table.

use takt_algo::sys::{
    TAKT_PROBES_MAX, TAKT_RULE_BUCKETS, TAKT_TUPLES, takt_rule, takt_rule_hash, takt_rules,
    takt_tuple,
};

use super::{
    error::PlanError,
    rules::{Bits, Entries, Found, key},
};

pub(super) fn lay_out(found: Found, rules: &mut takt_rules) -> Result<(), PlanError> {
    if found.len() > TAKT_TUPLES as usize {
        return Err(PlanError::TooManyTuples {
            needed: found.len(),
        });
    }
    let mut tuples: Vec<(Bits, Entries, u32)> = found
        .into_iter()
        .map(|(mask, entries)| {
            let first_order = entries.values().map(|target| target.order).min();
            (mask, entries, first_order.unwrap_or(u32::MAX))
        })
        .collect();
    // The search stops at the first tuple whose rules all come later.
    tuples.sort_unstable_by_key(|(mask, _, first_order)| (*first_order, *mask));

    rules.tuples = tuples.len() as u32;
    let mut next = 0;
    for (tuple, (mask, entries, first_order)) in tuples.into_iter().enumerate() {
        let mask = key(&mask);
        let has_addresses = u32::from(mask.src != [0; 4] || mask.dst != [0; 4]);
        rules.tuple[tuple] = takt_tuple {
            mask,
            first_order,
            has_addresses,
        };
        rules.need_addresses |= has_addresses;
        rules.need_who |= u32::from(mask.who != 0);
        for (value, target) in entries {
            rules.rule[next] = takt_rule {
                key: key(&value),
                order: target.order,
                class_id: target.class_id,
                tuple: tuple as u16,
            };
            next += 1;
            // SAFETY: a pure function of valid structs.
            let hash = unsafe {
                takt_rule_hash(&rules.rule[next - 1].key, &rules.tuple[tuple], tuple as u32)
            };
            place(hash, next as u16, &mut rules.bucket)?;
        }
    }
    Ok(())
}

/// Put rule `number` (its index + 1) into the first free bucket of its probe
/// sequence. At most a quarter of them is taken, so runs stay short.
fn place(
    hash: u32,
    number: u16,
    buckets: &mut [u16; TAKT_RULE_BUCKETS as usize],
) -> Result<(), PlanError> {
    let free = (0..TAKT_PROBES_MAX)
        .map(|probe| (hash.wrapping_add(probe) & (TAKT_RULE_BUCKETS - 1)) as usize)
        .find(|bucket| buckets[*bucket] == 0)
        .ok_or(PlanError::Crowded)?;
    buckets[free] = number;
    Ok(())
}
