//! What is heard of a scheduler, and why.

use serde_json::json;
use takt_report::nearest_rank;

use super::server::Server;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::metrics::{Metrics, metrics};

/// 64 frames at 48 kHz are a third of this.
const THREE_PERIODS_NS: u64 = 4_000_000;

/// What has been counted until some moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    /// Of the driver and of clients.
    xruns: u64,
    /// How long threads of the audio programs were ready and did not run.
    waited_ns: u64,
}

impl Reading {
    pub fn take(server: &Server, processes: &[u32]) -> Result<Self> {
        let mut waited_ns = 0;
        for process in processes {
            waited_ns += of_process(*process).doing("read how long threads waited")?;
        }
        Ok(Self {
            xruns: server.xruns(),
            waited_ns,
        })
    }
}

fn of_process(process: u32) -> std::io::Result<u64> {
    let mut sum_ns = 0;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        sum_ns += waited_in(&text).ok_or(std::io::ErrorKind::InvalidData)?;
    }
    Ok(sum_ns)
}

/// The second number: the first is the time in which the thread ran.
fn waited_in(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

/// `calls` are those of a client's thread in the window, between two readings.
pub fn heard(calls: &[(u64, u64)], begun: &Reading, ended: &Reading) -> Metrics {
    let off_ns = deviations(calls);
    let of = |per_mille| json!(nearest_rank(&off_ns, per_mille));
    let waited_ns = ended.waited_ns - begun.waited_ns;
    metrics([
        ("xruns_count", json!(ended.xruns - begun.xruns)),
        ("cycles_count", json!(calls.len())),
        ("jitter_p50_ns", of(500)),
        ("jitter_p99_ns", of(990)),
        ("jitter_p999_ns", of(999)),
        ("jitter_max_ns", of(1000)),
        (
            "held_up_mean_ns",
            json!(waited_ns / calls.len().max(1) as u64),
        ),
    ])
}

/// By how much each call came sooner or later after the one before than by a period, sorted.
fn deviations(calls: &[(u64, u64)]) -> Vec<u64> {
    let mut off_ns: Vec<u64> = calls
        .windows(2)
        .map(|pair| (3 * (pair[1].0 - pair[0].0)).abs_diff(THREE_PERIODS_NS) / 3)
        .collect();
    off_ns.sort_unstable();
    off_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_compared_with_the_period() {
        let calls = [0, 1_333_333, 2_676_667, 3_999_999].map(|start_ns| (start_ns, start_ns + 5));
        assert_eq!(deviations(&calls), [0, 10_000, 10_001]);
        assert!(deviations(&calls[..1]).is_empty());
    }

    #[test]
    fn figures_are_those_between_the_readings() {
        let begun = Reading {
            xruns: 3,
            waited_ns: 100,
        };
        let ended = Reading {
            xruns: 5,
            waited_ns: 500,
        };
        let row = heard(&[(0, 1), (1_333_333, 1_333_334)], &begun, &ended);
        assert_eq!(row["xruns_count"], json!(2));
        assert_eq!(row["held_up_mean_ns"], json!(200));
    }

    #[test]
    fn a_threads_wait_is_the_second_number() {
        assert_eq!(waited_in("68025423 7094 4222\n"), Some(7_094));
        assert_eq!(waited_in(""), None);
    }
}
