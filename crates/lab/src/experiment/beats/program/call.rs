//! System calls that are repeated, each with what it needs prepared.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{sched_getaffinity, sched_setaffinity};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::kill;
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getpid};

use super::ordinary::counted;
use super::pages::{Pages, ROOM_BYTES};
use crate::experiment::beats::calls::Call;
use crate::experiment::beats::script::{Record, Window};
use crate::experiment::error::{Result, WhileDoing};

const DATA_BYTES: usize = 1 << 20;
const POLLED: usize = 64;

type Once = Box<dyn FnMut() -> io::Result<()>>;

/// Counts the calls.
pub fn repeat(call: Call, window: Window) -> Result<Record> {
    let mut once = prepare(call).doing("prepare a system call")?;
    counted(window, || once().map(|()| 1).doing("repeat a system call"))
}

fn prepare(call: Call) -> io::Result<Once> {
    Ok(match call {
        Call::Fork => Box::new(fork_once),
        Call::Execve => Box::new(|| Command::new("/bin/true").status().map(drop)),
        Call::Clone => Box::new(|| {
            let thread = std::thread::Builder::new().spawn(|| {})?;
            thread.join().map_err(|_| io::ErrorKind::Other.into())
        }),
        Call::Kill => Box::new(|| Ok(kill(getpid(), None)?)),
        Call::Getpid => Box::new(|| {
            std::hint::black_box(getpid());
            Ok(())
        }),
        Call::Getrusage => Box::new(|| Ok(getrusage(UsageWho::RUSAGE_SELF).map(drop)?)),
        Call::Prctl => Box::new(|| Ok(nix::sys::prctl::get_name().map(drop)?)),
        Call::SchedSetaffinity => {
            let own = sched_getaffinity(Pid::from_raw(0))?;
            Box::new(move || Ok(sched_setaffinity(Pid::from_raw(0), &own)?))
        }
        Call::SchedSetscheduler => Box::new(set_scheduler_once),
        Call::SchedYield => Box::new(|| {
            std::thread::yield_now();
            Ok(())
        }),
        Call::Mmap => Box::new(|| Pages::map(ROOM_BYTES).map(drop)),
        Call::Mlock => with_pages(Pages::lock_again)?,
        Call::Mprotect => with_pages(Pages::protect_and_back)?,
        Call::Mremap => with_pages(Pages::grow_and_back)?,
        Call::Madvise => with_pages(Pages::drop_and_touch)?,
        Call::Mincore => with_pages(Pages::ask_residence)?,
        Call::MemfdCreate => {
            let data = vec![0; DATA_BYTES];
            Box::new(move || {
                let file = memfd_create(c"call", MFdFlags::MFD_CLOEXEC)?;
                File::from(file).write_all(&data)
            })
        }
        Call::Open => Box::new(|| File::open("/dev/null").map(drop)),
        Call::Stat => Box::new(|| fs::metadata("/dev/null").map(drop)),
        Call::Read => {
            let (mut zeros, mut data) = (File::open("/dev/zero")?, vec![0; DATA_BYTES]);
            Box::new(move || zeros.read_exact(&mut data))
        }
        Call::Write => {
            let (mut file, data) = (tempfile::tempfile()?, vec![0; DATA_BYTES]);
            Box::new(move || {
                file.rewind()?;
                file.write_all(&data)
            })
        }
        Call::Fsync => {
            let mut file = tempfile::tempfile()?;
            Box::new(move || {
                file.rewind()?;
                file.write_all(b"byte")?;
                file.sync_all()
            })
        }
        Call::Rename => {
            let dir = tempfile::tempdir()?;
            let mut names = [dir.path().join("one"), dir.path().join("other")];
            File::create(&names[0])?;
            Box::new(move || {
                let _kept = &dir;
                fs::rename(&names[0], &names[1])?;
                names.swap(0, 1);
                Ok(())
            })
        }
        Call::Unlink => {
            let dir = tempfile::tempdir()?;
            Box::new(move || {
                let name = dir.path().join("file");
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(&name)?;
                fs::remove_file(name)
            })
        }
        Call::Mkdir => {
            let dir = tempfile::tempdir()?;
            Box::new(move || {
                let name = dir.path().join("dir");
                fs::create_dir(&name)?;
                fs::remove_dir(name)
            })
        }
        Call::Getdents => Box::new(|| {
            fs::read_dir("/proc")?.for_each(drop);
            Ok(())
        }),
        Call::ReadMaps => Box::new(|| fs::read("/proc/self/maps").map(drop)),
        Call::Flock => {
            let mut file = Some(tempfile::tempfile()?);
            Box::new(move || {
                let Some(held) = file.take() else {
                    return Err(Errno::EBADF.into());
                };
                let lock = Flock::lock(held, FlockArg::LockExclusive).map_err(|(_, e)| e)?;
                file = Some(lock.unlock().map_err(|(_, errno)| errno)?);
                Ok(())
            })
        }
        Call::Pipe => Box::new(|| {
            let (mut from, mut to) = io::pipe()?;
            to.write_all(&[0])?;
            from.read_exact(&mut [0])
        }),
        Call::Eventfd => {
            let event = EventFd::new()?;
            Box::new(move || {
                event.write(1)?;
                Ok(event.read().map(drop)?)
            })
        }
        Call::Futex => Box::new(wake_once),
        Call::EpollWait => {
            let (epoll, events) = (Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?, event_fds()?);
            for event in &events {
                epoll.add(event, EpollEvent::new(EpollFlags::EPOLLIN, 0))?;
            }
            let mut ready = [EpollEvent::empty(); POLLED];
            Box::new(move || {
                let _kept = &events;
                Ok(epoll.wait(&mut ready, EpollTimeout::ZERO).map(drop)?)
            })
        }
        Call::Poll => {
            let events = event_fds()?;
            Box::new(move || {
                let fds = events
                    .iter()
                    .map(|event| PollFd::new(event.as_fd(), PollFlags::POLLIN));
                let mut fds: Vec<_> = fds.collect();
                Ok(poll(&mut fds, PollTimeout::ZERO).map(drop)?)
            })
        }
        Call::Socketpair => Box::new(|| {
            let (mut one, mut other) = UnixStream::pair()?;
            one.write_all(&[0])?;
            other.read_exact(&mut [0])
        }),
        Call::Socket => Box::new(|| UdpSocket::bind("127.0.0.1:0").map(drop)),
        Call::Sendto => {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            let own = socket.local_addr()?;
            Box::new(move || {
                socket.send_to(&[0; 1472], own)?;
                socket.recv(&mut [0; 1472]).map(drop)
            })
        }
        Call::Connect => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let own = listener.local_addr()?;
            Box::new(move || {
                let _near = TcpStream::connect(own)?;
                listener.accept().map(drop)
            })
        }
        Call::Nanosleep => Box::new(|| {
            std::thread::sleep(Duration::from_micros(1));
            Ok(())
        }),
        Call::TimerfdSettime => {
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::empty())?;
            let later = Expiration::OneShot(TimeSpec::from_duration(Duration::from_secs(3600)));
            Box::new(move || Ok(timer.set(later, TimerSetTimeFlags::empty())?))
        }
        Call::Getrandom => {
            let (mut random, mut data) = (File::open("/dev/urandom")?, vec![0; DATA_BYTES]);
            Box::new(move || random.read_exact(&mut data))
        }
    })
}

fn with_pages(mut once: impl FnMut(&mut Pages) -> io::Result<()> + 'static) -> io::Result<Once> {
    let mut pages = Pages::map(ROOM_BYTES)?;
    Ok(Box::new(move || once(&mut pages)))
}

fn event_fds() -> io::Result<Vec<EventFd>> {
    Ok((0..POLLED)
        .map(|_| EventFd::new())
        .collect::<nix::Result<_>>()?)
}

fn fork_once() -> io::Result<()> {
    // SAFETY: the child does nothing but end.
    match unsafe { fork() }? {
        // SAFETY: as above; nothing of this process is cleaned up.
        ForkResult::Child => unsafe { libc::_exit(0) },
        ForkResult::Parent { child } => Ok(waitpid(child, None).map(drop)?),
    }
}

/// To the class that it has.
fn set_scheduler_once() -> io::Result<()> {
    let param = libc::sched_param { sched_priority: 0 };
    // SAFETY: `param` is valid, and 0 is this thread.
    let done = unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &param) };
    Ok(Errno::result(done).map(drop)?)
}

/// A futex for which no thread waits.
fn wake_once() -> io::Result<()> {
    let futex = 0u32;
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the address is valid, and the kernel reads nothing from it.
    let woken = unsafe { libc::syscall(libc::SYS_futex, &raw const futex, wake, 1) };
    Ok(Errno::result(woken).map(drop)?)
}
