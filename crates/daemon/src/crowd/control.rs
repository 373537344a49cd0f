//! The congestion control's tables in the kernel.

use takt_algo::Group;
use takt_host::{Crowd, Downloaded};
use takt_wlan::crowd::Counts;

/// Where taktd reads what flows do, and writes what the group has.
pub(super) trait Control {
    /// `None`: there are no bounds any more.
    fn counts(&self) -> Result<Option<Counts>, String>;
    /// Valid until the next call, or for a few periods.
    fn set(&self, group: &Group, own_flows: u32) -> Result<(), String>;
    /// Until they are freed, and so for a period each time.
    fn bound_downloads(&self, group: &Group, own_flows: u32) -> Result<Downloaded, String>;
    fn free_downloads(&self) -> Result<(), String>;
}

impl Control for Crowd {
    fn counts(&self) -> Result<Option<Counts>, String> {
        let usage = self.usage().map_err(|error| error.to_string())?;
        Ok(usage.map(|usage| Counts {
            delivered_bytes: usage.delivered_bytes,
            passed_us: usage.passed_us,
            limited_us: usage.limited_us,
            rtt_sum_us: usage.rtt_sum_us,
            rtt_min_sum_us: usage.rtt_min_sum_us,
            stand_sum_us: usage.stand_sum_us,
            rtt_count: usage.rtt_count,
        }))
    }

    fn set(&self, group: &Group, own_flows: u32) -> Result<(), String> {
        let set = Crowd::set(self, group, own_flows);
        // Missing bounds are noticed when flows are counted.
        set.map(drop).map_err(|error| error.to_string())
    }

    fn bound_downloads(&self, group: &Group, own_flows: u32) -> Result<Downloaded, String> {
        Crowd::bound_downloads(self, group, own_flows).map_err(|error| error.to_string())
    }

    fn free_downloads(&self) -> Result<(), String> {
        Crowd::free_downloads(self).map_err(|error| error.to_string())
    }
}

pub(super) fn open() -> Result<Box<dyn Control>, String> {
    match Crowd::open() {
        Ok(Some(crowd)) => Ok(Box::new(crowd)),
        Ok(None) => Err(NO_BOUNDS.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) const NO_BOUNDS: &str = "the congestion control is not there; apply the policy again";
