//! A running flow, and TCP's report of it.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    os::fd::AsRawFd,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use nix::sys::socket::{getsockopt, setsockopt, sockopt::TcpCongestion};

/// As much as TCP accepts, to a listener.
pub struct Upload {
    socket: TcpStream,
    /// The other end.
    receiving: TcpStream,
    is_over: Arc<AtomicBool>,
    received_bytes: Arc<AtomicU64>,
}

impl Upload {
    /// With this congestion control, or the default one.
    pub fn start(listener: &TcpListener, congestion: Option<&str>) -> io::Result<Self> {
        let socket = TcpStream::connect(listener.local_addr()?)?;
        let (receiving, _) = listener.accept()?;
        Self::between(socket, receiving, congestion)
    }

    /// Over a connection that is open.
    pub fn between(
        socket: TcpStream,
        receiving: TcpStream,
        congestion: Option<&str>,
    ) -> io::Result<Self> {
        if let Some(congestion) = congestion {
            setsockopt(&socket, TcpCongestion, &congestion.into())?;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let received_bytes = Arc::new(AtomicU64::new(0));
        let (mut to, over) = (socket.try_clone()?, is_over.clone());
        thread::spawn(move || {
            let bytes = vec![0; 1 << 18];
            while !over.load(Ordering::Relaxed) && to.write_all(&bytes).is_ok() {}
        });
        let mut from = receiving.try_clone()?;
        let received = received_bytes.clone();
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 18];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                received.fetch_add(count as u64, Ordering::Relaxed);
            }
        });
        Ok(Self {
            socket,
            receiving,
            is_over,
            received_bytes,
        })
    }

    /// The congestion window, in segments.
    pub fn window(&self) -> u32 {
        self.info().tcpi_snd_cwnd
    }

    pub fn is_reached(&self, is_there: impl Fn(u32) -> bool) -> bool {
        self.comes_to(|upload| is_there(upload.window()))
    }

    /// Whether it gets there within a few seconds.
    pub fn comes_to(&self, is_there: impl Fn(&Self) -> bool) -> bool {
        let patience = Instant::now() + Duration::from_secs(5);
        while Instant::now() < patience {
            if is_there(self) {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        eprintln!("the window is {}", self.window());
        false
    }

    fn info(&self) -> libc::tcp_info {
        // SAFETY: all zero is a value of it.
        let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
        let mut bytes = size_of::<libc::tcp_info>() as u32;
        // SAFETY: as many bytes as there are.
        let got = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &mut bytes,
            )
        };
        assert_eq!(got, 0);
        info
    }

    pub fn congestion(&self) -> String {
        let name = getsockopt(&self.socket, TcpCongestion).expect("a socket of TCP");
        name.to_string_lossy().trim_end_matches('\0').to_owned()
    }

    /// No faster than this, which leaves the processor some idle time: only idle time is free in
    /// the lab.
    pub fn paced(self, rate_bytes_ps: u32) -> Self {
        // SAFETY: as many bytes as there are.
        let set = unsafe {
            libc::setsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_MAX_PACING_RATE,
                (&raw const rate_bytes_ps).cast(),
                size_of::<u32>() as u32,
            )
        };
        assert_eq!(set, 0);
        self
    }

    /// Sends no more; the connection stays.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// The congestion window and the threshold of slow start, in segments.
    pub fn windows(&self) -> (u32, u32) {
        let info = self.info();
        (info.tcpi_snd_cwnd, info.tcpi_snd_ssthresh)
    }

    /// The smoothed round trip of the sender.
    pub fn rtt_us(&self) -> u32 {
        self.info().tcpi_rtt
    }

    /// The largest window that the receiver may advertise.
    pub fn clamp_bytes(&self) -> u32 {
        let (mut clamp, mut bytes) = (0u32, size_of::<u32>() as u32);
        // SAFETY: as many bytes as there are.
        let got = unsafe {
            libc::getsockopt(
                self.receiving.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_WINDOW_CLAMP,
                (&raw mut clamp).cast(),
                &mut bytes,
            )
        };
        assert_eq!(got, 0);
        clamp
    }

    /// As its application may do.
    pub fn set_clamp_bytes(&self, clamp: u32) {
        // SAFETY: as many bytes as there are.
        let set = unsafe {
            libc::setsockopt(
                self.receiving.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_WINDOW_CLAMP,
                (&raw const clamp).cast(),
                size_of::<u32>() as u32,
            )
        };
        assert_eq!(set, 0);
    }

    /// Retransmitted segments.
    pub fn retransmitted(&self) -> u32 {
        self.info().tcpi_total_retrans
    }

    /// At the other end.
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes.load(Ordering::Relaxed)
    }

    /// Assert that it goes on.
    #[track_caller]
    pub fn assert_goes_on(&self) {
        let before = self.received_bytes();
        let goes_on = |upload: &Self| upload.received_bytes() > before;
        assert!(self.comes_to(goes_on), "nothing arrives any more");
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
