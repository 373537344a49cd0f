use std::path::Path;

use serde_json::json;
use takt_wlan::{KeyError, make_key};

use crate::{args::Output, exit::Exit, print};

/// Make a key. `hosts` names the hosts that need a copy, for the message.
pub fn run(file: &Path, hosts: &str, output: Output) -> Exit {
    match make_key(file) {
        Ok(()) => {
            print::result(output, &json!({ "key_file": file }), |_| {
                format!("{}: copy it to {hosts}", file.display())
            });
            Exit::Done
        }
        Err(error @ KeyError::Exists { .. }) => print::failure(output, Exit::Invalid, &error),
        Err(error) => print::failure(output, Exit::Failed, &error),
    }
}
