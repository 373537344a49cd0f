use serde_json::json;

use crate::{args::Output, exit::Exit, print};

pub fn run(output: Output) -> Exit {
    let (reverted, foreign) = match takt_kernel::revert() {
        Ok(done) => done,
        Err(error) => return print::failure(output, (&error).into(), &error),
    };
    print::result(output, &json!({ "links": reverted }), |_| {
        if reverted.is_empty() {
            return "nothing to revert".to_owned();
        }
        let lines = reverted.iter().map(|link| match &link.left {
            None => format!("{}: given back\n", link.device),
            Some(why) => format!("{}: {why}\n", link.device),
        });
        lines.collect()
    });
    if foreign.is_empty() {
        Exit::Done
    } else {
        Exit::Changed
    }
}
