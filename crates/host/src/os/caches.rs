//! The caches of the processors, as sysfs shows them.

use std::{fs, path::Path};

/// Of one processor. The kernel shows none of a processor that is offline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cache {
    /// 1 is the nearest to the processor.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// The processors that share it: a list such as `0-3,8`.
    pub shared: String,
}

/// Those of a processor, as far as they can be read.
pub(crate) fn caches_of(cpu: u32) -> Vec<Cache> {
    caches_at(Path::new(&format!(
        "/sys/devices/system/cpu/cpu{cpu}/cache"
    )))
}

fn caches_at(dir: &Path) -> Vec<Cache> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let dirs = entries.flatten().map(|entry| entry.path());
    dirs.filter_map(|dir| cache_at(&dir)).collect()
}

fn cache_at(dir: &Path) -> Option<Cache> {
    let text = |name: &str| {
        let text = fs::read_to_string(dir.join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    Some(Cache {
        level: text("level")?.parse().ok()?,
        kind: text("type")?,
        shared: text("shared_cpu_list")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_cache_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("index3/level", "3\n");
        write("index3/type", "Unified\n");
        write("index3/shared_cpu_list", "0-1\n");
        write("index4/level", "4\n");
        write("index5/level", "far\n");
        write("index5/type", "Unified\n");
        write("index5/shared_cpu_list", "0-1\n");
        write("uevent", "");
        let cache = Cache {
            level: 3,
            kind: "Unified".into(),
            shared: "0-1".into(),
        };
        assert_eq!(caches_at(dir.path()), [cache]);
        assert_eq!(caches_at(&dir.path().join("missing")), []);
    }
}
