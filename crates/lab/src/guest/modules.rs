//! Loads the kernel modules that the host put into the image.

use std::ffi::CStr;
use std::fs::{self, File};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::kmod::{ModuleInitFlags, finit_module};

use super::protocol::MODULES_DIR;
use super::{Doing, Result};

/// The first two would otherwise create devices of their own. Wireless ones cannot be made
/// later, as others can: an access point and two stations.
const PARAMETERS: [(&str, &CStr); 3] = [
    ("dummy", c"numdummies=0"),
    ("ifb", c"numifbs=0"),
    ("mac80211_hwsim", c"radios=3"),
];

/// The files' names sort in the order in which they depend on each other.
pub fn load_all() -> Result<()> {
    let entries = fs::read_dir(MODULES_DIR).doing(|| format!("list {MODULES_DIR}"))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|e| e.path()))
        .collect::<std::io::Result<_>>()
        .doing(|| format!("list {MODULES_DIR}"))?;
    files.sort();
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let parameters = PARAMETERS
            .iter()
            .find(|(module, _)| name.ends_with(module))
            .map_or(c"", |(_, parameters)| *parameters);
        let file = File::open(&path).doing(|| format!("open {}", path.display()))?;
        match finit_module(&file, parameters, ModuleInitFlags::empty()) {
            Ok(()) | Err(Errno::EEXIST) => {}
            Err(e) => return Err(e).doing(|| format!("load module {}", path.display())),
        }
    }
    Ok(())
}
