//! Keys that only a class in the background may have.

use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use crate::read::{ReadClass, ReadLink};
use crate::{Code, Gate, PRIORITY_BACKGROUND};

pub(super) fn check(link: &ReadLink, findings: &mut Findings) {
    for class in link.classes.iter().filter(|class| !is_background(class)) {
        if let Some((_, span)) = &class.gate {
            let error = Diagnostic::error(
                Code::NotBackground,
                format!(
                    "class `{}` is not in the background, so no gate blocks it",
                    class.shown_name()
                ),
                "take the gate out, or give the class priority = \"background\"",
            );
            findings.add(error.at(span, "only of a class in the background"));
        }
        if let Some((_, span)) = &class.receive {
            let error = Diagnostic::error(
                Code::NotBackground,
                format!(
                    "class `{}` is not in the background, so incoming packets go straight on",
                    class.shown_name()
                ),
                "take the key out, or give the class priority = \"background\"",
            );
            findings.add(error.at(span, "only of a class in the background"));
        }
    }
}

/// The gate of the class; `None` if it is not in the background.
pub(super) fn gate(class: &ReadClass) -> Option<Gate> {
    let said = class.gate.as_ref().map(|(gate, _)| *gate);
    is_background(class).then(|| said.unwrap_or(Gate::Sender))
}

/// Whether incoming packets wait, too.
pub(super) fn receive(class: &ReadClass) -> bool {
    let said = class.receive.as_ref().map(|(receive, _)| *receive);
    is_background(class) && said.unwrap_or(true)
}

fn is_background(class: &ReadClass) -> bool {
    class.share.priority() == PRIORITY_BACKGROUND
}
