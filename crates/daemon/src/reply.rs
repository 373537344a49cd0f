//! An answer that is being sent, and a descriptor sent with it.

use std::{
    io::{self, IoSlice, Write},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
};

use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use serde_json::Value;

use crate::{
    protocol::{Answer, Done, Protocol, Refusal},
    varlink,
};

pub(crate) struct Reply {
    said: Said,
    /// Sent with the first byte (SCM_RIGHTS). A client that does not read it loses nothing.
    descriptor: Option<OwnedFd>,
}

enum Said {
    Answer(Answer),
    /// About the varlink service itself.
    Service(Value),
}

impl Reply {
    pub fn with(answer: Answer, descriptor: Option<OwnedFd>) -> Self {
        Self {
            said: Said::Answer(answer),
            descriptor,
        }
    }

    pub fn of_service(value: Value) -> Self {
        Self {
            said: Said::Service(value),
            descriptor: None,
        }
    }

    /// What the socket did not take at once.
    pub fn send(&self, stream: &mut UnixStream, protocol: Protocol) -> io::Result<Vec<u8>> {
        let mut line = match &self.said {
            Said::Answer(answer) => protocol.reply(answer),
            Said::Service(value) => varlink::message(value),
        };
        let sent = match &self.descriptor {
            Some(descriptor) => sendmsg::<()>(
                stream.as_raw_fd(),
                &[IoSlice::new(&line)],
                &[ControlMessage::ScmRights(&[descriptor.as_raw_fd()])],
                MsgFlags::MSG_NOSIGNAL,
                None,
            )?,
            None => 0,
        };
        line.drain(..sent);
        flush(stream, &mut line)?;
        Ok(line)
    }
}

/// Writes what the socket takes, and keeps the rest.
pub(crate) fn flush(stream: &mut UnixStream, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut sent = 0;
    let result = loop {
        if sent == bytes.len() {
            break Ok(());
        }
        match stream.write(&bytes[sent..]) {
            Ok(0) => break Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => sent += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    bytes.drain(..sent);
    result
}

impl From<Result<Done, Refusal>> for Reply {
    fn from(result: Result<Done, Refusal>) -> Self {
        Self::with(result.into(), None)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{IoSliceMut, Read, Seek},
        os::fd::FromRawFd,
    };

    use nix::sys::socket::{ControlMessageOwned, recvmsg};

    use super::*;
    use crate::protocol::Removed;

    fn reply(descriptor: Option<OwnedFd>) -> Reply {
        let done = Done::Removed(Removed { removed: true });
        Reply::with(Answer::Ok(done), descriptor)
    }

    #[test]
    fn a_descriptor_goes_with_the_answer() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"pages").unwrap();
        file.rewind().unwrap();
        reply(Some(file.into()))
            .send(&mut here, Protocol::Lines)
            .unwrap();

        let mut bytes = [0; 100];
        let mut parts = [IoSliceMut::new(&mut bytes)];
        let mut space = nix::cmsg_space!([i32; 1]);
        let flags = MsgFlags::empty();
        let message = recvmsg::<()>(there.as_raw_fd(), &mut parts, Some(&mut space), flags);
        let message = message.unwrap();
        let Some(ControlMessageOwned::ScmRights(descriptors)) = message.cmsgs().unwrap().next()
        else {
            panic!("no descriptor");
        };
        // SAFETY: the descriptor has just been received, and no other code owns it.
        let mut handed = unsafe { File::from_raw_fd(descriptors[0]) };
        let mut text = String::new();
        handed.read_to_string(&mut text).unwrap();
        assert_eq!(text, "pages");
        assert_eq!(&bytes[..24], b"{\"ok\":{\"removed\":true}}\n");
    }

    #[test]
    fn who_does_not_look_for_it_reads_the_answer_all_the_same() {
        let (mut here, mut there) = UnixStream::pair().unwrap();
        let file = tempfile::tempfile().unwrap();
        reply(Some(file.into()))
            .send(&mut here, Protocol::Lines)
            .unwrap();
        drop(here);
        let mut text = String::new();
        there.read_to_string(&mut text).unwrap();
        assert_eq!(text, "{\"ok\":{\"removed\":true}}\n");
    }
}
