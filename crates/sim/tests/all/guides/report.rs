//! A report of `takt sim`, read.

use serde_json::Value;

/// What one policy and its peers made of the same traffic.
pub struct Report(Value);

/// What sources have of one scheduler.
pub struct Run<'a>(&'a Value);

/// What a source has of a scheduler.
#[derive(Debug)]
pub struct Got {
    pub offered_bps: f64,
    pub delivered_bps: f64,
    /// Of delays.
    pub p99_ns: u64,
    /// What the radio lost is not the scheduler's.
    pub dropped_packets: u64,
}

impl Report {
    pub fn new(json: &str) -> Self {
        let report: Value = serde_json::from_str(json).expect("JSON");
        // What a failed test shows.
        for run in report["variants"][0]["runs"].as_array().expect("a list") {
            println!("{}:", run["scheduler"]);
            for source in run["sources"].as_array().expect("a list") {
                println!("  {}: {:?}", source["name"], Got::new(source));
            }
        }
        Report(report)
    }

    pub fn rate_bps(&self) -> f64 {
        number(&self.0["variants"][0]["rate_bps"])
    }

    pub fn takt(&self) -> Run<'_> {
        self.run("takt")
    }

    pub fn cake(&self) -> Run<'_> {
        self.run("cake")
    }

    pub fn fifo(&self) -> Run<'_> {
        self.run("fifo")
    }

    fn run(&self, scheduler: &str) -> Run<'_> {
        let runs = &self.0["variants"][0]["runs"];
        Run(entry(runs, "scheduler", scheduler))
    }
}

impl Run<'_> {
    pub fn source(&self, name: &str) -> Got {
        Got::new(entry(&self.0["sources"], "name", name))
    }

    /// What these sources have together.
    pub fn bps(&self, sources: &[&str]) -> f64 {
        sources
            .iter()
            .map(|name| self.source(name).delivered_bps)
            .sum()
    }

    /// The error of a class's pace over all of the time.
    pub fn rate_error_ppm(&self, class: &str) -> f64 {
        number(&entry(&self.0["classes"], "name", class)["rate_error_ppm"])
    }

    /// The largest error of a distance between two packets of a class.
    pub fn spacing_error_ns(&self, class: &str) -> f64 {
        number(&entry(&self.0["classes"], "name", class)["spacing_error"]["max_ns"])
    }
}

impl Got {
    fn new(source: &Value) -> Self {
        let lost = |key: &str| source["lost"][key].as_u64().expect("a count");
        let dropped = [
            "queue_full_packets",
            "managed_packets",
            "beyond_horizon_packets",
        ];
        Got {
            offered_bps: number(&source["offered_bps"]),
            delivered_bps: number(&source["delivered_bps"]),
            // A source that never had its turn has no delay.
            p99_ns: source["delay"]["p99_ns"].as_u64().unwrap_or_default(),
            dropped_packets: dropped.into_iter().map(lost).sum(),
        }
    }

    /// Late by this much at p99 at most, and never dropped.
    #[track_caller]
    pub fn assert_prompt(&self, most_ns: u64) {
        assert!(self.p99_ns > 0 && self.p99_ns <= most_ns, "{self:?}");
        assert_eq!(self.dropped_packets, 0, "{self:?}");
        assert!(self.delivered_bps > 0.98 * self.offered_bps, "{self:?}");
    }
}

fn entry<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let mut entries = list.as_array().expect("a list").iter();
    let found = entries.find(|entry| entry[key] == name);
    found.unwrap_or_else(|| panic!("nothing of {name}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}
