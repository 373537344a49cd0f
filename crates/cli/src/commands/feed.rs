use takt_host::{Stay, feed};

use crate::{args::Output, exit::Exit, print};

pub fn run(stay: Stay, output: Output) -> Exit {
    match feed(stay) {
        Ok(true) => Exit::Done,
        Ok(false) => print::failure(
            output,
            Exit::Failed,
            &"this network namespace has a helper already",
        ),
        Err(error) => print::refused(output, &error),
    }
}
