//! taktd's log: the journal with its fields where standard error leads there, otherwise lines on
//! standard error. One line for each thing that happened.

use std::{
    env,
    fmt::{self, Write as _},
    io::{self, Write as _},
    os::fd::AsFd,
};

use nix::sys::stat::fstat;
use thiserror::Error;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{
    Layer, Registry,
    filter::{LevelFilter, Targets},
    layer::{Context, SubscriberExt},
    util::SubscriberInitExt,
};

/// The environment variable with what is logged.
pub const VARIABLE: &str = "TAKT_LOG";

/// Before the names of fields in the journal.
const PREFIX: &str = "TAKT";

/// The value of [`VARIABLE`] is no filter.
#[derive(Debug, Error)]
#[error(
    "{VARIABLE}={text} is not a filter: {part:?} is not a level; write a level (off, error, warn, info, \
     debug, trace), or levels of modules such as warn,takt_daemon::devices=debug"
)]
pub struct BadFilter {
    text: String,
    part: String,
}

/// Log from now on, as [`VARIABLE`] says; without it what is of level `info` and above.
pub fn start() -> Result<(), BadFilter> {
    let filter = match env::var(VARIABLE) {
        Ok(text) if !text.is_empty() => parse(text)?,
        _ => Targets::new().with_default(LevelFilter::INFO),
    };
    // Fails if the process logs already.
    let _ = Registry::default()
        .with(layer().with_filter(filter))
        .try_init();
    Ok(())
}

fn parse(text: String) -> Result<Targets, BadFilter> {
    // A word alone would also be the name of a module, all of which is logged.
    let is_wrong = |part: &&str| {
        let level = part.rsplit('=').next().unwrap_or(part);
        // An empty one would be `error`.
        level.is_empty() || level.parse::<LevelFilter>().is_err()
    };
    let wrong = text.split(',').find(is_wrong).map(str::to_owned);
    match (wrong, text.parse()) {
        (None, Ok(targets)) => Ok(targets),
        (wrong, _) => Err(BadFilter {
            part: wrong.unwrap_or_else(|| text.clone()),
            text,
        }),
    }
}

fn layer() -> Box<dyn Layer<Registry> + Send + Sync> {
    if is_journal(env::var("JOURNAL_STREAM").ok().as_deref())
        && let Ok(journal) = tracing_journald::layer()
    {
        return journal
            .with_field_prefix(Some(PREFIX.to_owned()))
            .with_syslog_identifier("taktd".to_owned())
            .boxed();
    }
    Lines.boxed()
}

/// Whether standard error is the stream that systemd made for this service, which it names by
/// device and inode.
fn is_journal(stream: Option<&str>) -> bool {
    let Ok(found) = fstat(io::stderr().as_fd()) else {
        return false;
    };
    stream == Some(&format!("{}:{}", found.st_dev, found.st_ino))
}

/// Messages, which say all that the fields hold.
struct Lines;

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut line = Line(match *event.metadata().level() {
            Level::ERROR => "taktd: error: ".to_owned(),
            Level::WARN => "taktd: warning: ".to_owned(),
            _ => "taktd: ".to_owned(),
        });
        event.record(&mut line);
        line.0.push('\n');
        // In one write, so that lines of threads do not mix.
        let _ = io::stderr().write_all(line.0.as_bytes());
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            // Writing to a string does not fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_levels_and_levels_of_modules() {
        for good in ["debug", "off", "warn,takt_daemon::devices=trace"] {
            parse(good.to_owned()).unwrap();
        }
        for bad in ["loud", "takt_daemon=loud", "takt_daemon", "=,=", ","] {
            let told = parse(bad.to_owned()).unwrap_err().to_string();
            assert!(told.starts_with(&format!("TAKT_LOG={bad} is not a filter")));
        }
    }

    #[test]
    fn only_systemds_own_stream_is_the_journal() {
        let found = fstat(io::stderr().as_fd()).unwrap();
        let own = format!("{}:{}", found.st_dev, found.st_ino);
        assert!(is_journal(Some(&own)));
        assert!(!is_journal(Some("1:2")) && !is_journal(None));
    }
}
