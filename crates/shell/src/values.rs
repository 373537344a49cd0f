//! Values that shells complete.

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

/// The devices of this network namespace.
#[must_use]
pub fn devices() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let devices = nix::net::if_::if_nameindex().ok();
        let devices = devices.iter().flat_map(|devices| devices.iter());
        devices
            .map(|device| device.name().to_string_lossy().into_owned())
            .map(CompletionCandidate::new)
            .collect()
    })
}

/// These words, which are made when a shell asks.
#[must_use]
pub fn words(words: fn() -> Vec<String>) -> ArgValueCandidates {
    ArgValueCandidates::new(move || words().into_iter().map(CompletionCandidate::new).collect())
}
