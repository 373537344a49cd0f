//! Type information: of our own maps, and of the running kernel.

use std::{
    ffi::CString,
    os::fd::{AsFd, FromRawFd, OwnedFd},
    ptr::NonNull,
};

use libbpf_rs::{
    MapHandle, MapInfo,
    btf::{Btf, BtfType, types::Struct},
};

use crate::{
    bpf::{BpfError, load_log},
    error::Error,
    os::{OsError, capability, files::Shortage, lacking::Lacking, privilege::Barred},
};

/// Kernels with BPF qdiscs have this type.
const QDISC_OPS: &str = "bpf_struct_ops_Qdisc_ops";

/// The running kernel's type information.
pub(crate) const OF_KERNEL: &str = "/sys/kernel/btf/vmlinux";

/// The type information a map was created with.
pub(crate) struct Types {
    pub fd: OwnedFd,
    btf: NonNull<libbpf_sys::btf>,
}

pub(crate) fn of_map(map: &MapHandle) -> Result<Types, Error> {
    let doing = "reading the program's types";
    let info = MapInfo::new(map.as_fd()).map_err(BpfError::of(doing))?;
    let id = info.info.btf_id;
    // SAFETY: takes an id, returns a descriptor that is ours or an error.
    let fd = unsafe { libbpf_sys::bpf_btf_get_fd_by_id(id) };
    if fd < 0 {
        return Err(BpfError::of(doing)(libbpf_rs::Error::from_raw_os_error(
            -fd,
        )));
    }
    // SAFETY: just opened, and no other code owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: takes an id; null or an object that is ours to free.
    let btf = unsafe { libbpf_sys::btf__load_from_kernel_by_id(id) };
    let btf = NonNull::new(btf)
        .ok_or_else(|| BpfError::of(doing)(libbpf_rs::Error::from_raw_os_error(libc::ENOENT)))?;
    Ok(Types { fd, btf })
}

impl Types {
    pub(crate) fn id_of(&self, name: &'static str) -> Result<u32, Error> {
        // Takt's names contain no zero byte; one that did would not be found.
        let c_name = CString::new(name).unwrap_or_default();
        // SAFETY: a live btf object and a terminated string.
        let id = unsafe { libbpf_sys::btf__find_by_name(self.btf.as_ptr(), c_name.as_ptr()) };
        u32::try_from(id).map_err(|_| {
            BpfError::of("looking up the program's types")(libbpf_rs::Error::from_raw_os_error(-id))
        })
    }
}

impl Drop for Types {
    fn drop(&mut self) {
        // SAFETY: owned, and freed once.
        unsafe { libbpf_sys::btf__free(self.btf.as_ptr()) }
    }
}

/// Explains why the qdisc's program was refused, if the kernel lacks a feature.
pub(crate) fn explain_load_failure(source: libbpf_rs::Error) -> Error {
    explain(
        source,
        &[QDISC_OPS],
        "BPF qdiscs",
        "Linux 6.16 or newer with CONFIG_NET_SCH_BPF=y",
    )
}

/// Likewise for the program that classifies packets for trees, which needs nothing of the last
/// years.
pub(crate) fn explain_classifier_failure(source: libbpf_rs::Error) -> Error {
    explain(
        source,
        &[],
        "BPF programs that classify packets",
        "Linux 5.14 or newer with CONFIG_NET_CLS_BPF",
    )
}

/// Likewise for what watches sockets.
pub(crate) fn explain_watching_failure(source: libbpf_rs::Error) -> Error {
    explain(
        source,
        &["bpf_iter__task_file", "inet_csk_accept"],
        "BPF programs that find the owners of sockets",
        "Linux 6.1 or newer with CONFIG_CGROUP_BPF=y, CONFIG_BPF_EVENTS=y and CONFIG_PROC_FS=y",
    )
}

/// Whether the kernel was built with BPF qdiscs. If that cannot be read, loading one says why.
pub(crate) fn may_have_bpf_qdiscs() -> bool {
    match Btf::from_vmlinux() {
        Ok(btf) => btf.type_by_name::<BtfType>(QDISC_OPS).is_some(),
        Err(error) => error.kind() != libbpf_rs::ErrorKind::NotFound,
    }
}

/// Likewise for the congestion control.
pub(crate) fn explain_crowd_failure(source: libbpf_rs::Error) -> Error {
    explain(
        source,
        // Older kernels register a congestion control, but not for a link to hold.
        &[
            "bpf_struct_ops_tcp_congestion_ops",
            "bpf_struct_ops_link",
            "cubictcp_cong_avoid",
        ],
        "congestion controls written in BPF, or CUBIC for them to build on",
        "Linux 6.12 or newer with CONFIG_TCP_CONG_CUBIC=y and CONFIG_BPF_EVENTS=y",
    )
}

/// Likewise for the programs that set rates on sockets.
pub(crate) fn explain_rates_failure(source: libbpf_rs::Error) -> Error {
    explain(
        source,
        &["bpf_iter__tcp", "btf_trace_inet_sock_set_state"],
        "BPF programs that set rates on sockets",
        "Linux 6.1 or newer with CONFIG_CGROUP_BPF=y and CONFIG_BPF_EVENTS=y",
    )
}

/// Likewise for the scheduler.
pub(crate) fn explain_scheduler_failure(source: libbpf_rs::Error) -> Error {
    if is_realtime() {
        return BpfError::KernelLacks {
            feature: "timers of BPF programs, which no kernel with PREEMPT_RT has",
            since: "Linux 6.16 or newer without CONFIG_PREEMPT_RT; or `takt dispatch`",
        }
        .into();
    }
    explain(
        source,
        // The first kernels with sched_ext had fewer and other functions.
        &["bpf_struct_ops_sched_ext_ops", "scx_bpf_dsq_insert"],
        "schedulers written in BPF",
        "Linux 6.16 or newer with CONFIG_SCHED_CLASS_EXT=y; or `takt dispatch`",
    )
}

/// Likewise for the monitor of flows.
pub(crate) fn explain_monitor_failure(source: libbpf_rs::Error) -> Error {
    explain(
        source,
        &[
            "bpf_iter__tcp",
            "bpf_iter__task_file",
            "btf_trace_tcp_probe",
            "bpf_rdonly_cast",
        ],
        "BPF programs that look at TCP",
        "Linux 6.12 or newer with CONFIG_BPF_EVENTS=y and CONFIG_PROC_FS=y",
    )
}

/// Whether a struct of the running kernel has such a member.
pub(crate) fn kernel_has_member(of: &str, member: &str) -> bool {
    let Ok(btf) = Btf::from_vmlinux() else {
        return false;
    };
    let found = btf.type_by_name::<Struct>(of);
    found.is_some_and(|found| {
        let mut members = found.iter();
        members.any(|it| it.name.is_some_and(|name| name == member))
    })
}

/// Its version says so on every architecture.
fn is_realtime() -> bool {
    nix::sys::utsname::uname()
        .is_ok_and(|system| system.version().to_string_lossy().contains("PREEMPT_RT"))
}

fn explain(
    source: libbpf_rs::Error,
    needs: &[&str],
    feature: &'static str,
    since: &'static str,
) -> Error {
    let has = |name: &str| {
        Btf::from_vmlinux()
            .ok()
            .and_then(|btf| btf.type_by_name::<BtfType>(name).map(drop))
            .is_some()
    };
    if let Some(shortage) = Shortage::of_bpf(&source) {
        return OsError::short_of_files("loading programs", shortage);
    }
    let verdict = load_log::tail();
    if says_no_more_than_no(&source, &verdict) {
        return capability::bare_refusal()
            .unwrap_or_else(|| BpfError::KernelRefuses { feature, since }.into());
    }
    if asks_for_a_helper(&verdict) && capability::is_locked_down() {
        return OsError::Barred(Barred::Lockdown).into();
    }
    if !has("task_struct") {
        return BpfError::KernelLacks {
            feature: "BTF type information",
            since: "CONFIG_DEBUG_INFO_BTF=y",
        }
        .into();
    }
    if !needs.iter().all(|name| has(name)) {
        return BpfError::KernelLacks { feature, since }.into();
    }
    if let Some(lacking) = Lacking::of_bpf(&source) {
        let doing = "loading programs".to_owned();
        return OsError::Lacking { doing, lacking }.into();
    }
    BpfError::Load {
        source,
        log: verdict,
    }
    .into()
}

/// The verifier refuses with the same error, but writes a log, and has looked at instructions.
fn says_no_more_than_no(source: &libbpf_rs::Error, verdict: &str) -> bool {
    let is_verifiers = verdict.contains("LOAD LOG") && !verdict.contains("\nprocessed 0 insns");
    source.kind() == libbpf_rs::ErrorKind::PermissionDenied && !is_verifiers
}

/// The verifier does not know functions that a locked down kernel forbids.
fn asks_for_a_helper(verdict: &str) -> bool {
    ["cannot use helper", "unknown func"]
        .iter()
        .any(|words| verdict.contains(words))
}
