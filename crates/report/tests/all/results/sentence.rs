//! Figures within a sentence.

use super::runs::Runs;
use super::table::{Figure, Show};

pub struct Sentence {
    pub experiment: &'static str,
    /// With `{}` for each figure.
    pub words: &'static str,
    /// Scheduler and case of each.
    pub figures: Vec<(&'static str, &'static str, Figure)>,
}

impl Sentence {
    pub fn text(&self, runs: &Runs, show: Show) -> String {
        let mut pieces = self.words.split("{}");
        let mut text = pieces.next().unwrap_or_default().to_owned();
        for ((scheduler, case, figure), piece) in self.figures.iter().zip(pieces) {
            let written = figure.of(runs, scheduler, &[(*case).to_owned()], show);
            let written =
                written.unwrap_or_else(|| panic!("{scheduler}, {case}: no {}", figure.metric));
            text += &written;
            text += piece;
        }
        text
    }
}
