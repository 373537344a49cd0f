//! A client of JACK: in each cycle, the server has its thread call it back.
//!
//! The library is opened while the program runs, since no other part needs it.

use std::ffi::{CStr, CString, c_char, c_int, c_ulong, c_void};
use std::io;
use std::ptr::null_mut;
use std::time::Duration;

use super::class;
use super::work::Piece;
use crate::experiment::beats::clock::{now_ns, sleep_until};
use crate::experiment::beats::script::{Record, Window, Wire};
use crate::experiment::error::{Result, WhileDoing};

/// Its place in the image.
const LIBRARY: &CStr = c"/add/libjack.so.0";
const AUDIO: &CStr = c"32 bit float mono audio";
const INPUT: (&CStr, c_ulong) = (c"in", 1);
const OUTPUT: (&CStr, c_ulong) = (c"out", 2);
const START_NO_SERVER: c_int = 1;
/// The other client may come later.
const PATIENCE: Duration = Duration::from_millis(10);
const CYCLES_MAX: usize = 1 << 18;

type Client = *mut c_void;
type Port = *mut c_void;
type Context = *mut c_void;
type Process = extern "C" fn(u32, Context) -> c_int;

/// The library's functions, as its header declares them.
struct Jack {
    client_open: unsafe extern "C" fn(*const c_char, c_int, *mut c_int, ...) -> Client,
    client_close: unsafe extern "C" fn(Client) -> c_int,
    set_process: unsafe extern "C" fn(Client, Process, Context) -> c_int,
    port_register:
        unsafe extern "C" fn(Client, *const c_char, *const c_char, c_ulong, c_ulong) -> Port,
    activate: unsafe extern "C" fn(Client) -> c_int,
    connect: unsafe extern "C" fn(Client, *const c_char, *const c_char) -> c_int,
}

impl Jack {
    fn open() -> io::Result<Self> {
        // SAFETY: the path ends with a zero. The library's initialisers are ordinary ones.
        let library = unsafe { libc::dlopen(LIBRARY.as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return Err(io::Error::other("it cannot be opened"));
        }
        // SAFETY: these are the types of the functions of these names in JACK's header.
        unsafe {
            Ok(Self {
                client_open: function(library, c"jack_client_open")?,
                client_close: function(library, c"jack_client_close")?,
                set_process: function(library, c"jack_set_process_callback")?,
                port_register: function(library, c"jack_port_register")?,
                activate: function(library, c"jack_activate")?,
                connect: function(library, c"jack_connect")?,
            })
        }
    }
}

/// # Safety
///
/// `F` is the type of a pointer to this function.
unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> io::Result<F> {
    // SAFETY: the library stays open, and the name ends with a zero.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    if address.is_null() {
        let message = format!("it has no {}", name.to_string_lossy());
        return Err(io::Error::other(message));
    }
    // SAFETY: the caller says so, and function pointers are as large as others.
    Ok(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

/// What the thread that is called back has.
struct Part {
    name: String,
    is_named: bool,
    work: Piece,
    window: Window,
    record: Record,
}

extern "C" fn cycle(_frames: u32, part: Context) -> c_int {
    // SAFETY: see `client`; one thread is called back.
    let part = unsafe { &mut *part.cast::<Part>() };
    let start_ns = now_ns();
    if !std::mem::replace(&mut part.is_named, true) {
        // Takt recognises the thread by it. If this fails the figures show it.
        let _ = class::name(&part.name).and_then(|()| class::exact_timers());
    }
    part.work.perform();
    let spans = &mut part.record.spans;
    if part.window.contains(start_ns) && spans.len() < spans.capacity() {
        spans.push((start_ns, now_ns()));
    }
    0
}

/// Works in each cycle until the window's end. The record's spans are its calls.
pub fn client(name: &str, wires: &[Wire], work: Piece, window: Window) -> Result<Record> {
    let jack = Jack::open().doing("open JACK's library")?;
    let own_name = text(name).doing("name a client")?;
    let part = Box::into_raw(Box::new(Part {
        name: name.to_owned(),
        is_named: false,
        work,
        window,
        record: Record {
            spans: Vec::with_capacity(CYCLES_MAX),
            ..Record::default()
        },
    }));
    // SAFETY: texts live as long as each call. The part lives until the client is closed, and JACK
    // does not call back after that.
    unsafe {
        let client = (jack.client_open)(own_name.as_ptr(), START_NO_SERVER, null_mut());
        if client.is_null() {
            return refused("become a client of JACK");
        }
        (jack.set_process)(client, cycle, part.cast());
        for (port, direction) in [INPUT, OUTPUT] {
            (jack.port_register)(client, port.as_ptr(), AUDIO.as_ptr(), direction, 0);
        }
        if (jack.activate)(client) != 0 {
            return refused("take part in JACK's cycle");
        }
        for wire in wires {
            let from = text(&wire.from).doing("name a port")?;
            let to = text(&wire.to).doing("name a port")?;
            while (jack.connect)(client, from.as_ptr(), to.as_ptr()) != 0 {
                if now_ns() >= window.begin_ns {
                    return refused("connect two clients of JACK");
                }
                std::thread::sleep(PATIENCE);
            }
        }
        sleep_until(window.end_ns);
        (jack.client_close)(client);
        Ok(Box::from_raw(part).record)
    }
}

fn text(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(io::Error::other)
}

/// JACK says why on standard error.
fn refused<T>(what: &'static str) -> Result<T> {
    Err(io::Error::other("JACK refuses it")).doing(what)
}
