//! Rules by program, user, control group and unit: unmodified programs are recognised when they
//! connect, accept or send.

use std::{
    fs,
    io::{self, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use crate::{
    flow::in_far_namespace,
    kernel_bpf::{Held, wait_for},
    machine::{DEFAULT, NEWEST, TWO_PROCESSORS},
    shell::run,
    takt::{apply, apply_with, link, takt},
    wire::Wire,
};

pub const POLICY: &str = r#"
[link.near1]
rate = "1gbit"

[[link.near1.class]]
name = "both"
match = { app = "player", user = 1000 }

[[link.near1.class]]
name = "program"
match = { app = "player" }

[[link.near1.class]]
name = "person"
match = { user = 1000 }

[[link.near1.class]]
name = "group"
match = { cgroup = "machines/backup.slice" }

[[link.near1.class]]
name = "unit"
match = { unit = "web.service" }
"#;

const PLAIN: &str = r#"
[link.near1]
rate = "1gbit"
"#;

/// Where the programs that watch sockets are pinned.
pub const WATCHING: &str = "/sys/fs/bpf/takt-sockets";

pub const ALICE: u32 = 1000;

#[test]
fn by_what_the_owner_is() {
    DEFAULT.run(|| what_the_owner_is(&quiet_wire(), POLICY));
}

#[test]
fn by_what_the_owner_is_on_the_newest_kernel() {
    NEWEST.run(|| what_the_owner_is(&quiet_wire(), POLICY));
}

#[test]
fn by_what_the_owner_is_on_two_processors() {
    TWO_PROCESSORS.run(|| what_the_owner_is(&quiet_wire(), POLICY));
}

pub fn what_the_owner_is(wire: &Wire, policy: &str) {
    apply(policy).ok();
    for way in WAYS {
        let go = || way(wire);
        assert_class("default", go);
        assert_class("program", || as_thread("player", go));
        assert_class("program", || as_process("player", go));
        assert_class("default", || as_thread("player2", go));
        assert_class("person", || as_user(ALICE, go));
        assert_class("both", || {
            as_thread("player", || as_user_here(ALICE, go));
        });
        let _group = Group::enter("machines/backup.slice");
        assert_class("group", go);
        let _below = Group::enter("machines/backup.slice/web.service/deep");
        assert_class("group", go);
        let _unit = Group::enter("elsewhere.slice/web.service/deep");
        assert_class("unit", go);
        let _other = Group::enter("elsewhere.slice/not-web.service");
        assert_class("default", go);
        let _longest = Group::enter(&format!("backup.slice/{}", "x".repeat(255)));
        assert_class("default", go);
    }
}

#[test]
fn names_of_any_length_and_depth() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        for path in [
            "a".to_owned(),
            "b".repeat(63),
            "c".repeat(64),
            format!("{}/{}", "d".repeat(255), "e".repeat(126)),
            ["f"; 32].join("/"),
        ] {
            let policy = POLICY.replace("machines/backup.slice", &path);
            apply(&policy).ok();
            let _group = Group::enter(&path);
            assert_class("group", || udp_connected(&wire));
        }
    });
}

#[test]
fn users_by_their_names() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        let name = |name: &str| POLICY.replace("1000", &format!("\"{name}\""));
        apply(&name("root")).ok();
        assert_class("person", || udp_connected(&wire));
        let before = link("near1");
        for flags in ["", "--dry-run"] {
            apply_with(flags, &name("nosuchuser"))
                .says(&["there is no user nosuchuser"])
                .ends_with(2);
        }
        assert_eq!(link("near1").generation, before.generation);
        assert_class("person", || udp_connected(&wire));
    });
}

#[test]
fn sockets_that_were_there_before() {
    DEFAULT.run(|| answers_of_sockets_before(&quiet_wire(), str::to_owned));
}

/// `on`: turns a policy into one for a backend.
pub fn answers_of_sockets_before(wire: &Wire, on: impl Fn(&str) -> String) {
    let far = far_receiver(wire);
    let to = far.local_addr().unwrap();
    as_process("player", || {
        let udp = UdpSocket::bind("0.0.0.0:0").unwrap();
        udp.connect(to).unwrap();
        let listener = near_listener();
        let mut connected = Connected::new(&listener);
        let accepted = Connected::new(&listener);

        apply(&on(POLICY)).ok();
        assert_class("program", || send(&udp));
        assert_class("program", || connected.talk());
        assert_class("program", || Connected::new(&listener).talk());

        // Questions are renumbered, and a socket changes its class, in one step.
        let other = POLICY.replace("player", "recorder");
        apply(&on(&other)).ok();
        assert_class("default", || send(&udp));
        assert_class("default", || connected.talk());
        let reordered = format!(
            "{PLAIN}{}{}",
            class("first", "{ app = \"other\" }"),
            class("second", "{ app = \"player\" }")
        );
        apply(&on(&reordered)).ok();
        assert_class("second", || send(&udp));
        assert_class("second", || connected.talk());
        drop(accepted);
    });
}

#[test]
fn a_thread_is_remembered_over_a_new_policy() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        let far = far_receiver(&wire);
        apply(POLICY).ok();
        let udp = as_thread("player", || {
            let udp = UdpSocket::bind("0.0.0.0:0").unwrap();
            udp.connect(far.local_addr().unwrap()).unwrap();
            udp
        });
        apply(&POLICY.replace("1000", "1001")).ok();
        assert_class("program", || send(&udp));
    });
}

#[test]
fn accepting_or_sending_makes_the_owner() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        let far = far_receiver(&wire);
        let to = far.local_addr().unwrap();
        apply(POLICY).ok();
        let listener = as_thread("player", near_listener);
        let mut accepted = as_user(ALICE, || Connected::new(&listener));
        assert_class("person", || accepted.talk());

        let udp = as_thread("player", || UdpSocket::bind("0.0.0.0:0").unwrap());
        let send_there = || {
            udp.send_to(b"x", to).unwrap();
        };
        assert_class("program", send_there);
        assert_class("person", || as_user(ALICE, send_there));
        udp.connect(to).unwrap();
        assert_class("default", || send(&udp));
    });
}

#[test]
fn what_is_sent_after_close_still_counts() {
    DEFAULT.run(|| {
        let _wire = quiet_wire();
        let slow = POLICY.replace(
            "match = { app = \"player\" }",
            "rate = \"1mbit\"\nmatch = { app = \"player\" }",
        );
        // Frames are counted.
        apply(&slow.replacen("]\n", "]\npackets = \"mtu\"\n", 1)).ok();
        let listener = near_listener();
        let before = link("near1");
        let mut far = as_thread("player", || {
            let Connected {
                near: mut stream,
                far,
            } = Connected::new(&listener);
            stream.write_all(&[0; 50_000]).unwrap();
            far
        });
        let received = io::copy(&mut far, &mut io::sink()).unwrap();
        assert_eq!(received, 50_000);
        assert!(link("near1").sent_since(&before)["program"] > 50_000 / 1500);
    });
}

#[test]
fn closed_sockets_are_forgotten() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        apply(POLICY).ok();
        let before = known_sockets();
        let far = far_receiver(&wire);
        let sockets: Vec<UdpSocket> = (0..500)
            .map(|_| UdpSocket::bind("0.0.0.0:0").unwrap())
            .collect();
        for socket in &sockets {
            socket.send_to(b"x", far.local_addr().unwrap()).unwrap();
        }
        let listener = near_listener();
        let streams: Vec<Connected> = (0..500).map(|_| Connected::new(&listener)).collect();
        // The far ends are in a namespace without a policy of its own, and count like a container's.
        assert_eq!(known_sockets(), before + 1502);
        drop((sockets, streams, listener, far));
        // And sockets that were never used, refused, or not accepted.
        for _ in 0..10 {
            drop(TcpStream::connect((Ipv4Addr::LOCALHOST, 9)).unwrap_err());
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            drop(TcpStream::connect(listener.local_addr().unwrap()).unwrap());
        }
        wait_for(|| known_sockets() == before);
    });
}

#[test]
fn nothing_watches_longer_than_needed() {
    DEFAULT.run(|| {
        let wire = quiet_wire();
        let before = Held::now();
        apply(PLAIN).ok();
        // The last takt's objects are freed then.
        thread::sleep(Duration::from_secs(5));
        let plain = Held::now();
        assert!(!Path::new(WATCHING).exists());
        apply(POLICY).ok();
        assert!(Path::new(WATCHING).exists());
        assert!(Held::now().links > plain.links);
        let _open = UdpSocket::bind("0.0.0.0:0").unwrap();
        apply(POLICY).says(&["near1: unchanged"]).ok();
        assert_class("program", || as_thread("player", || udp_connected(&wire)));
        apply(PLAIN).ok();
        assert!(!Path::new(WATCHING).exists());
        assert_eq!(known_sockets(), 0);
        plain.wait_until_back();
        apply(POLICY).ok();
        takt("revert").ok();
        before.wait_until_back();
    });
}

#[test]
fn without_cgroup2_the_way_there_is_named() {
    DEFAULT.run(|| {
        let _wire = quiet_wire();
        run("umount /sys/fs/cgroup").ok();
        apply(POLICY)
            .says(&["mount -t cgroup2 none /sys/fs/cgroup"])
            .ends_with(3);
        takt("doctor")
            .says(&["missing  sockets", "mount -t cgroup2 none /sys/fs/cgroup"])
            .ends_with(3);
        // Rules without owners need no control groups.
        apply(PLAIN).ok();
        run("mount -t cgroup2 none /sys/fs/cgroup").ok();
        apply(POLICY).ok();
    });
}

/// An idle wire: the kernel reports new addresses to their multicast groups some seconds later.
/// Waiting costs nothing in virtual time.
pub fn quiet_wire() -> Wire {
    let wire = Wire::new(1);
    thread::sleep(Duration::from_secs(20));
    wire
}

fn class(name: &str, matches: &str) -> String {
    format!("[[link.near1.class]]\nname = \"{name}\"\nmatch = {matches}\n")
}

/// Assert that the action makes one class send, and no other.
#[track_caller]
pub fn assert_class(class: &str, act: impl FnOnce()) {
    let before = link("near1");
    act();
    let after = link("near1");
    let sent = after.sent_since(&before);
    assert!(sent.keys().eq([class]), "{class}: {sent:?} of {after:#?}");
}

const WAYS: [fn(&Wire); 4] = [udp_connected, udp_addressed, tcp_connecting, tcp_accepting];

pub fn far_receiver(wire: &Wire) -> UdpSocket {
    let address = (wire.far_v4().parse::<Ipv4Addr>().unwrap(), 0);
    in_far_namespace(|| UdpSocket::bind(address).unwrap())
}

pub fn send(connected: &UdpSocket) {
    connected.send(b"x").unwrap();
}

pub fn udp_connected(wire: &Wire) {
    let far = far_receiver(wire);
    let near = UdpSocket::bind("0.0.0.0:0").unwrap();
    near.connect(far.local_addr().unwrap()).unwrap();
    near.send(b"x").unwrap();
}

pub fn udp_addressed(wire: &Wire) {
    let far = far_receiver(wire);
    let near = UdpSocket::bind("0.0.0.0:0").unwrap();
    near.send_to(b"x", far.local_addr().unwrap()).unwrap();
}

fn tcp_connecting(wire: &Wire) {
    let address = (wire.far_v4().parse::<Ipv4Addr>().unwrap(), 0);
    let listener = in_far_namespace(|| TcpListener::bind(address).unwrap());
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (far, _) = listener.accept().unwrap();
    Connected { near, far }.end();
}

fn tcp_accepting(_: &Wire) {
    Connected::new(&near_listener()).end();
}

pub fn near_listener() -> TcpListener {
    TcpListener::bind("10.1.0.1:0").unwrap()
}

/// A connection that the far end opened.
pub struct Connected {
    near: TcpStream,
    far: TcpStream,
}

impl Connected {
    pub fn new(listener: &TcpListener) -> Self {
        let address = listener.local_addr().unwrap();
        let far = in_far_namespace(|| TcpStream::connect(address).unwrap());
        let (near, _) = listener.accept().unwrap();
        Self { near, far }
    }

    pub fn far_address(&self) -> SocketAddr {
        self.near.peer_addr().unwrap()
    }

    pub fn talk(&mut self) {
        self.near.write_all(b"x").unwrap();
        self.far.read_exact(&mut [0]).unwrap();
    }

    /// Closed from the far end first: packets after a socket's end have no owner.
    fn end(mut self) {
        self.talk();
        self.far.shutdown(Shutdown::Write).unwrap();
        assert_eq!(self.near.read(&mut [0]).unwrap(), 0);
        self.near.shutdown(Shutdown::Write).unwrap();
        assert_eq!(self.far.read(&mut [0]).unwrap(), 0);
    }
}

fn as_thread<T: Send>(name: &str, act: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.to_owned());
        let inside = thread.spawn_scoped(scope, act).unwrap();
        inside.join().expect("no panic in the thread")
    })
}

/// Under another name of the whole process.
pub fn as_process<T>(name: &str, act: impl FnOnce() -> T) -> T {
    let _name = Name::of_process(name);
    act()
}

/// The process's earlier name.
struct Name(String);

const NAME: &str = "/proc/self/comm";

impl Name {
    fn of_process(name: &str) -> Self {
        let before = fs::read_to_string(NAME).unwrap();
        fs::write(NAME, name).unwrap();
        Self(before.trim_end().to_owned())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        fs::write(NAME, &self.0).unwrap();
    }
}

pub fn as_user<T: Send>(uid: u32, act: impl FnOnce() -> T + Send) -> T {
    as_thread("somebody", || as_user_here(uid, act))
}

/// For a thread that ends afterwards.
fn as_user_here<T>(uid: u32, act: impl FnOnce() -> T) -> T {
    // Otherwise it could not enter the far namespace any more.
    const KEEP_CAPABILITIES: libc::c_ulong = 1 << 2;
    // SAFETY: they change the calling thread, and not, as the C library's
    // function would, the whole process.
    let done = unsafe {
        libc::prctl(libc::PR_SET_SECUREBITS, KEEP_CAPABILITIES) == 0
            && libc::syscall(libc::SYS_setresuid, -1, uid, -1) == 0
    };
    assert!(done, "{}", io::Error::last_os_error());
    act()
}

/// A control group that this process is in; it goes back to the root.
pub struct Group(PathBuf);

const GROUPS: &str = "/sys/fs/cgroup";

impl Group {
    pub fn enter(path: &str) -> Self {
        let path = Path::new(GROUPS).join(path);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("cgroup.procs"), "0").unwrap();
        Self(path)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        fs::write(Path::new(GROUPS).join("cgroup.procs"), "0").unwrap();
        // Groups above it may have other members still.
        let own = self
            .0
            .ancestors()
            .take_while(|path| *path != Path::new(GROUPS));
        for path in own {
            if fs::remove_dir(path).is_err() {
                break;
            }
        }
    }
}

fn known_sockets() -> usize {
    crate::kernel_bpf::entries("/sys/fs/bpf/takt/takt_sockets")
}
