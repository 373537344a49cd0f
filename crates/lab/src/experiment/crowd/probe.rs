//! Every round trip that TCP measures, by the kernel's own tracepoint `tcp_probe`.
//!
//! With each acknowledgement it reports the flow's smoothed round trip (RFC 6298). The
//! measurement has added an eighth of its difference to it, so the measurement follows from two
//! successive values, to 8 µs. An acknowledgement without a measurement leaves the value
//! unchanged.

use std::collections::BTreeMap;
use std::fs;

use crate::experiment::error::{Result, WhileDoing};

const FOLDER: &str = "/sys/kernel/tracing";
const EVENT: &str = "events/tcp/tcp_probe";
/// For minutes of a full air.
const BUFFER_KB: &str = "32768";
/// A sender of data receives only acknowledgements.
const FILTER: &str = "data_len == 0";

/// It records until it is dropped.
pub struct Probe(());

/// The records of one flow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    pub round_trips_us: Vec<u64>,
    /// The congestion window at each acknowledgement, segments.
    pub windows: Vec<u64>,
    smoothed_us: u64,
}

impl Probe {
    pub fn start() -> Result<Self> {
        write("trace", "")?;
        write("buffer_size_kb", BUFFER_KB)?;
        write(&format!("{EVENT}/filter"), FILTER)?;
        write(&format!("{EVENT}/enable"), "1")?;
        Ok(Self(()))
    }

    /// By flow: the sender's end and the receiver's, as the kernel writes them.
    pub fn finish(self) -> Result<BTreeMap<(String, String), Told>> {
        drop(self);
        let path = format!("{FOLDER}/trace");
        let text = fs::read_to_string(path).doing("read what TCP told")?;
        write("trace", "")?;
        Ok(read(&text))
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        if let Err(error) = write(&format!("{EVENT}/enable"), "0") {
            eprintln!("while cleaning up: {error}");
        }
    }
}

fn write(file: &str, text: &str) -> Result<()> {
    fs::write(format!("{FOLDER}/{file}"), text).doing("have the kernel trace TCP")
}

fn read(text: &str) -> BTreeMap<(String, String), Told> {
    let mut flows: BTreeMap<(String, String), Told> = BTreeMap::new();
    for line in text.lines().filter(|line| line.contains("tcp_probe:")) {
        let field = |name: &str| {
            let mut words = line.split_ascii_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        let number = |name: &str| field(name)?.parse::<u64>().ok();
        if let (Some(from), Some(to)) = (field("src"), field("dest"))
            && let (Some(window), Some(smoothed_us)) = (number("snd_cwnd"), number("srtt"))
        {
            let flow = flows.entry((from.to_owned(), to.to_owned())).or_default();
            flow.hear(window, smoothed_us);
        }
    }
    flows
}

impl Told {
    fn hear(&mut self, window: u64, smoothed_us: u64) {
        let before_us = std::mem::replace(&mut self.smoothed_us, smoothed_us);
        self.windows.push(window);
        if before_us != 0 && before_us != smoothed_us {
            let round_trip_us = (before_us + 8 * smoothed_us).saturating_sub(8 * before_us);
            self.round_trips_us.push(round_trip_us);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_read_off_what_they_changed() {
        // As tcp_rtt_estimator() smooths, in eighths of a microsecond.
        let measured_us = [20_000, 20_000, 31_000, 18_500, 18_500, 250_000];
        let mut eighths = 8 * measured_us[0];
        let mut text = String::from("# tracer: nop\n");
        for measured in measured_us {
            eighths = eighths + measured - eighths / 8;
            text += &format!(
                "<...>-1 [000] ..s1. 3.1: tcp_probe: family=AF_INET src=10.8.0.11:4000 \
                 dest=10.8.0.1:5001 mark=0x0 data_len=0 snd_nxt=0x1 snd_una=0x2 snd_cwnd=4 \
                 ssthresh=7 snd_wnd=65536 srtt={} rcv_wnd=1 sock_cookie=7\n",
                eighths / 8
            );
        }
        let flows = read(&text);
        let key = ("10.8.0.11:4000".to_owned(), "10.8.0.1:5001".to_owned());
        let told = &flows[&key];
        assert_eq!(told.windows, [4; 6]);
        // The second one is unchanged.
        for (found, wanted) in told.round_trips_us.iter().zip(&measured_us[2..]) {
            assert!(found.abs_diff(*wanted) <= 8, "{found} is not {wanted}");
        }
        assert_eq!(told.round_trips_us.len(), 4);
    }

    #[test]
    fn other_lines_tell_nothing() {
        assert!(read("tcp_probe: src=1 dest=2\nnonsense\n").is_empty());
    }
}
