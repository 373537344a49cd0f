//! Users who try to obstruct takt, loose modes, and a takt that hangs: takt trusts root's files
//! only, and every wait is bounded.

use std::{
    fs::{self, DirBuilder, File, Permissions},
    io::{self, ErrorKind},
    os::{
        fd::{AsRawFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::{
            fs::{MetadataExt, PermissionsExt, chown, symlink},
            net::{SocketAddr, UnixStream},
            process::CommandExt,
        },
    },
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use nix::{
    fcntl::{Flock, FlockArg},
    sys::{
        signal::{Signal, kill},
        socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket},
    },
};

use crate::{
    daemon::as_alice,
    everything::EVERYTHING,
    helper::{assert_helpers, assert_no_helper, helpers},
    machine::{DEFAULT, TWO_PROCESSORS},
    over::Over,
    owners::ALICE,
    rounds,
    shell::{Ran, run, run_command},
    takt::{POLICY, apply, assert_no_trace, status, takt},
    wire::Wire,
};

const BOB: u32 = 1001;

const PLAIN: &str = "[link.near1]\nrate = \"100mbit\"\n";
/// A policy that needs a helper.
const GATED: &str = "[link.near1]\nrate = \"100mbit\"\n\
    [[link.near1.class]]\nname = \"backup\"\npriority = \"background\"\n\
    match = { proto = \"udp\", dst_port = 5002 }\n";

const RECORDS: &str = "/run/takt";
const PINS: &str = "/sys/fs/bpf";
/// The name of helpers of earlier versions.
const OLD_NAME: &str = "takt-helper";

/// takt's longest wait: for the lock, and then for a helper.
const LONGEST: Duration = Duration::from_secs(75);

/// Run as another user, without any of root's privileges.
fn as_plain_user<T: Send>(uid: u32, act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            // SAFETY: they change the calling thread alone, which ends with this.
            let done = unsafe {
                libc::syscall(libc::SYS_setgroups, 0, std::ptr::null::<libc::gid_t>()) == 0
                    && libc::syscall(libc::SYS_setresgid, uid, uid, uid) == 0
                    && libc::syscall(libc::SYS_setresuid, uid, uid, uid) == 0
            };
            assert!(done, "{}", io::Error::last_os_error());
            act()
        });
        inside.join().expect("no panic in the thread")
    })
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A BPF file system that every user can write into, until this is dropped.
struct OpenPins(u32);

impl OpenPins {
    fn new(mode: u32) -> Self {
        let before = fs::metadata(PINS).unwrap().mode() & 0o7777;
        set_mode(PINS, mode);
        Self(before)
    }
}

impl Drop for OpenPins {
    fn drop(&mut self) {
        set_mode(PINS, self.0);
    }
}

/// A socket with a backlog of one, which is taken, and no accept.
fn squat() -> (OwnedFd, UnixStream) {
    let listener = socket(
        AddressFamily::Unix,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )
    .unwrap();
    let address = UnixAddr::new_abstract(OLD_NAME.as_bytes()).unwrap();
    bind(listener.as_raw_fd(), &address).unwrap();
    listen(&listener, Backlog::new(0).unwrap()).unwrap();
    let address = SocketAddr::from_abstract_name(OLD_NAME).unwrap();
    let waits = UnixStream::connect_addr(&address).unwrap();
    (listener, waits)
}

#[test]
fn a_taken_name_is_in_nobodys_way() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let _squatter = as_plain_user(ALICE, squat);
        apply(GATED).ok();
        assert_helpers(1);
        takt("status").ok();
        apply(PLAIN).ok();
        assert_no_helper();
        apply(GATED).ok();
        takt("revert").ok();
        assert_no_helper();
        assert_no_trace();
    });
}

#[test]
fn no_user_can_reach_the_helper_or_the_lock() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply(GATED).ok();
        let helper = Path::new(RECORDS).join("helper");
        let sockets: Vec<PathBuf> = fs::read_dir(&helper)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(sockets.len(), 2, "{sockets:?}");
        let denied = |result: io::Result<()>| {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
        };
        for user in [ALICE, BOB] {
            as_plain_user(user, || {
                denied(File::open(RECORDS).map(drop));
                denied(File::open(&helper).map(drop));
                for path in &sockets {
                    denied(File::open(path).map(drop));
                    denied(UnixStream::connect(path).map(drop));
                }
                denied(fs::write(helper.join("mine"), ""));
            });
        }
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_lock_on_what_a_user_can_open_hangs_nothing() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let _pins = OpenPins::new(0o1777);
        let lock = |path: &str| {
            let file = File::open(path).unwrap();
            Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| errno)
        };
        let users = [(ALICE, PINS), (BOB, "/run"), (BOB, "/lab")];
        let _locks = users.map(|(user, path)| as_plain_user(user, || lock(path).unwrap()));
        let begun = Instant::now();
        apply(PLAIN).ok();
        takt("status").ok();
        takt("revert").ok();
        assert!(begun.elapsed() < LONGEST);
        assert_no_trace();
    });
}

#[test]
fn a_directory_made_first_is_named_with_its_owner() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let _pins = OpenPins::new(0o1777);
        let pins = Path::new(PINS);
        // Every name that a user can predict.
        let aside = format!("takt-aside-{}", std::process::id());
        as_plain_user(ALICE, || fs::create_dir(pins.join(&aside)).unwrap());
        for (name, policy) in [
            ("takt", PLAIN),
            ("takt-beats", PLAIN),
            ("takt-crowd", PLAIN),
        ] {
            let dir = pins.join(name);
            as_plain_user(ALICE, || {
                DirBuilder::new().create(&dir).unwrap();
                set_mode(&dir, 0o755);
            });
            let said = format!(
                "{} is a directory that belongs to user {ALICE}",
                dir.display()
            );
            let remedy = format!("rmdir {}", dir.display());
            let said = [said.as_str(), "mode 0755", &remedy];
            apply(policy).says(&said).ends_with(1);
            takt("revert").says(&said).ends_with(1);
            assert!(!Path::new(RECORDS).exists());
            run(&remedy).ok();
            apply(policy).ok();
            takt("revert").ok();
        }
        // It belongs to ALICE, and stays so.
        fs::remove_dir(pins.join(&aside)).unwrap();
        assert_no_trace();
    });
}

#[test]
fn a_file_system_where_all_can_replace_all_is_refused() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let pins = OpenPins::new(0o777);
        apply(PLAIN)
            .says(&["mode 0777", "chmod +t /sys/fs/bpf"])
            .ends_with(3);
        drop(pins);
        apply(PLAIN).ok();
        takt("revert").ok();
        assert_no_trace();
    });
}

/// Everything below, itself included.
fn walk(path: &Path, found: &mut Vec<PathBuf>) {
    found.push(path.to_owned());
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            walk(&entry.unwrap().path(), found);
        }
    }
}

#[track_caller]
fn assert_roots_alone() {
    let mut found = Vec::new();
    walk(Path::new(RECORDS), &mut found);
    for name in ["takt", "takt-beats", "takt-crowd"] {
        walk(&Path::new(PINS).join(name), &mut found);
    }
    for path in &found {
        let entry = fs::symlink_metadata(path).unwrap();
        let wanted = if entry.is_dir() { 0o700 } else { 0o600 };
        let found = (entry.uid(), entry.mode() & 0o7777);
        assert_eq!(found, (0, wanted), "{}: {:o}", path.display(), found.1);
    }
    // Pins, records, and the helper's socket.
    assert!(found.len() > 60, "{found:?}");
}

fn at_umask(mask: libc::mode_t, line: &str) -> Ran {
    let mut command = Command::new("takt");
    command.args(line.split(' '));
    // SAFETY: one system call.
    unsafe {
        command.pre_exec(move || {
            libc::umask(mask);
            Ok(())
        });
    }
    run_command(&mut command)
}

#[test]
fn at_any_umask_all_is_roots_alone() {
    DEFAULT.alone().run(|| {
        let _wires = [1, 2].map(Wire::new);
        run("takt crowd key /lab/hostile.key");
        let crowd = "[crowd]\ngroup = \"lab\"\nkey_file = \"hostile.key\"\ndevice = \"near1\"\n";
        let policy = format!("{EVERYTHING}{crowd}");
        fs::write(POLICY, &policy).unwrap();
        for mask in [0, 0o777] {
            at_umask(mask, &format!("apply {POLICY}")).ok();
            assert_roots_alone();
            let other = policy.replace("200mbit", "100mbit");
            fs::write(POLICY, &other).unwrap();
            at_umask(mask, &format!("apply {POLICY}")).ok();
            assert_roots_alone();
            at_umask(mask, "revert").ok();
            assert_no_trace();
            fs::write(POLICY, &policy).unwrap();
        }
        // The state that an earlier version left.
        apply(&policy).ok();
        for dir in ["/run/takt", "/run/takt/links", "/sys/fs/bpf/takt"] {
            set_mode(dir, 0o755);
        }
        apply(&policy.replace("200mbit", "100mbit")).ok();
        assert_roots_alone();
        takt("revert").ok();
        assert_no_trace();
    });
}

/// A record changed by another user or a careless administrator.
type Break<'a> = &'a dyn Fn(&Path);

/// The record of the first link.
fn record() -> PathBuf {
    let mut found = Vec::new();
    walk(&Path::new(RECORDS).join("links"), &mut found);
    let mut records = found.into_iter().filter(|path| path.is_file());
    records.next().unwrap()
}

#[test]
fn a_replaced_record_is_not_obeyed() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let copy = Path::new("/lab/record.json");
        let breaks: [(Break, &str); 4] = [
            (&|path| chown(path, Some(ALICE), None).unwrap(), "user 1000"),
            (&|path| set_mode(path, 0o666), "mode 0666"),
            (&|path| set_mode(path.parent().unwrap(), 0o777), "mode 0777"),
            (
                &|path| {
                    // Of another file system, perhaps.
                    fs::copy(path, copy).unwrap();
                    fs::remove_file(path).unwrap();
                    symlink(copy, path).unwrap();
                },
                "a symbolic link",
            ),
        ];
        for (break_it, says) in breaks {
            apply(PLAIN).ok();
            let path = record();
            break_it(&path);
            takt("revert").says(&[RECORDS, says]).ends_with(1);
            takt("status").says(&[RECORDS, says]).ends_with(1);
            run("tc qdisc show dev near1").says(&["takt"]).ok();
            set_mode(path.parent().unwrap(), 0o700);
            fs::remove_file(&path).unwrap();
            takt("revert").ok();
            assert_no_trace();
        }
        for (kind, says) in [("directory", "mode 0777"), ("link", "a symbolic link")] {
            match kind {
                "link" => symlink("/lab", RECORDS).unwrap(),
                _ => {
                    fs::create_dir(RECORDS).unwrap();
                    set_mode(RECORDS, 0o777);
                }
            }
            apply(PLAIN).says(&[RECORDS, says]).ends_with(1);
            takt("revert").says(&[RECORDS, says]).ends_with(1);
            let removed = fs::remove_file(RECORDS);
            removed.or_else(|_| fs::remove_dir(RECORDS)).unwrap();
        }
    });
}

#[test]
fn keys_of_others_are_refused_with_their_mode() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let dir = Path::new("/lab/keys");
        fs::create_dir(dir).unwrap();
        set_mode("/lab", 0o755);
        set_mode(dir, 0o755);
        let key = dir.join("crowd.key");
        let policy =
            "[crowd]\ngroup = \"lab\"\nkey_file = \"keys/crowd.key\"\ndevice = \"near1\"\n";
        let check = format!("check {POLICY}");
        let both = |says: &[&str]| {
            apply(policy).says(says).ends_with(2);
            takt(&check).says(says).ends_with(2);
        };
        let at = format!("{POLICY}:3:");
        both(&[
            &at,
            "takt::policy::key_file",
            "No such file",
            "takt crowd key",
        ]);
        takt(&format!("crowd key {}", key.display())).ok();
        assert_eq!(fs::metadata(&key).unwrap().mode() & 0o7777, 0o600);
        for mode in [0o640, 0o604, 0o620] {
            set_mode(&key, mode);
            both(&[&at, &format!("mode {mode:04o}"), "chmod 600"]);
        }
        set_mode(&key, 0o600);
        chown(&key, Some(ALICE), Some(ALICE)).unwrap();
        apply(policy).says(&[&at, "user 1000"]).ends_with(2);
        // Her own key is in order for her.
        as_alice(&check).says(&["a crowd"]).ok();
        chown(&key, Some(0), Some(0)).unwrap();
        takt(&check).ok();
        // A user who may not read the key can see that it exists, or not even that.
        let seen = as_alice(&check).says(&["a crowd"]).ends_with(0);
        assert!(
            !seen.stderr.contains("takt::policy::key_file"),
            "{}",
            seen.stderr
        );
        set_mode(dir, 0o700);
        as_alice(&check)
            .says(&["a crowd", "cannot be checked", "⚠"])
            .ends_with(0);
        apply(policy).ok();
        takt("revert").ok();
        fs::remove_dir_all(dir).unwrap();
        assert_no_trace();
    });
}

#[test]
fn status_beside_apply_and_revert_is_of_one_moment() {
    DEFAULT.alone().run(|| {
        let _wires = [1, 2].map(Wire::new);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let changing = scope.spawn(|| {
                let _over = Over(&is_over);
                for _ in rounds::in_turn("changes beside status", 0..15, 3) {
                    apply(&PLAIN.replace("near1", "near2")).ok();
                    apply(PLAIN).ok();
                    apply(GATED).ok();
                    takt("revert").ok();
                }
            });
            let (mut looks, mut changes) = (0, 0);
            while !is_over.load(Relaxed) {
                let ran = takt("status --output json").ends_with(0);
                changes += u32::from(!ran.json()["changing"].is_null());
                looks += 1;
            }
            changing.join().unwrap();
            println!("{looks} looks, {changes} at a change");
            assert!(looks > 20);
        });
        assert_no_trace();
    });
}

#[test]
fn a_takt_that_hangs_is_named_by_all_others() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply(PLAIN).ok();
        let dir = File::open(RECORDS).unwrap();
        let lock = Flock::lock(dir, FlockArg::LockExclusive).unwrap();
        let own = format!("process {} ", std::process::id());
        let begun = Instant::now();
        takt("status").says(&["changing: ", &own, "near1"]).ok();
        assert!(begun.elapsed() < Duration::from_secs(10));
        for (command, word) in [
            (format!("apply {POLICY}"), "60 s"),
            ("revert".into(), "60 s"),
        ] {
            let begun = Instant::now();
            takt(&command)
                .says(&[&own, word, "takt explain host::busy"])
                .ends_with(1);
            assert!(begun.elapsed() < LONGEST);
        }
        drop(lock);
        let (links, code) = status();
        assert_eq!((links.len(), code), (1, Some(0)));
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_helper_that_hangs_holds_nothing_up() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        apply(GATED).ok();
        let [helper] = helpers()[..] else {
            panic!("there is one helper")
        };
        kill(helper, Signal::SIGSTOP).unwrap();
        let own = format!("process {helper} ");
        thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let other = GATED.replace("100mbit", "50mbit");
                apply(&other)
                    .says(&["the policy is in force", &own, "does not answer"])
                    .ends_with(1);
            });
            // It waits for the helper, and has released the lock.
            thread::sleep(Duration::from_secs(5));
            let (links, code) = status();
            assert_eq!((links[0].rate_bps, code), (50_000_000, Some(0)));
            asking.join().unwrap();
        });
        // The helper is not needed for that.
        apply(PLAIN).ok();
        takt("revert")
            .says(&["everything was restored", &own])
            .ends_with(1);
        run("tc qdisc show dev near1").ok();
        kill(helper, Signal::SIGCONT).unwrap();
        assert_no_helper();
        takt("revert").ok();
        assert_no_trace();
    });
}

#[test]
fn a_revert_beside_an_apply_is_no_error_of_either() {
    TWO_PROCESSORS.run(|| {
        let _wire = Wire::new(1);
        fs::write(POLICY, GATED).unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let applying = scope.spawn(|| {
                let _over = Over(&is_over);
                for _ in rounds::in_turn("applies beside reverts", 0..15, 5) {
                    takt(&format!("apply {POLICY}")).ok();
                }
            });
            while !is_over.load(Relaxed) {
                takt("revert").ok();
            }
            applying.join().unwrap();
        });
        takt("revert").ok();
        assert_no_helper();
        assert_no_trace();
    });
}

#[test]
fn a_helper_for_good_keeps_its_place() {
    DEFAULT.alone().run(|| {
        let _wire = Wire::new(1);
        let mut helper = Command::new("takt").arg("feed").spawn().unwrap();
        assert_helpers(1);
        let has_place = || fs::read_dir("/run/takt/helper").is_ok_and(|found| found.count() == 2);
        let is_there = (0..500).any(|_| {
            thread::sleep(Duration::from_millis(10));
            has_place()
        });
        assert!(is_there);
        for _ in 0..2 {
            takt("revert").ok();
            assert!(has_place());
            apply(GATED).ok();
            assert_helpers(1);
        }
        helper.kill().unwrap();
        helper.wait().unwrap();
        takt("revert").ok();
        assert_no_trace();
    });
}
