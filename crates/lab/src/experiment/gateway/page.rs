//! Pages, one after the other: forty objects over six connections, as a browser loads them.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::network::{Host, INTERNET};
use crate::experiment::error::{Result, WhileDoing};

const OBJECTS: usize = 40;
/// They follow each other: 600 KB in all.
const OBJECT_KB: [usize; 5] = [2, 5, 10, 18, 40];
const CONNECTIONS: u16 = 6;
const REQUEST_BYTES: usize = 400;
/// The first of the servers' ports, one for each connection.
const PORT: u16 = 8080;
/// Between a page and the next.
const PAUSE: Duration = Duration::from_secs(1);
/// A page that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// Loads pages for so long; how long each took. One that has begun is loaded to its end.
pub fn load_for(duration: Duration, host: Host, server: IpAddr) -> Result<Vec<Duration>> {
    let started = Instant::now();
    let mut took = Vec::new();
    while started.elapsed() < duration {
        took.push(load(host, server)?);
        std::thread::sleep(PAUSE);
    }
    Ok(took)
}

fn load(host: Host, server: IpAddr) -> Result<Duration> {
    let next = AtomicUsize::new(0);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let next = &next;
        let connections: Vec<_> = (0..CONNECTIONS)
            .map(|number| scope.spawn(move || fetch(host, server, PORT + number, next)))
            .collect();
        connections
            .into_iter()
            .try_for_each(|connection| match connection.join() {
                Ok(fetched) => fetched,
                Err(panic) => std::panic::resume_unwind(panic),
            })
    })?;
    Ok(started.elapsed())
}

/// One connection, which takes the page's next object until there is none. The server answers at
/// once: this thread is both ends.
fn fetch(host: Host, server: IpAddr, port: u16, next: &AtomicUsize) -> Result<()> {
    let listener = INTERNET.run(|| TcpListener::bind((server, port)).doing("listen for pages"))?;
    let mut browser = host
        .namespace
        .run(|| TcpStream::connect((server, port)).doing("connect for a page"))?;
    let (mut answerer, _) = listener.accept().doing("accept a page's connection")?;
    for socket in [&browser, &answerer] {
        socket
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| socket.set_write_timeout(Some(PATIENCE)))
            .and_then(|()| socket.set_nodelay(true))
            .doing("limit a page's patience")?;
    }
    let mut buffer = vec![0; 1000 * OBJECT_KB[OBJECT_KB.len() - 1]];
    loop {
        let object = next.fetch_add(1, Ordering::Relaxed);
        if object >= OBJECTS {
            return Ok(());
        }
        let bytes = 1000 * OBJECT_KB[object % OBJECT_KB.len()];
        browser
            .write_all(&[0; REQUEST_BYTES])
            .and_then(|()| answerer.read_exact(&mut [0; REQUEST_BYTES]))
            .doing("ask for an object")?;
        answerer
            .write_all(&buffer[..bytes])
            .and_then(|()| browser.read_exact(&mut buffer[..bytes]))
            .doing("load an object")?;
    }
}
