//! `takt top`: the host's state, again and again.

mod batch;
mod live;
mod picture;
pub mod rates;
pub mod sample;
mod screen;
mod state;
mod table;
mod value;
pub mod view;

use std::io::{IsTerminal, stdin, stdout};

use crate::{
    args::{Output, Top},
    exit::Exit,
    print,
};

pub fn run(terms: &Top, output: Output) -> Exit {
    let is_terminal = stdin().is_terminal() && stdout().is_terminal();
    let done = match (terms.batch, output) {
        (true, _) => batch::run(terms, output),
        (false, Output::Text) if is_terminal => live::run(terms),
        (false, Output::Text) => {
            let message = "takt top needs a terminal for input and output; \
                           `takt top --batch` prints instead";
            return print::failure(output, Exit::Invalid, &message);
        }
        (false, Output::Json) => {
            let message = "takt top needs a terminal; `takt top --batch --output \
                           json` prints one object per line";
            return print::failure(output, Exit::Invalid, &message);
        }
    };
    match done {
        Ok(()) => Exit::Done,
        Err(stop) => stop.told(output),
    }
}
