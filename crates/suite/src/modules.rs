//! The laboratory's modules, and how each is run alone.

use std::collections::BTreeSet;

/// The first part of each name: a module, or a test that is in none.
pub fn modules<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let first = |name: &'a str| name.split_once("::").map_or(name, |(first, _)| first);
    names.into_iter().map(first).collect()
}

/// libtest's arguments for some tests, given as `module::` or `module::test`. Its filters look for a
/// text anywhere in a name, so other modules are left out whose names end like a wanted one's.
pub fn only(wanted: &[String], all: &BTreeSet<&str>) -> Vec<String> {
    let wanted_modules = modules(wanted.iter().map(String::as_str));
    let mut arguments = wanted.to_vec();
    for other in all.difference(&wanted_modules) {
        if wanted_modules.iter().any(|module| other.ends_with(module)) {
            arguments.extend(["--skip".to_owned(), format!("{other}::")]);
        }
    }
    arguments
}

/// The filter for all tests of a module. A test that is in none has its name.
pub fn whole(module: &str, names: &[&str]) -> String {
    if names.contains(&module) {
        module.to_owned()
    } else {
        format!("{module}::")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["flood::a", "neighbours_flood::c", "every_file", "gap::d::e"];

    #[test]
    fn each_module_is_run_alone() {
        let all = modules(NAMES);
        let names: Vec<_> = all.iter().copied().collect();
        assert_eq!(names, ["every_file", "flood", "gap", "neighbours_flood"]);
        let only = |wanted: &[&str]| {
            let wanted: Vec<_> = wanted.iter().map(|&it| it.to_owned()).collect();
            only(&wanted, &all).join(" ")
        };
        assert_eq!(only(&["flood::"]), "flood:: --skip neighbours_flood::");
        assert_eq!(only(&["gap::d"]), "gap::d");
        let both = ["flood::", "neighbours_flood::c"];
        assert_eq!(only(&both), both.join(" "));
    }

    #[test]
    fn a_test_without_a_module_has_its_name() {
        assert_eq!(whole("flood", &NAMES), "flood::");
        assert_eq!(whole("every_file", &NAMES), "every_file");
    }
}
