use serde_json::json;
use takt_agent::{KeyError, make_key};

use crate::{
    args::{Output, Radio},
    exit::Exit,
    print,
};

pub fn run(command: &Radio, output: Output) -> Exit {
    let Radio::Key { file } = command;
    match make_key(file) {
        Ok(()) => {
            print::result(output, &json!({ "key_file": file }), |_| {
                let file = file.display();
                format!("{file}: copy it to the access point and to every client")
            });
            Exit::Done
        }
        Err(error @ KeyError::Exists { .. }) => print::failure(output, Exit::Invalid, &error),
        Err(error) => print::failure(output, Exit::Failed, &error),
    }
}
