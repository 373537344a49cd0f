//! What a fleet's engine, its hosts and its operators write: signed revisions, reports, selectors,
//! health and the counters that it is judged by.

use takt_fleet::{
    envelope::{self, Kind},
    health::{Health, Sample},
    keys::Signer,
    report::Report,
    revision::Revision,
    selector::Selector,
};

const FLEET: &str = "takt";

/// Reads the bytes as they come, and as what a pinned key signed.
pub fn run(bytes: &[u8]) {
    let signer = Signer::new(&[7; 32]);
    let pins = [signer.public()];
    // Nothing is trusted that the key did not sign, whatever it says.
    if let Ok(revision) = Revision::open(bytes, &pins, FLEET) {
        assert!(envelope::open(Kind::Revision, bytes).is_ok());
        revision
            .check()
            .expect("what is obeyed is within its bounds");
    }
    let _ = Report::open(bytes, FLEET);
    let signed = envelope::seal(Kind::Revision, bytes, &signer);
    if let Ok(revision) = Revision::open(&signed, &pins, FLEET) {
        let again = Revision::open(&revision.seal(&signer), &pins, FLEET);
        assert_eq!(
            again.as_ref(),
            Ok(&revision),
            "it is signed again as it was read"
        );
        let report = Report::open(&envelope::seal(Kind::Report, bytes, &signer), FLEET);
        let labels = report.map(|(_, report)| report.labels).unwrap_or_default();
        let _ = revision.wanted("host", &labels);
    }
    let sample = Sample::read(bytes).unwrap_or_default();
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if let Ok(selector) = text.parse::<Selector>() {
        let again = selector.to_string().parse::<Selector>();
        assert_eq!(again.as_ref(), Ok(&selector), "{text:?}");
    }
    if let Ok(health) = text.parse::<Health>() {
        let _ = health.holds(&Sample::default(), &sample);
        assert_eq!(health.to_string().parse::<Health>(), Ok(health));
    }
}
