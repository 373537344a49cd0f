//! A traffic file's text: it is refused with positions in it, or means the same again.

use takt_policy::traffic::{FLOWS_MAX, STATIONS_MAX, parse};

/// Rendered diagnostics are bounded, whatever the file.
const RENDERED_MAX_BYTES: usize = 100_000;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match parse("any.toml", text) {
        Ok(traffic) => {
            assert_eq!(parse("any.toml", text).ok().as_ref(), Some(&traffic));
            let flows: u64 = traffic
                .sources
                .iter()
                .map(|source| u64::from(source.flows))
                .sum();
            assert!((1..=FLOWS_MAX).contains(&flows));
            assert_eq!(
                traffic.device.medium.is_some(),
                !traffic.stations.is_empty()
            );
            assert!(traffic.stations.len() <= STATIONS_MAX);
            for station in &traffic.stations {
                let rises = station
                    .snr_centidb
                    .windows(2)
                    .all(|two| two[0].0 < two[1].0);
                assert!(rises && !station.snr_centidb.is_empty());
            }
        }
        Err(found) => {
            let rendered = found.render(false);
            assert!(rendered.len() < RENDERED_MAX_BYTES);
            assert!(!rendered.contains(|c: char| c.is_control() && c != '\n'));
        }
    }
}
