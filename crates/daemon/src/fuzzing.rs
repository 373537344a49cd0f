//! An entry for takt-fuzz, which is no API: what clients may send, and what taktd kept.

use std::{io::Write, os::unix::net::UnixStream};

use serde_json::Value;

use crate::{
    clients::{Client, Input},
    crowd::capacities_file,
    protocol::{
        Added, Answer, Done, LINE_MAX_BYTES, Protocol, Refusal, Removed, Request, parse, too_long,
    },
    registry::{Caller, Registry},
    varlink,
};

const CALLER: Caller = Caller {
    uid: 1000,
    netns_cookie: 1,
};

/// All that a client sends over one connection. What needs the host is only parsed.
pub fn control(input: &[u8]) {
    lines(input);
    for message in input.split(|byte| *byte == varlink::END) {
        let _ = varlink::parse(message);
    }
}

/// The file with networks' capacities: it is refused, or means the same when it is written again.
pub fn capacities(text: &str) {
    if let Ok(capacities) = capacities_file::parse(text) {
        assert_eq!(
            capacities_file::parse(&capacities_file::text(&capacities)),
            Ok(capacities)
        );
    }
}

fn lines(input: &[u8]) {
    let Ok((here, mut there)) = UnixStream::pair() else {
        return;
    };
    let non_blocking = here
        .set_nonblocking(true)
        .and(there.set_nonblocking(true))
        .is_ok();
    // What the kernel's buffer does not take is no loss.
    let _ = non_blocking.then(|| there.write(input));
    drop(there);
    let mut client = Client::new(1, (here, Protocol::Lines), CALLER, 0, 0);
    let mut registry = Registry::default();
    let mut now_ns = 0;
    while let Input::Line(line) = client.next(now_ns) {
        now_ns += 1_000_000;
        let answer = Answer::from(done(&mut registry, now_ns, &line)).line();
        assert!(answer.iter().filter(|byte| **byte == b'\n').count() == 1);
        assert!(serde_json::from_slice::<Value>(&answer).is_ok());
    }
}

/// As [`Daemon::answer`](crate::server::Daemon) does.
fn done(registry: &mut Registry, now_ns: u64, line: &[u8]) -> Result<Done, Refusal> {
    registry.admit(now_ns, CALLER.uid)?;
    if line.len() > LINE_MAX_BYTES {
        return Err(too_long());
    }
    let request = parse(line)?;
    let written = serde_json::to_vec(&request).unwrap_or_default();
    assert_eq!(
        parse(&written).as_ref(),
        Ok(&request),
        "it does not come back"
    );
    match request {
        Request::Add(add) => Ok(Done::Added(Added {
            added: registry.add(now_ns, CALLER, &add)?,
            warning: None,
        })),
        Request::Remove(remove) => {
            registry.remove(now_ns, CALLER, &remove)?;
            Ok(Done::Removed(Removed { removed: true }))
        }
        _ => Ok(Done::Listed(registry.list(now_ns, CALLER))),
    }
}
