//! What keeps others out: files with keys, and limits of rates.

mod key;
mod rate;

pub use key::{Examined, KeyError, SECRET_BYTES, examine_key, make_key, read_secret};
pub use rate::{Bucket, Rate};
