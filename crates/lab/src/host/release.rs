//! Selects a kernel. Decisions only: names in, a name out.

use std::cmp::Ordering;

/// Names for `--kernel` beyond the beginning of a release. The newest of the flavour for
/// virtual machines, which is small.
pub const NEWEST: &str = "newest";
/// The newest of the flavour for all machines, which alone has wireless devices; of those that have
/// BPF qdiscs, since one that lies here is preferred.
pub const WIRELESS: &str = "wireless";
const WIRELESS_FROM: [u32; 2] = [6, 17];
/// The newest with PREEMPT_RT.
pub const REALTIME: &str = "realtime";
/// The default series.
pub const DEFAULT_SERIES: &str = "6.18";

/// The machines that a kernel is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// Virtual ones: small.
    Cloud,
    /// All of them, with wireless devices.
    All,
    /// All of them, with PREEMPT_RT.
    Realtime,
}

impl Flavour {
    pub fn from_release(release: &str) -> Self {
        if release.contains("-cloud-") {
            Self::Cloud
        } else if release.contains("-rt-") {
            Self::Realtime
        } else {
            Self::All
        }
    }
}

/// The newest of `releases` that `spec` means. A kernel for all machines is three times the
/// download, so only `wireless`, `realtime` and its full name select it.
pub fn choose<'a>(spec: &str, releases: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    releases
        .into_iter()
        .filter(|release| match Flavour::from_release(release) {
            Flavour::Cloud => spec == NEWEST || is_prefix(spec, release),
            Flavour::All => {
                let is_new = version(release).as_slice() >= WIRELESS_FROM.as_slice();
                (spec == WIRELESS && is_new) || spec == *release
            }
            Flavour::Realtime => spec == REALTIME || spec == *release,
        })
        .max_by(|a, b| by_age(a, b))
}

/// `6.18` begins `6.18.15+deb13-cloud-amd64`; `6.1` does not.
fn is_prefix(spec: &str, release: &str) -> bool {
    !spec.is_empty()
        && release.strip_prefix(spec).is_some_and(|rest| {
            let cuts_a_number = spec.ends_with(|c: char| c.is_ascii_digit())
                && rest.starts_with(|c: char| c.is_ascii_digit());
            !cuts_a_number
        })
}

/// Older first: numbers by value, the rest as text.
pub fn by_age(a: &str, b: &str) -> Ordering {
    version(a).cmp(&version(b)).then_with(|| a.cmp(b))
}

/// `[6, 18, 15]` for `6.18.15+deb13-cloud-amd64`, `[6, 1, 0, 53]` for `6.1.0-53-cloud-amd64`.
fn version(release: &str) -> Vec<u32> {
    let is_separator = |c| c == '.' || c == '-';
    let end = release
        .find(|c: char| !is_separator(c) && !c.is_ascii_digit())
        .unwrap_or(release.len());
    release[..end]
        .split(is_separator)
        .map_while(|n| n.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASES: [&str; 11] = [
        "6.12.57+deb13-cloud-amd64",
        "6.18.9+deb13-cloud-amd64",
        "6.18.15+deb13-cloud-amd64",
        "6.1.0-9-cloud-amd64",
        "6.1.0-53-cloud-amd64",
        "7.3.4+deb13-cloud-amd64",
        "7.2.12+deb13-cloud-amd64",
        "7.3.4+deb13-amd64",
        "7.2.12+deb13-amd64",
        "6.12.117+deb13-rt-amd64",
        "6.1.0-53-rt-amd64",
    ];

    #[test]
    fn a_series_means_its_newest_release() {
        assert_eq!(choose("6.18", RELEASES), Some("6.18.15+deb13-cloud-amd64"));
        assert_eq!(choose("7", RELEASES), Some("7.3.4+deb13-cloud-amd64"));
    }

    #[test]
    fn numbers_are_never_cut() {
        assert_eq!(choose("6.1", RELEASES), Some("6.1.0-53-cloud-amd64"));
        assert_eq!(choose("6.18.1", RELEASES), None);
        assert_eq!(choose("6.1.0-5", RELEASES), None);
    }

    #[test]
    fn a_release_means_itself() {
        for release in RELEASES {
            assert_eq!(choose(release, RELEASES), Some(release));
        }
        assert_eq!(choose("6.18.9", RELEASES), Some("6.18.9+deb13-cloud-amd64"));
    }

    #[test]
    fn newest_compares_numbers_not_text() {
        assert_eq!(choose(NEWEST, RELEASES), Some("7.3.4+deb13-cloud-amd64"));
        assert_eq!(
            choose(NEWEST, RELEASES[..3].iter().copied()),
            Some("6.18.15+deb13-cloud-amd64")
        );
    }

    #[test]
    fn realtime_is_the_newest_with_preempt_rt_and_nothing_else_means_one() {
        assert_eq!(choose(REALTIME, RELEASES), Some("6.12.117+deb13-rt-amd64"));
        assert_eq!(choose(REALTIME, RELEASES[..9].iter().copied()), None);
        assert_eq!(choose("6.12", RELEASES), Some("6.12.57+deb13-cloud-amd64"));
        assert_eq!(
            choose("6.1.0-53-rt-amd64", RELEASES),
            Some("6.1.0-53-rt-amd64")
        );
    }

    #[test]
    fn wireless_is_the_newest_for_all_machines_and_nothing_else_means_one() {
        assert_eq!(choose(WIRELESS, RELEASES), Some("7.3.4+deb13-amd64"));
        assert_eq!(choose(WIRELESS, RELEASES[..7].iter().copied()), None);
        assert_eq!(choose(WIRELESS, ["6.12.57+deb13-amd64"]), None);
        assert_eq!(
            choose("7.3.4+deb13", RELEASES),
            Some("7.3.4+deb13-cloud-amd64")
        );
        assert_eq!(
            choose("7.2.12+deb13-amd64", RELEASES),
            Some("7.2.12+deb13-amd64")
        );
    }

    #[test]
    fn nothing_means_nothing() {
        assert_eq!(choose("", RELEASES), None);
        assert_eq!(choose("5.10", RELEASES), None);
        assert_eq!(choose(NEWEST, []), None);
    }
}
