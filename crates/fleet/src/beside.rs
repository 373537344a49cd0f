//! Programs that belong together lie together.

use std::path::PathBuf;

/// The program beside this one, else on the path.
pub fn beside(name: &str) -> PathBuf {
    let own = std::env::current_exe().map(|own| own.with_file_name(name));
    let own = own.ok().filter(|path| path.is_file());
    own.unwrap_or_else(|| PathBuf::from(name))
}
