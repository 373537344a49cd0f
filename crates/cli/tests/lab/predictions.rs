//! A green prediction is one that `apply` keeps: kernels without one of the features that policies
//! need, and what `check --explain`, `apply --dry-run` and `doctor` say before `apply`.

use std::{
    ffi::CString,
    fs::{self, File},
    os::fd::AsRawFd,
    path::PathBuf,
};

use crate::{
    machine::{DEFAULT, NEWEST, on_old_kernels},
    shell::{run, run_command},
    takt::{POLICY, apply, apply_with, as_nobody, assert_no_trace, takt},
    wire::Wire,
};

/// Where the laboratory puts them.
const MODULES: &str = "/modules";

/// A kernel without some of its modules, until this is dropped.
struct Without {
    /// In the order in which they are loaded again.
    files: Vec<PathBuf>,
}

impl Without {
    /// Those that the kernel has as modules, dependents first.
    fn modules(names: &[&str]) -> Self {
        let mut files = Vec::new();
        for name in names {
            let loaded = fs::read_to_string("/proc/modules").unwrap();
            if !loaded
                .lines()
                .any(|line| line.starts_with(&format!("{name} ")))
            {
                continue;
            }
            let module = CString::new(*name).unwrap();
            // SAFETY: a name that ends; the kernel unloads nothing that is used.
            let done = unsafe {
                libc::syscall(libc::SYS_delete_module, module.as_ptr(), libc::O_NONBLOCK)
            };
            assert_eq!(done, 0, "{name}: {}", std::io::Error::last_os_error());
            files.insert(0, file_of(name));
        }
        Self { files }
    }
}

impl Drop for Without {
    fn drop(&mut self) {
        for path in &self.files {
            let file = File::open(path).unwrap();
            let parameters = if path.to_string_lossy().ends_with("-ifb.ko") {
                c"numifbs=0"
            } else {
                c""
            };
            // SAFETY: an open file, and parameters that end.
            let done = unsafe {
                libc::syscall(
                    libc::SYS_finit_module,
                    file.as_raw_fd(),
                    parameters.as_ptr(),
                    0,
                )
            };
            assert_eq!(done, 0, "{}", path.display());
        }
    }
}

fn file_of(module: &str) -> PathBuf {
    let end = format!("-{module}.ko");
    let mut files = fs::read_dir(MODULES)
        .unwrap()
        .map(|file| file.unwrap().path());
    let found = files.find(|path| path.to_string_lossy().ends_with(&end));
    found.unwrap_or_else(|| panic!("no file of {module}"))
}

/// A link with one class, on a backend where one is demanded.
fn link(backend: &str, class: &str) -> String {
    let backend = match backend {
        "" => String::new(),
        backend => format!("backend = \"{backend}\"\n"),
    };
    format!(
        "[link.near1]\nrate = \"100mbit\"\n{backend}[[link.near1.class]]\nname = \"a\"\n\
         match = {{ proto = \"tcp\" }}\n{class}[[link.near1.class]]\nname = \"default\"\n\
         rate = \"10mbit\"\naqm = \"off\"\nbest_effort = true\n"
    )
}

/// Whether a policy can be applied, as all of takt says and does.
fn assert_foreseen(policy: &str, option: &str) -> bool {
    fs::write(POLICY, policy).unwrap();
    let foreseen = takt(&format!("check --explain {POLICY}"));
    let planned = apply_with("--dry-run", policy);
    let done = apply(policy);
    let outcome = done.status;
    assert_eq!(foreseen.status, outcome, "{foreseen}\n{done}");
    assert_eq!(planned.status, outcome, "{planned}\n{done}");
    match outcome {
        Some(0) => {
            done.says(&["attached"]);
            takt("status").ok();
            takt("revert").ok();
            true
        }
        _ => {
            for ran in [foreseen, planned, done] {
                ran.says(&[option]).ends_with(3);
            }
            false
        }
    }
}

/// The feature's modules and option, the class and backend that need it, and whether the kernel
/// has another way.
type Case = (
    &'static [&'static str],
    &'static str,
    &'static str,
    &'static str,
);

const FIXED: &str = "rate = \"10mbit\"\naqm = \"off\"\nbest_effort = true\n";
const FQ_CODEL: &str = "aqm = \"fq_codel\"\nbest_effort = true\n";
const CODEL: &str = "aqm = \"codel\"\nbest_effort = true\n";
const RECEIVES: &str = "priority = \"background\"\n";

const CASES: [Case; 6] = [
    (&["sch_fq"], "CONFIG_NET_SCH_FQ", "departure", FIXED),
    (
        &["sch_fq_codel"],
        "CONFIG_NET_SCH_FQ_CODEL",
        "tree",
        FQ_CODEL,
    ),
    (&["sch_codel"], "CONFIG_NET_SCH_CODEL", "tree", CODEL),
    (&["sch_htb"], "CONFIG_NET_SCH_HTB", "tree", FIXED),
    (&["cls_bpf"], "CONFIG_NET_CLS_BPF", "tree", FIXED),
    (&["ifb"], "CONFIG_IFB", "takt", RECEIVES),
];

fn without_each_feature(_wire: &Wire) {
    let mut tried = 0;
    for (modules, option, backend, class) in CASES {
        let demanded = link(backend, class);
        if !assert_foreseen(&demanded, "") {
            println!("{backend} cannot be had here at all");
            continue;
        }
        let without = Without::modules(modules);
        if without.files.is_empty() {
            println!("{modules:?} are built in here");
            continue;
        }
        tried += 1;
        assert!(!assert_foreseen(&demanded, option), "without {modules:?}");
        // Another backend may do.
        assert_foreseen(&link("", class), option);
        drop(without);
        assert!(
            assert_foreseen(&demanded, ""),
            "{modules:?} are there again"
        );
    }
    assert!(tried >= 3, "{tried} features are modules");
    let rest = "download = { rate = \"50mbit\" }\n[[link";
    let download = link("", FIXED).replacen("[[link", rest, 1);
    assert!(assert_foreseen(&download, ""));
    for (module, option) in [
        ("act_mirred", "CONFIG_NET_ACT_MIRRED"),
        ("cls_matchall", "CONFIG_NET_CLS_MATCHALL"),
    ] {
        let without = Without::modules(&[module]);
        assert_eq!(assert_foreseen(&download, option), without.files.is_empty());
    }
    let without = Without::modules(&["sch_fq"]);
    takt("doctor")
        .says(&["missing  departure   this kernel lacks the qdisc fq (CONFIG_NET_SCH_FQ)"])
        .says(&["missing  flow        as departure", "by ", "tree"])
        .ends_with(3);
    drop(without);
    assert_no_trace();
}

#[test]
fn hold_without_each_feature() {
    DEFAULT.alone().run(|| without_each_feature(&Wire::new(1)));
}

#[test]
fn hold_without_each_feature_on_the_newest_kernel() {
    NEWEST.alone().run(|| without_each_feature(&Wire::new(1)));
}

#[test]
fn hold_without_each_feature_on_old_kernels() {
    on_old_kernels(|| without_each_feature(&Wire::new(1)));
}

/// Neither the file system of programs nor what only root may try is taken to be there.
#[test]
fn name_what_was_not_tried() {
    DEFAULT.alone().run(|| {
        fs::write(POLICY, link("", FIXED)).unwrap();
        let explain = format!("takt check --explain {POLICY}");
        run(&explain).says(&["near1: departure"]).ok();
        // Another file system in its place, as process 1 sees it.
        run("mount -t tmpfs none /sys/fs/bpf").ok();
        let hidden = run(&explain);
        run("umount /sys/fs/bpf").ok();
        hidden
            .says(&["no policy can be applied: no BPF file system at /sys/fs/bpf"])
            .ends_with(3);
        run_command(as_nobody().args(["check", "--explain", POLICY]))
            .says(&["not tried: CAP_", "near1: "])
            .ok();
        takt(&format!("check {POLICY} --kernel 6.18"))
            .says(&["not tried: of Linux 6.18 only the release is known"])
            .ok();
        let tasks = "[[task]]\nname = \"a\"\nperiod = \"40ms\"\nbudget = \"8ms\"\n";
        fs::write(POLICY, tasks).unwrap();
        takt(&format!("check {POLICY} --kernel 5.10"))
            .says(&["tasks: the kernel lacks sched_ext (Linux 6.16"])
            .ends_with(3);
        takt(&format!("check {POLICY} --explain"))
            .says(&["tasks: works"])
            .ok();
    });
}
