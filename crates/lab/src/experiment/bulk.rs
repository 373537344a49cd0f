//! A bulk TCP flow from one namespace to another.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};

use super::beats::now_ns;
use super::error::{Result, WhileDoing};
use super::namespace::Namespace;
use super::record::{PATIENCE, Record, Window};

pub const PORT: u16 = 5001;
const PIECE_BYTES: usize = 64 << 10;

/// Connects to the receiver, which is reached at the address; returns the sender's end and
/// the receiver's.
pub fn open(from: Namespace, to: Namespace, address: Ipv4Addr) -> Result<(TcpStream, TcpStream)> {
    let listener = to.run(|| TcpListener::bind((address, PORT)).doing("listen for a bulk flow"))?;
    let sender = from.run(|| TcpStream::connect((address, PORT)).doing("connect a bulk flow"))?;
    sender
        .set_write_timeout(Some(PATIENCE))
        .doing("limit a sender's patience")?;
    let (receiver, _) = listener.accept().doing("accept a bulk flow")?;
    receiver
        .set_read_timeout(Some(PATIENCE))
        .doing("limit a receiver's patience")?;
    Ok((sender, receiver))
}

/// Sends as much as possible until the window is over, and ends the flow.
pub fn send(socket: &mut TcpStream, window: Window) -> Result<()> {
    send_until(socket, window.end_ns)?;
    end(socket)
}

/// Sends as much as possible until then.
pub fn send_until(socket: &mut TcpStream, end_ns: u64) -> Result<()> {
    let piece = vec![0; PIECE_BYTES];
    while now_ns() < end_ns {
        match socket.write(&piece) {
            Ok(_) => {}
            Err(e) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&e.kind()) => {}
            Err(error) => return Err(error).doing("send a bulk flow"),
        }
    }
    Ok(())
}

/// Data in flight may stay there: the network is removed.
pub fn end(socket: &TcpStream) -> Result<()> {
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
            Err(error) => return Err(error).doing("receive a bulk flow"),
        }
    }
    Ok(record)
}
