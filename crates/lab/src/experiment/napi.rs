//! The kernel's threads that process a device's packets (threaded NAPI).

use super::error::{Result, WhileDoing};

/// The threads of a device: `napi/DEVICE-ID`, of which `comm` may hold the beginning only.
pub fn threads(device: &str) -> Result<Vec<u32>> {
    let wanted = format!("napi/{device}-");
    let processes = std::fs::read_dir("/proc").doing("list processes")?;
    let threads = processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|id: &u32| {
            std::fs::read_to_string(format!("/proc/{id}/comm"))
                .is_ok_and(|comm| comm.starts_with(&wanted))
        });
    Ok(threads.collect())
}
