//! `takt fleet diff`.

use std::path::Path;

use serde_json::json;
use similar::TextDiff;
use takt_fleet::{
    operator::{Error, Operator},
    selector::Selector,
};

use super::{args::Common, exit::Exit, fail, operator, print};

pub async fn run(common: &Common, file: &Path, to: Option<&Selector>) -> Result<Exit, Error> {
    let loaded = match takt_policy::load(file) {
        Ok(loaded) => loaded,
        Err(found) => return Ok(fail(common.output, Exit::Invalid, &found.render(false))),
    };
    let mut operator = operator(common, false).await?;
    let current = operator.current().await?;
    let to = Operator::named(&current.revision, to)?;
    let own = current.revision.assignments.iter().find(|own| own.to == to);
    let target = own.map(|own| &own.target);
    let text = match target.and_then(|target| target.policy) {
        Some(digest) => operator.policy(&digest).await?,
        None => String::new(),
    };
    let name = format!(
        "{to} (revision {})",
        target.map_or(0, |target| target.since)
    );
    let diff = TextDiff::from_lines(&text, &loaded.text);
    let diff = diff.unified_diff().header(&name, &loaded.name).to_string();
    let value = json!({ "to": to, "equal": text == loaded.text, "diff": diff });
    print(common.output, &value, || {
        if text == loaded.text {
            format!("{to}: the policy is the same\n")
        } else {
            diff
        }
    });
    Ok(Exit::Done)
}
