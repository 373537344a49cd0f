//! `algo/download.h`.

use crate::{
    Group, WindowTerms,
    sys::{self, takt_download, takt_download_sample, takt_window_sample},
};

/// The state of one socket that receives.
#[derive(Debug, Clone, Copy, Default)]
pub struct Download(takt_download);

/// What a period of a download had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Downloaded {
    /// The most that the socket should advertise, in bytes.
    pub window_bytes: u64,
    /// What it received, in bytes per second, if its window limited it.
    pub limited_bytes_ps: Option<u64>,
}

impl Download {
    /// A period is over, and this was seen of the socket.
    pub fn update(
        &mut self,
        terms: &WindowTerms,
        group: &Group,
        now: &takt_download_sample,
    ) -> Downloaded {
        let mut sample = takt_window_sample::default();
        let (params, sum) = (terms.params(), group.sum());
        // SAFETY: valid structs; see the crate's documentation.
        let (window_bytes, counts) = unsafe {
            let bytes = sys::takt_download_update(&mut self.0, &params, &sum, now, &mut sample);
            (bytes, sys::takt_download_counts(&sample) != 0)
        };
        Downloaded {
            window_bytes,
            limited_bytes_ps: counts.then_some(sample.rate),
        }
    }
}
