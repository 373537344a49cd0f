use takt_policy::json_schema;

use crate::{args::Output, exit::Exit, print};

/// It is JSON whatever the output.
pub fn run() -> Exit {
    print::result(Output::Json, &json_schema(), |_| String::new());
    Exit::Done
}
