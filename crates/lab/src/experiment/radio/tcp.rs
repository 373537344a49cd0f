//! A bulk flow to one station.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use super::record::{PATIENCE, Record, Window};
use crate::experiment::beats::now_ns;
use crate::experiment::error::{Result, WhileDoing};
use crate::experiment::wlan::{SERVER, Station};

const PORT: u16 = 5001;
const PIECE_BYTES: usize = 64 << 10;

/// Connects; returns the server's end and the station's.
pub fn open(station: Station) -> Result<(TcpStream, TcpStream)> {
    let listener = station
        .namespace()
        .run(|| TcpListener::bind((station.address(), PORT)).doing("listen at a station"))?;
    let sender = SERVER
        .run(|| TcpStream::connect((station.address(), PORT)).doing("connect to a station"))?;
    sender
        .set_write_timeout(Some(PATIENCE))
        .doing("limit the server's patience")?;
    let (receiver, _) = listener.accept().doing("accept a flow")?;
    receiver
        .set_read_timeout(Some(PATIENCE))
        .doing("limit a station's patience")?;
    Ok((sender, receiver))
}

/// Sends as much as goes, until the window is over.
pub fn send(socket: &mut TcpStream, window: Window) -> Result<()> {
    let piece = vec![0; PIECE_BYTES];
    while !window.is_over() {
        match socket.write(&piece) {
            Ok(_) => {}
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => {}
            Err(error) => return Err(error).doing("send to a station"),
        }
    }
    // What is under way may stay there: the network goes.
    socket.shutdown(Shutdown::Both).doing("end a flow")
}

pub fn receive(socket: &mut TcpStream, window: Window) -> Result<Record> {
    let mut record = Record::new(window);
    let mut piece = vec![0; PIECE_BYTES];
    while !window.is_over() {
        match socket.read(&mut piece) {
            Ok(0) => break,
            Ok(bytes) => record.received(window, now_ns(), bytes),
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => {}
            Err(error) => return Err(error).doing("receive from the server"),
        }
    }
    Ok(record)
}
