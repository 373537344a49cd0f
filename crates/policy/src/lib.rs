//! Takt's policy language: from text to a checked model, or to errors that name the place and the
//! fix.
//!
//! ```
//! let text = r#"
//!     [link.eth0]
//!     rate = "1gbit"
//!
//!     [[link.eth0.class]]
//!     name = "stream"
//!     rate = "25mbit"
//!     match = { proto = "udp", dst_port = "5004-5100" }
//! "#;
//! let policy = takt_policy::parse("eth0.toml", text)?;
//! assert_eq!(policy.links[0].classes[0].rate_bps, Some(25_000_000));
//! # Ok::<(), takt_policy::Diagnostics>(())
//! ```
//!
//! The steps in this crate: [`load()`] reads the text from a file and is the only code here that
//! touches the host; `read` turns TOML into links, classes and tasks, with the spellings of single
//! values in `value`; `check` checks the parts against each other and finds entries that can never
//! match and rates beyond the link. All of them report to `findings`, so that one run shows every
//! mistake, and the result is a [`Policy`] or [`Diagnostics`]. `schema` makes a JSON schema of the
//! definitions in `read`, and `meaning` explains a key by them. The [`Code`]s of the latter and their
//! explanations are in `catalogue`. Traffic files of the simulator are read the same way
//! ([`traffic`]).

mod catalogue;
mod check;
mod diagnostic;
mod findings;
mod load;
mod meaning;
mod model;
mod policy;
mod read;
mod render;
mod schema;
mod source;
pub mod traffic;
mod value;

pub use catalogue::Code;
pub use diagnostic::{Diagnostic, Diagnostics, Severity};
pub use load::{Loaded, load, parse_in};
pub use meaning::meanings;
pub use model::*;
pub use policy::{KeyOf, Policy};
pub use read::beats::task::{
    BUDGET_MIN_NS, LEAD_AUTO_MAX_NS, MEMBERS_MAX, PERIOD_MAX_NS, PERIOD_MIN_NS,
};
pub use schema::json_schema;
pub use value::decibel::parse_decibel;
pub use value::device::device_of_download;
pub use value::duration::{format_duration, parse_duration};
pub use value::exact::{DENOMINATOR_MAX, ExactTime, parse_exact};
pub use value::name::check_name;
pub use value::rate::format_rate;

use findings::Findings;
use source::Source;

/// The largest policy, in bytes of text.
pub const POLICY_MAX_BYTES: usize = 1 << 20;

/// Parses and checks a policy. `name` is the file's name in messages. Reports every error it finds,
/// up to a bound; never looks at the host.
pub fn parse(name: &str, text: &str) -> Result<Policy, Diagnostics> {
    if text.len() > POLICY_MAX_BYTES {
        return Err(Diagnostics::of_file(name, too_large(name)));
    }
    let source = Source::new(name, text);
    let mut findings = Findings::default();
    let read = read::read(text, &source, &mut findings);
    let checked = check::check(read, &source, &mut findings);
    let warnings = findings.conclude(&source)?;
    Ok(Policy::new(source, checked, warnings))
}

fn too_large(name: &str) -> Diagnostic {
    Diagnostic::error(
        Code::TooLarge,
        format!("{name} is larger than the 1 MiB a policy may have"),
        "check the path; if it is a policy, merge matches into prefixes and port lists",
    )
}
