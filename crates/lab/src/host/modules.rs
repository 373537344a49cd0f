//! The kernel's modules: the selection, the order, decompressed once and kept beside the
//! kernel.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use super::error::Doing;
use super::image::Tree;
use super::kernels::Kernel;
use super::{Error, Result, cache};
use crate::guest::protocol::MODULES_DIR;

/// The modules of a lab machine. One that a kernel has built in, or does not have at all, is
/// left out.
const WANTED: [&str; 52] = [
    // The channel to the host.
    "virtio_pci",
    "virtio_console",
    // The rest is for commands.
    "veth",
    "bridge",
    "vduse",
    "virtio_vdpa",
    "virtio_net",
    "ifb",
    "dummy",
    "tun",
    "8021q",
    "sch_fq",
    "sch_fq_codel",
    "sch_codel",
    "sch_htb",
    "sch_hfsc",
    "sch_tbf",
    "sch_prio",
    "sch_drr",
    "sch_cake",
    "sch_etf",
    "sch_mqprio",
    "sch_netem",
    "sch_choke",
    "sch_ets",
    "sch_fq_pie",
    "sch_gred",
    "sch_multiq",
    "sch_pie",
    "sch_red",
    "sch_sfb",
    "sch_sfq",
    "sch_ingress",
    "cls_basic",
    "cls_bpf",
    "cls_flow",
    "cls_flower",
    "cls_fw",
    "cls_matchall",
    "cls_u32",
    "act_bpf",
    "act_gact",
    "act_mirred",
    "act_police",
    "act_skbedit",
    "nf_tables",
    "nft_chain_nat",
    "nft_masq",
    "tcp_bbr",
    "tcp_dctcp",
    "tcp_lp",
    "tcp_vegas",
];

/// In addition, on a kernel with wireless devices.
const WANTED_WIRELESS: [&str; 1] = ["mac80211_hwsim"];

/// The version of the cached archives' format.
const FORMAT: u32 = 1;

/// An archive of the modules for this kernel, named in load order.
pub fn archive(kernel: &Kernel) -> Result<Vec<u8>> {
    let wireless: &[&str] = if kernel.has_wireless() {
        &WANTED_WIRELESS
    } else {
        &[]
    };
    let wanted = [&WANTED, wireless].concat();
    let mut hasher = DefaultHasher::new();
    (FORMAT, &wanted).hash(&mut hasher);
    let name = format!("{}-{:016x}.cpio", kernel.release, hasher.finish());
    let path = cache::subdir("modules")?.join(name);
    if path.exists() {
        return fs::read(&path).doing(|| format!("read {}", path.display()));
    }
    let archive = pack(&kernel.modules_dir, &wanted)?;
    store(&path, &archive)?;
    Ok(archive)
}

/// Never leaves an incomplete file under the final name.
fn store(path: &Path, archive: &[u8]) -> Result<()> {
    let writing = || format!("write {}", path.display());
    let dir = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir).doing(writing)?;
    file.write_all(archive).doing(writing)?;
    file.persist(path).doing(writing)?;
    Ok(())
}

fn pack(modules_dir: &Path, wanted: &[&str]) -> Result<Vec<u8>> {
    let mut files = BTreeMap::new();
    find_modules(modules_dir, &mut files)
        .doing(|| format!("list modules in {}", modules_dir.display()))?;
    let mut loaded = Loaded {
        files,
        order: Vec::new(),
    };
    for name in wanted {
        loaded.add(name)?;
    }
    let mut tree = Tree::default();
    for (position, (name, module)) in loaded.order.into_iter().enumerate() {
        tree.file(
            format!("{MODULES_DIR}/{position:03}-{name}.ko"),
            0o644,
            module,
        );
    }
    tree.archive()
}

/// Modules by name as the kernel spells it, with underscores.
fn find_modules(dir: &Path, found: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            find_modules(&path, found)?;
        } else if let Some(name) = path.file_name().and_then(|name| name.to_str())
            && let Some((stem, _)) = name.split_once(".ko")
        {
            found.insert(stem.replace('-', "_"), path);
        }
    }
    Ok(())
}

/// Modules in an order in which they can be loaded.
struct Loaded {
    files: BTreeMap<String, PathBuf>,
    order: Vec<(String, Vec<u8>)>,
}

impl Loaded {
    /// Adds the module after everything it depends on.
    fn add(&mut self, name: &str) -> Result<()> {
        if self.order.iter().any(|(known, _)| known == name) {
            return Ok(());
        }
        let Some(path) = self.files.get(name) else {
            return Ok(());
        };
        let mut module = decompress(path)?;
        strip_signature(&mut module);
        for dependency in dependencies(&module) {
            self.add(&dependency)?;
        }
        self.order.push((name.to_owned(), module));
        Ok(())
    }
}

fn decompress(path: &Path) -> Result<Vec<u8>> {
    let bad = |why: String| Error::Module {
        path: path.to_owned(),
        why,
    };
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("ko") => fs::read(path).doing(|| format!("read {}", path.display())),
        Some("xz") => {
            let file = File::open(path).doing(|| format!("open {}", path.display()))?;
            let mut module = Vec::new();
            lzma_rs::xz_decompress(&mut BufReader::new(file), &mut module)
                .map_err(|e| bad(e.to_string()))?;
            Ok(module)
        }
        _ => Err(bad("unknown compression, expected .ko or .ko.xz".to_owned())),
    }
}

/// Removes the signature at the end of a module. Apt has verified its package, and elliptic
/// curves take the emulator longer than everything else in loading it.
fn strip_signature(module: &mut Vec<u8>) {
    /// After the signature: `struct module_signature`, whose last field is the
    /// signature's length as a big-endian `u32`, then this.
    const MARK: &[u8] = b"~Module signature appended~\n";
    const STRUCT_BYTES: usize = 12;

    let Some((rest, length)) = module
        .strip_suffix(MARK)
        .and_then(|rest| Some((rest, rest.last_chunk::<4>()?)))
    else {
        return;
    };
    let signature_bytes = u32::from_be_bytes(*length) as usize;
    let kept = rest.len().saturating_sub(STRUCT_BYTES + signature_bytes);
    module.truncate(kept);
}

/// The module's own dependencies: `depends=a,b` among the NUL-terminated strings of its
/// `.modinfo`. Packages have no `modules.dep`, which is made when they are installed.
fn dependencies(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(start) = module.windows(KEY.len()).position(|window| window == KEY) else {
        return Vec::new();
    };
    let value = &module[start + KEY.len()..];
    let end = value
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end])
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| name.replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(depends: &str) -> Vec<u8> {
        format!("\x7fELF\0license=GPL\0depends={depends}\0name=x\0").into_bytes()
    }

    #[test]
    fn dependencies_are_read_from_modinfo() {
        assert_eq!(dependencies(&module("garp,mrp")), ["garp", "mrp"]);
        assert_eq!(dependencies(&module("virtio-ring")), ["virtio_ring"]);
        assert!(dependencies(&module("")).is_empty());
        assert!(dependencies(b"\x7fELF").is_empty());
        assert_eq!(dependencies(b"\0depends=cut"), ["cut"]);
    }

    #[test]
    fn a_signature_is_cut_off_and_nothing_else() {
        let mut unsigned = module("a");
        strip_signature(&mut unsigned);
        assert_eq!(unsigned, module("a"));

        let mut signed = module("a");
        signed.extend([7; 300]);
        signed.extend([0; 8]);
        signed.extend(300_u32.to_be_bytes());
        signed.extend(b"~Module signature appended~\n");
        strip_signature(&mut signed);
        assert_eq!(signed, module("a"));
    }

    #[test]
    fn dependencies_come_first_and_missing_ones_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        for (file, depends) in [
            ("8021q.ko", "garp,mrp"),
            ("garp.ko", "stp,built_in"),
            ("mrp.ko", ""),
            ("stp.ko", ""),
        ] {
            fs::write(dir.path().join(file), module(depends)).unwrap();
        }
        let mut files = BTreeMap::new();
        find_modules(dir.path(), &mut files).unwrap();
        let mut loaded = Loaded {
            files,
            order: Vec::new(),
        };
        loaded.add("8021q").unwrap();
        loaded.add("sch_absent").unwrap();
        let order: Vec<&str> = loaded.order.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(order, ["stp", "garp", "mrp", "8021q"]);
    }
}
