use serde_json::json;
use takt_policy::Code;

use crate::{args::Output, exit::Exit, print};

pub fn run(code: &str, output: Output) -> Exit {
    let Some(found) = Code::find(code) else {
        let known: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        let message = format!(
            "there is no code {code}; the codes are\n  {}",
            known.join("\n  ")
        );
        return print::failure(output, Exit::Invalid, &message);
    };
    let value = json!({ "code": found.as_str(), "explanation": found.explanation() });
    print::result(output, &value, |_| {
        format!("{}\n\n{}", found.as_str(), found.explanation())
    });
    Exit::Done
}
