//! What the keys of policies mean, for those who read one in an output.

use crate::{read::place::Place, schema::description};

/// The units that JSON adds to a key's name.
const UNITS: [&str; 9] = [
    "_bps", "_ns", "_ppm", "_milli", "_bytes", "_packets", "_centidb", "_us", "_ms",
];

/// What a key means, for each table that has it; none: there is no such key. Also by the name that
/// `takt check --output json` has for it, with a unit or in the plural.
pub fn meanings(name: &str) -> Vec<String> {
    let without_unit = UNITS.iter().find_map(|unit| name.strip_suffix(unit));
    let singular = name
        .strip_suffix("es")
        .into_iter()
        .chain(name.strip_suffix('s'));
    let names = [name].into_iter().chain(without_unit).chain(singular);
    let mut found = names.map(of_key);
    found.find(|found| !found.is_empty()).unwrap_or_default()
}

fn of_key(name: &str) -> Vec<String> {
    let in_place = |place: &Place| {
        let key = place.schema().keys.iter().find(|key| key.name == name)?;
        Some(format!(
            "`{name}` in {}: {}.",
            place.shown(),
            description(key)
        ))
    };
    Place::ALL.iter().filter_map(in_place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_as_they_are_written_and_as_json_names_them() {
        assert!(meanings("per_flow")[0].starts_with("`per_flow` in a [[link.DEV.class]]: "));
        assert!(
            meanings("rate_bps").len() > 1,
            "a link, a tenant and a class have one"
        );
        assert!(!meanings("classes").is_empty());
        assert!(!meanings("queue_packets").is_empty());
        assert!(meanings("zeal").is_empty());
    }
}
