//! The initramfs: programs of this machine, modules of the lab's kernel, and the job.
//!
//! Only the modules are cached. Packing the rest takes a tenth of a second, and nothing can be
//! stale.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use cpio::newc::{Builder, ModeFileType, trailer};

use super::error::Doing;
use super::kernels::Kernel;
use super::python::{PYTHON, WebServer};
use super::tool::Tool;
use super::{Error, Result, libraries, modules};
use crate::guest::protocol::{JOB_FILE, Job};

const fn tool(program: &'static str, package: &'static str) -> Tool {
    Tool { program, package }
}

const BUSYBOX: Tool = tool("busybox", "busybox-static");
const PROGRAMS: [Tool; 8] = [
    tool("tc", "iproute2"),
    tool("ss", "iproute2"),
    tool("ip", "iproute2"),
    tool("vdpa", "iproute2"),
    tool("iperf3", "iperf3"),
    tool("ethtool", "ethtool"),
    tool("bash", "bash"),
    BUSYBOX,
];
/// All programs are in one directory, under all their usual names.
const LINKS: [(&str, &str); 10] = [
    ("/bin", "usr/bin"),
    ("/sbin", "usr/bin"),
    ("/usr/sbin", "bin"),
    ("/lib", "usr/lib"),
    ("/lib64", "usr/lib64"),
    ("/init", "usr/bin/takt-lab"),
    ("/usr/bin/taktd", "takt"),
    ("/usr/bin/sh", "bash"),
    ("/var/run", "/run"),
    ("/etc/mtab", "/proc/self/mounts"),
];
const FILES: [(&str, &str); 3] = [
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    ("/etc/group", "root:x:0:\n"),
    (
        "/etc/hosts",
        "127.0.0.1 localhost\n::1 localhost\n10.0.0.1 a\n10.0.0.2 b\n",
    ),
];
/// Delay distributions for netem.
const TC_DIR: &str = "/usr/lib/tc";
const ADD_DIR: &str = "/add";

/// Packs the initramfs into a file without a name, which is freed when it is closed.
pub fn build(
    kernel: &Kernel,
    job: &Job,
    add: &[PathBuf],
    web_server: Option<&WebServer>,
) -> Result<File> {
    let mut tree = Tree::default();
    let own = own_program()?;
    let takt = own.with_file_name("takt");
    if !takt.is_file() {
        return Err(Error::NoTakt { path: takt });
    }
    tree.program("/usr/bin/takt-lab".into(), &own)?;
    tree.program("/usr/bin/takt".into(), &takt)?;
    let mut sources = vec![own, takt];
    for tool in &PROGRAMS {
        let path = tool.path()?;
        tree.program(format!("/usr/bin/{}", tool.program), &path)?;
        sources.push(path);
    }
    for file in add {
        tree.program(place_of_added(file, &tree)?, file)?;
        sources.push(file.clone());
    }
    tree.directory(ADD_DIR);
    if let Some(server) = web_server {
        let interpreter = place_of_own(&server.interpreter);
        for file in std::iter::once(&server.interpreter).chain(&server.modules) {
            tree.program(place_of_own(file), file)?;
            sources.push(file.clone());
        }
        let name = format!("/usr/bin/{}", PYTHON.program);
        if !tree.has(&name) {
            tree.link(name, &interpreter);
        }
    }
    for library in libraries::of(&sources)? {
        tree.program(place_of_library(&library), &library)?;
    }
    if Path::new(TC_DIR).is_dir() {
        add_delay_distributions(&mut tree)?;
    }
    for (name, target) in LINKS {
        tree.link(name.into(), target);
    }
    for (name, text) in FILES {
        tree.file(name.into(), 0o644, text.into());
    }
    add_applets(&mut tree)?;
    let job = serde_json::to_vec(job).doing(|| "describe the job".into())?;
    tree.file(JOB_FILE.into(), 0o644, job);

    let mut file = tempfile::tempfile().doing(|| "create the initramfs".into())?;
    // The kernel unpacks archives one after the other.
    for archive in [modules::archive(kernel)?, tree.archive()?] {
        file.write_all(&archive)
            .doing(|| "write the initramfs".into())?;
    }
    Ok(file)
}

fn own_program() -> Result<PathBuf> {
    std::env::current_exe().doing(|| "find this program's own file".into())
}

/// The machine's programs take precedence over busybox's.
fn add_applets(tree: &mut Tree) -> Result<()> {
    for applet in BUSYBOX.output(&["--list"], Path::new("/"))?.lines() {
        let name = format!("/usr/bin/{applet}");
        if !tree.has(&name) {
            tree.link(name, "busybox");
        }
    }
    Ok(())
}

fn add_delay_distributions(tree: &mut Tree) -> Result<()> {
    let listing = || format!("list {TC_DIR}");
    for entry in fs::read_dir(TC_DIR).doing(listing)? {
        let path = entry.doing(listing)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "dist")
        {
            tree.program(path.to_string_lossy().into_owned(), &path)?;
        }
    }
    Ok(())
}

fn place_of_added(file: &Path, tree: &Tree) -> Result<String> {
    let refuse = |why: &str| {
        Err(Error::AddedFile {
            path: file.to_owned(),
            why: why.to_owned(),
        })
    };
    let Some(name) = file.file_name().filter(|_| file.is_file()) else {
        return refuse("not a file, so it cannot be added to the lab");
    };
    let place = format!("{ADD_DIR}/{}", name.to_string_lossy());
    if tree.has(&place) {
        return refuse("another added file has the same name");
    }
    Ok(place)
}

/// A file that keeps its path.
fn place_of_own(file: &Path) -> String {
    let path = file.to_string_lossy();
    // These are links into `/usr` in the lab, whatever they are on this machine.
    let linked = ["/lib/", "/lib64/", "/bin/", "/sbin/"];
    if linked.iter().any(|dir| path.starts_with(dir)) {
        format!("/usr{path}")
    } else {
        path.into_owned()
    }
}

/// System libraries keep their path; others go where the linker looks last.
fn place_of_library(library: &Path) -> String {
    let path = library.to_string_lossy();
    let is_system = ["/lib", "/usr/lib"].iter().any(|dir| path.starts_with(dir));
    match library.file_name() {
        Some(name) if !is_system => format!("/usr/lib/{}", name.to_string_lossy()),
        _ => place_of_own(library),
    }
}

/// A file tree for the kernel to unpack. Paths are absolute.
#[derive(Default)]
pub struct Tree {
    /// Sorted, so a directory precedes its contents.
    nodes: BTreeMap<String, Node>,
}

struct Node {
    /// Kind and permissions, as `stat` has them.
    mode: u32,
    bytes: Vec<u8>,
}

impl Tree {
    pub fn file(&mut self, path: String, permissions: u32, bytes: Vec<u8>) {
        self.insert(path, ModeFileType::Regular, permissions, bytes);
    }

    /// A copy of a file of this machine.
    fn program(&mut self, path: String, source: &Path) -> Result<()> {
        let reading = || format!("read {}", source.display());
        let permissions = fs::metadata(source).doing(reading)?.permissions().mode() & 0o777;
        let bytes = fs::read(source).doing(reading)?;
        self.file(path, permissions, bytes);
        Ok(())
    }

    fn link(&mut self, path: String, target: &str) {
        self.insert(path, ModeFileType::Symlink, 0o777, target.into());
    }

    fn directory(&mut self, path: &str) {
        self.nodes.entry(path.to_owned()).or_insert(Node {
            mode: u32::from(ModeFileType::Directory) | 0o755,
            bytes: Vec::new(),
        });
    }

    fn has(&self, path: &str) -> bool {
        self.nodes.contains_key(path)
    }

    fn insert(&mut self, path: String, kind: ModeFileType, permissions: u32, bytes: Vec<u8>) {
        let parents = path.match_indices('/').map(|(end, _)| &path[..end]);
        for parent in parents.filter(|parent| !parent.is_empty()) {
            self.directory(parent);
        }
        let mode = u32::from(kind) | permissions;
        self.nodes.insert(path, Node { mode, bytes });
    }

    /// The tree in initramfs format.
    pub fn archive(&self) -> Result<Vec<u8>> {
        let packing = || "pack the initramfs".to_owned();
        let mut archive = Vec::new();
        for (path, node) in &self.nodes {
            let size = u32::try_from(node.bytes.len())
                .map_err(std::io::Error::other)
                .doing(|| format!("pack {path}, which is over 4 GB"))?;
            let mut file = Builder::new(path.trim_start_matches('/'))
                .mode(node.mode)
                .write(archive, size);
            file.write_all(&node.bytes).doing(packing)?;
            archive = file.finish().doing(packing)?;
        }
        trailer(archive).doing(packing)
    }
}
