//! Hostile users of taktd: none of them delays root, another user, or taktd's own work.

use std::{
    fs::{self, File, Permissions},
    io::{BufRead, BufReader, Read, Write},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixStream,
    },
    path::Path,
    thread,
    time::{Duration, Instant},
};

use nix::{
    fcntl::{Flock, FlockArg},
    sys::{
        signal::{Signal, kill},
        stat::{Mode, umask},
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, Gid, Pid, Uid, fork, pause, setresgid, setresuid},
};
use serde_json::Value;

use crate::{
    daemon::{Daemon, ROOT_SOCKET, SOCKET, say, say_at},
    kernel_bpf::{entries, wait_for},
    machine::DEFAULT,
    owners::{ALICE, as_user, quiet_wire},
    shell::run,
    takt::{apply, takt},
};

const BOB: u32 = 1001;
const CAROL: u32 = 1002;
const LIST: &str = r#"{"list":{}}"#;

const POLICY: &str = r#"
[link.near1]
rate = "100mbit"

[[link.near1.class]]
name = "background"
priority = "background"
match = { registered = true }
"#;

#[test]
fn a_flood_of_connections_holds_up_neither_root_nor_the_end() {
    DEFAULT.run(|| {
        let _wire = quiet_wire();
        let daemon = Daemon::start();
        apply(POLICY).ok();
        let flood = [ALICE, BOB].map(Process::that_floods);
        thread::sleep(Duration::from_millis(500));
        for (flooder, uid) in flood.iter().zip([ALICE, BOB]) {
            flooder.assert_floods_as(uid);
        }

        let ask = |socket: &str| {
            let began = Instant::now();
            let answer = say_at(socket, LIST);
            assert!(answer["ok"].is_object(), "{answer}");
            began.elapsed()
        };
        let mut took: Vec<_> = (0..50).map(|_| ask(ROOT_SOCKET)).collect();
        took.sort();
        println!("root: median {:?}, worst {:?}", took[25], took[49]);
        assert!(took[49] < Duration::from_millis(100), "{took:?}");
        takt("background list").ok();
        // Another user has to queue, and is answered.
        let mut took: Vec<_> = (0..10).map(|_| as_user(CAROL, || ask(SOCKET))).collect();
        took.sort();
        println!("a user: median {:?}, worst {:?}", took[5], took[9]);
        assert!(took[9] < Duration::from_secs(1), "{took:?}");
        // Time passes meanwhile.
        takt("background add 10.1.0.2:873 --for 1s").ok();
        thread::sleep(Duration::from_secs(3));
        takt("background list")
            .says(&["nothing is registered"])
            .ok();

        let took = daemon.ends_with(Signal::SIGTERM);
        println!("to the end: {took:?}");
        assert!(took < Duration::from_secs(1), "{took:?}");
        drop(flood);
        takt("revert").ok();
    });
}

#[test]
fn a_lock_of_a_users_keeps_no_taktd_from_starting() {
    DEFAULT.run(|| {
        let before = umask(Mode::empty());
        let daemon = Daemon::start();
        let mode = |path: &str| {
            let found = fs::symlink_metadata(path).unwrap();
            assert_eq!((found.uid(), found.gid()), (0, 0), "{path}");
            found.mode() & 0o7777
        };
        assert_eq!(mode("/run/taktd"), 0o711);
        assert_eq!(mode("/run/taktd/lock"), 0o600);
        assert_eq!(mode(ROOT_SOCKET), 0o600);
        assert_eq!(mode(SOCKET), 0o666);
        umask(before);

        let named = format!("as process {}", daemon.id());
        run("taktd")
            .says(&["another taktd is running", &named])
            .ends_with(1);
        let _locks = ["/run/taktd", "/run/taktd/lock"].map(|path| Process::that_locks(ALICE, path));
        thread::sleep(Duration::from_millis(500));
        for path in ["/run/taktd", "/run/taktd/lock"] {
            let opens = Process::new(ALICE, || File::open(path).is_ok());
            assert!(!opens.ends_well(), "{path}");
        }
        assert!(connects(ALICE, SOCKET));
        assert!(!connects(ALICE, ROOT_SOCKET));
        daemon.ends_with(Signal::SIGKILL);
        let daemon = Daemon::start();
        daemon.ends_with(Signal::SIGTERM);
    });
}

#[test]
fn what_stands_in_its_place_is_named() {
    DEFAULT.run(|| {
        wait_for(|| !Path::new("/run/taktd").exists() || fs::remove_dir_all("/run/taktd").is_ok());
        symlink("/tmp", "/run/taktd").unwrap();
        run("taktd")
            .says(&["/run/taktd is a symbolic link of user 0"])
            .ends_with(1);
        fs::remove_file("/run/taktd").unwrap();
        fs::create_dir("/run/taktd").unwrap();
        fs::set_permissions("/run/taktd", Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown("/run/taktd", Some(ALICE), None).unwrap();
        run("taktd")
            .says(&["/run/taktd is a directory of user 1000 with mode 755"])
            .ends_with(1);
        assert!(fs::read_dir("/run/taktd").unwrap().next().is_none());
        fs::remove_dir("/run/taktd").unwrap();
    });
}

#[test]
fn sixteen_users_leave_room_for_root_and_one_more() {
    DEFAULT.run(|| {
        let _wire = quiet_wire();
        let daemon = Daemon::start();
        apply(POLICY).ok();
        let users: Vec<_> = (2000..2016).map(Conversation::for_user).collect();
        let mut users: Vec<_> = users.into_iter().map(|user| (user, 0, false)).collect();
        // Each user registers as often as it may ask, until it has reached its limit.
        while users.iter().any(|(_, _, is_full)| !is_full) {
            for (user, count, is_full) in users.iter_mut().filter(|(_, _, is_full)| !is_full) {
                let port = *count + 1;
                let answer = user.says(&format!(
                    r#"{{"add":{{"dst":"192.0.2.10","port":{port}}}}}"#
                ));
                match answer["error"]["code"].as_str() {
                    None => *count += 1,
                    Some("too_many") => *is_full = true,
                    Some("too_fast") => {}
                    Some(_) => panic!("{answer}"),
                }
            }
            thread::sleep(Duration::from_millis(101));
        }
        let counts: Vec<_> = users.iter().map(|(_, count, _)| *count).collect();
        println!("{counts:?}");
        let all: usize = counts.iter().sum();
        assert!(all > 2000 && counts.iter().all(|count| *count >= 50));

        let another = as_user(CAROL, || say(r#"{"add":{"dst":"192.0.2.1","port":1}}"#));
        assert_eq!(another["ok"]["added"], true, "{another}");
        takt("background add 192.0.2.10:873").ok();
        takt("background add 192.0.2.10:873 --everyone").ok();
        wait_for(|| entries("/sys/fs/bpf/takt/takt_registrations") == all + 3);
        daemon.ends_with(Signal::SIGTERM);
        takt("revert").ok();
    });
}

#[test]
fn five_users_with_slow_connections_leave_others_their_places() {
    DEFAULT.run(|| {
        let _daemon = Daemon::start();
        let of_one = |uid: u32| -> Vec<UnixStream> {
            let connect = || UnixStream::connect(SOCKET).unwrap();
            as_user(uid, || (0..16).map(|_| connect()).collect())
        };
        let mut slow: Vec<_> = (2000..2005).flat_map(of_one).collect();
        thread::sleep(Duration::from_millis(200));
        let trickle = |slow: &mut Vec<UnixStream>| {
            slow.retain_mut(|stream| stream.write_all(b"x").is_ok());
        };
        trickle(&mut slow);
        // All connections of users are taken, and other users can connect nevertheless.
        for uid in 3000..3020 {
            let answer = as_user(uid, || say(LIST));
            assert!(answer["ok"].is_object(), "{uid}: {answer}");
        }
        assert!(say_at(ROOT_SOCKET, LIST)["ok"].is_object());
        // A byte a second is no progress.
        for _ in 0..8 {
            thread::sleep(Duration::from_secs(1));
            trickle(&mut slow);
        }
        assert!(slow.is_empty(), "{} are left", slow.len());
    });
}

#[test]
fn who_does_not_read_answers_is_left() {
    DEFAULT.run(|| {
        let daemon = Daemon::start();
        let mut deaf = as_user(ALICE, || UnixStream::connect(SOCKET).unwrap());
        deaf.set_write_timeout(Some(Duration::from_secs(1)))
            .unwrap();
        let lines = "\n".repeat(4096);
        let mut written = 0;
        while deaf.write_all(lines.as_bytes()).is_ok() {
            written += lines.len();
            assert!(written < 1 << 24, "all of it is read");
        }
        let began = Instant::now();
        assert!(say_at(ROOT_SOCKET, LIST)["ok"].is_object());
        assert!(began.elapsed() < Duration::from_millis(100));
        thread::sleep(Duration::from_secs(7));
        let mut rest = Vec::new();
        deaf.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        // It ends instead of waiting for more.
        let _ = deaf.read_to_end(&mut rest);
        assert!(deaf.write_all(b"\n").is_err());
        daemon.ends_with(Signal::SIGTERM);
    });
}

/// A user's process, without any of root's capabilities, until this is dropped.
struct Process(Pid);

impl Process {
    /// Its exit status tells whether `act` succeeded.
    fn new(uid: u32, act: impl FnOnce() -> bool) -> Self {
        // SAFETY: the child makes system calls, and waits for nothing that another thread has.
        match unsafe { fork() }.unwrap() {
            ForkResult::Parent { child } => Self(child),
            ForkResult::Child => {
                let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
                let is_well = setresgid(group, group, group).is_ok()
                    && setresuid(user, user, user).is_ok()
                    && act();
                // SAFETY: it only ends.
                unsafe { libc::_exit(i32::from(!is_well)) }
            }
        }
    }

    /// Connects to taktd and disconnects, in an endless loop.
    fn that_floods(uid: u32) -> Self {
        Self::new(uid, || {
            loop {
                let _ = UnixStream::connect(SOCKET);
            }
        })
    }

    /// Takes a lock if it can.
    fn that_locks(uid: u32, path: &str) -> Self {
        Self::new(uid, || {
            let lock = File::open(path).map(|file| Flock::lock(file, FlockArg::LockExclusive));
            pause();
            drop(lock);
            true
        })
    }

    fn ends_well(self) -> bool {
        let ended = waitpid(self.0, None).unwrap();
        std::mem::forget(self);
        matches!(ended, WaitStatus::Exited(_, 0))
    }

    #[track_caller]
    fn assert_floods_as(&self, uid: u32) {
        let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", self.0)).unwrap();
        let status = read("status");
        let user = format!("Uid:\t{uid}\t{uid}\t{uid}\t");
        assert!(status.contains(&user), "{status}");
        let ran_ns: u64 = read("schedstat")
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        assert!(ran_ns > 10_000_000, "it ran for {ran_ns} ns");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = kill(self.0, Signal::SIGKILL);
        let _ = waitpid(self.0, None);
    }
}

/// One connection of a user's.
struct Conversation(BufReader<UnixStream>);

impl Conversation {
    fn for_user(uid: u32) -> Self {
        let stream = as_user(uid, || UnixStream::connect(SOCKET).unwrap());
        Self(BufReader::new(stream))
    }

    fn says(&mut self, line: &str) -> Value {
        writeln!(self.0.get_mut(), "{line}").unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }
}

fn connects(uid: u32, socket: &str) -> bool {
    Process::new(uid, || UnixStream::connect(socket).is_ok()).ends_well()
}
