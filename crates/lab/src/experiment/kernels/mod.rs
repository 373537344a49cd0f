//! Which backend does each link of the examples get on each kernel, and does it keep its rates?
//!
//! A row is an example's link on the kernel of the boot. What `takt check` foretells is compared
//! with what `takt apply` did: on this very kernel, and for any kernel of its release, which is
//! taken to be built with everything.

mod asked;
mod example;
mod left;

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;
use takt_report::{Row, achieved_bps, rate_error_ppm};

use self::asked::ask;
use self::example::{EXAMPLES, Example};
use super::bench::Bench;
use super::command;
use super::error::{Result, WhileDoing};
use super::metrics::metrics;
use super::pair::{self, A};
use super::sink::Sink;
use super::source::Source;
use super::traffic::{Traffic, receive_clock_ns};

/// The most packets that each class keeps queued.
const BACKLOG: u32 = 8;
const WARM_UP: Duration = Duration::from_millis(500);

pub fn run(bench: &Bench) -> Result<Vec<Row>> {
    let system = nix::sys::utsname::uname().doing("ask for the kernel's release")?;
    let release = system.release().to_string_lossy().into_owned();
    let mut rows = Vec::new();
    for example in &EXAMPLES {
        eprintln!("kernels: {}, {}", series(&release), example.name);
        let others = Others::make(example)?;
        rows.extend(try_example(bench, example, &release)?);
        others.remove()?;
    }
    Ok(rows)
}

/// `6.1` of `6.1.0-53-cloud-amd64`.
fn series(release: &str) -> String {
    let numbers: Vec<&str> = release.splitn(3, ['.', '-', '+']).take(2).collect();
    numbers.join(".")
}

fn try_example(bench: &Bench, example: &Example, release: &str) -> Result<Vec<Row>> {
    let takt = bench.takt();
    let dir = tempfile::tempdir().doing("make a directory for a policy")?;
    let path = dir.path().join("policy.toml");
    fs::write(&path, example.policy()).doing("write a policy")?;
    make_keys(takt, dir.path())?;
    let policy = &*path.to_string_lossy();

    let _mtu = pair::with_mtu(example.mtu_bytes())?;
    let here = ask(takt, &["check", "--explain", policy])?;
    let by_release = ask(takt, &["check", "--explain", "--kernel", release, policy])?;
    let applied = ask(takt, &["apply", policy])?;
    let status = ask(takt, &["status"])?;
    let error_percent = if applied.is_done {
        Some(rate_error_max_percent(example, bench.short)?)
    } else {
        None
    };
    ask(takt, &["revert"])?;
    let left = left::count(example)?;

    let links = example.devices().zip(example.cases());
    let row = |(device, case)| {
        let got = status.backend_of(device);
        let mut figures = metrics([
            ("backend", json!(got.unwrap_or("none"))),
            ("foretold", json!(got == here.backend_of(device))),
            (
                "foretold_by_release",
                json!(got == by_release.backend_of(device)),
            ),
            // Only the cable has traffic.
            (
                "rate_error_max_percent",
                json!(error_percent.filter(|_| device == pair::DEVICE)),
            ),
            ("left_count", json!(left)),
        ]);
        if let Some(error) = applied.error() {
            figures.extend(metrics([
                ("refused_for", json!(here.refused_for(device))),
                ("error", json!(error)),
            ]));
        }
        Row {
            scheduler: format!("Linux {}", series(release)),
            case,
            metrics: figures,
        }
    };
    Ok(links.map(row).collect())
}

/// Those that some examples name, beside the policy.
fn make_keys(takt: &Path, dir: &Path) -> Result<()> {
    for part in ["radio", "crowd"] {
        let file = dir.join(format!("{part}.key"));
        command::run(takt, &[part, "key", &file.to_string_lossy()])?;
    }
    Ok(())
}

/// Of the class that is farthest from its rate.
fn rate_error_max_percent(example: &Example, short: bool) -> Result<f64> {
    let duration = Duration::from_secs(if short { 1 } else { 3 });
    let shape = example.shape();
    let sinks = Sink::open(&shape, WARM_UP + duration)?;
    let sources = Source::open(&shape, BACKLOG)?;
    let mut traffic = Traffic::new(&shape, sources, sinks)?;
    // Not `run`, whose idle time not every kernel tells.
    traffic.pump(WARM_UP)?;
    let start_ns = receive_clock_ns()?;
    traffic.pump(duration)?;
    let end_ns = receive_clock_ns()?;
    let flows = traffic.finish()?;
    let packet_bits = 8 * u64::from(example.charged_bytes());
    let errors = shape.classes.iter().zip(&flows).map(|(class, flow)| {
        let arrivals_ns = flow.arrivals_between(start_ns, end_ns);
        let rate_bps = arrivals_ns.first().zip(arrivals_ns.last());
        let rate_bps = rate_bps.and_then(|(first_ns, last_ns)| {
            let bits = packet_bits * (arrivals_ns.len() as u64 - 1);
            achieved_bps(*first_ns, *last_ns, bits)
        });
        // One whose packets do not arrive is off by all.
        let error_ppm = rate_error_ppm(rate_bps.unwrap_or_default(), class.rate_bps as f64);
        error_ppm.unwrap_or_default().abs() / 1e4
    });
    Ok(errors.fold(0.0, f64::max))
}

/// Devices of an example beyond the cable.
struct Others(Vec<&'static str>);

impl Others {
    fn make(example: &Example) -> Result<Self> {
        let made: Self = Self(example.others().collect());
        for device in &made.0 {
            let script = format!(
                "link add {device} type veth peer name far\nlink set far up\nlink set {device} up\n"
            );
            A.run(|| command::ip_batch(&script))?;
        }
        Ok(made)
    }

    fn remove(self) -> Result<()> {
        for device in self.0 {
            A.run(|| command::run("ip", &["link", "del", device]))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_a_releases_first_two_numbers() {
        for (release, expected) in [
            ("6.1.0-53-cloud-amd64", "6.1"),
            ("6.18.15+deb13-cloud-amd64", "6.18"),
            ("7.3-rc1", "7.3"),
        ] {
            assert_eq!(series(release), expected);
        }
    }
}
