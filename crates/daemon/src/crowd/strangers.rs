//! An access point's count of terminals that upload through its link and belong to no group.

use takt_host::uploads::Uploads;
use takt_wlan::crowd::{Aggregator, StrangerCounter, Strangers};

/// How often uploads are looked at.
const COUNT_NS: u64 = 200_000_000;

/// This host, as the access point of its group.
#[derive(Default)]
pub(super) struct AccessPoint {
    /// `None`: there is no link, or one on a backend that reads no acknowledgements.
    uploads: Option<Uploads>,
    counter: StrangerCounter,
    due_ns: u64,
}

impl AccessPoint {
    /// The link may have changed: use the current one.
    pub fn look(&mut self, device: &str) -> Result<(), String> {
        if self.uploads.as_ref().is_none_or(|uploads| !uploads.stand()) {
            let opened = Uploads::open(device).map_err(|error| error.to_string());
            self.uploads = opened?;
        }
        Ok(())
    }

    /// Counts who uploads beside this aggregator's members, a few times a second.
    pub fn count(&mut self, now_ns: u64, aggregator: &mut Aggregator) {
        if now_ns < self.due_ns {
            return;
        }
        self.due_ns = now_ns + COUNT_NS;
        let uploads = self.uploads.as_ref().filter(|uploads| uploads.stand());
        let strangers = match uploads {
            Some(uploads) => self.counter.look(
                now_ns,
                &uploads.list(),
                aggregator.members(),
                aggregator.interval_ns(),
            ),
            None => {
                self.counter = StrangerCounter::default();
                Strangers::default()
            }
        };
        aggregator.count_strangers(strangers);
    }
}
