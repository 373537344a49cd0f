//! Replays the vectors on the native build. The lab tests of takt replay them in the kernel.

use takt_vectors::{Native, files};

#[test]
fn the_native_build_answers_as_recorded() {
    for file in files() {
        let steps = file.replay(&mut Native::new()).unwrap_or_else(|failure| {
            panic!("{failure}");
        });
        assert!(steps > 0);
    }
}

#[test]
fn the_files_are_what_would_be_recorded_today() {
    for file in files() {
        let today = file.record().expect("recorded");
        assert!(
            today == file.text,
            "algo/vectors/{} is stale: cargo run -p takt-vectors --example record",
            file.name
        );
    }
}
