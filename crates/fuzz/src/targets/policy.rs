//! A policy's text: it is refused with positions in it, or can be planned and means the same again.

use takt_planner::backend::{Kernel, offers};
use takt_policy::parse;

/// Rendered diagnostics are bounded, whatever the policy.
const RENDERED_MAX_BYTES: usize = 100_000;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match parse("any.toml", text) {
        Ok(policy) => {
            assert_eq!(parse("any.toml", text).ok().as_ref(), Some(&policy));
            let _ = policy.warnings.render(true);
            takt_planner::unplannable(&policy.links).for_each(drop);
            let kernels = ["5.15.0", "6.1.0", "6.18.0"].map(Kernel::of_release);
            for kernel in kernels.iter().flatten() {
                for link in &policy.links {
                    assert!(!offers(link, kernel).is_empty());
                }
            }
        }
        Err(found) => {
            let rendered = found.render(false);
            assert!(rendered.len() < RENDERED_MAX_BYTES);
            assert!(!rendered.contains(|c: char| c.is_control() && c != '\n'));
            let lines = text.split('\n').count() as u64;
            let found = found.to_json();
            for entry in found.as_array().into_iter().flatten() {
                let line = entry["line"].as_u64();
                assert!(line.is_none_or(|line| (1..=lines).contains(&line)));
            }
        }
    }
}
