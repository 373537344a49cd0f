//! The medium's guarantees to its driver.

mod aggregates;
mod properties;
mod rules;

use takt_medium::{Action, Medium, Profile, SnrPath};

const US: u64 = 1000;

fn network(profile: Profile, snrs: &[i32]) -> Medium {
    let mut medium = Medium::new(profile, 1);
    for &snr in snrs {
        medium.add_station(SnrPath::constant(snr));
    }
    medium
}

/// All actions without further inputs.
fn all(medium: &mut Medium) -> Vec<Action> {
    let mut actions = Vec::new();
    while let Some(now_ns) = medium.wake_ns() {
        while let Some(action) = medium.poll(now_ns) {
            actions.push(action);
        }
    }
    actions
}

fn at_us(action: &Action) -> u64 {
    match action {
        Action::Deliver { at_ns, .. } | Action::Done { at_ns, .. } => at_ns / US,
    }
}
