//! What a request does.

use std::{os::unix::net::UnixStream, path::PathBuf};

use takt_host::background;
use tracing::debug;

use crate::{
    beats,
    clients::Client,
    peer,
    protocol::{
        Added, Code, Done, Joined, LINE_MAX_BYTES, ListedCrowd, ListedRadio, Protocol, Refusal,
        Removed, Request, parse, too_long,
    },
    registry::Caller,
    reply::Reply,
    server::{Daemon, TICK_NS, now_ns},
    varlink::{self, Asked},
};

impl Daemon {
    /// `None`: the answer comes later, from the thread that was asked.
    pub(crate) fn answer(&mut self, client: &mut Client, line: &[u8]) -> Option<Reply> {
        let request = match self.request(client, line) {
            Ok(Asked::Request(request)) => request,
            Ok(Asked::Reply(value)) => return Some(Reply::of_service(value)),
            Err(refusal) => return Some(Reply::from(Err(refusal))),
        };
        let uid = client.caller.uid;
        debug!(uid, "user {uid} asks: {request:?}");
        let done = self.done(client, request);
        if let Err(refusal) = &done {
            debug!(uid, "user {uid} is refused: {refusal}");
        }
        done.transpose().map(Reply::from)
    }

    fn request(&mut self, client: &mut Client, line: &[u8]) -> Result<Asked, Refusal> {
        // Checked first, so that a flood of requests costs little.
        self.registry.admit(now_ns(), client.caller.uid)?;
        if line.len() > LINE_MAX_BYTES {
            return Err(too_long());
        }
        match client.speaks {
            Protocol::Lines => parse(line).map(Asked::Request),
            Protocol::Varlink => {
                let call = varlink::parse(line)?;
                client.is_oneway = call.is_oneway;
                Ok(call.asked)
            }
        }
    }

    fn done(&mut self, client: &Client, request: Request) -> Result<Option<Done>, Refusal> {
        let (now_ns, caller) = (now_ns(), client.caller);
        let done = match request {
            Request::Add(add) => {
                let added = self.registry.add(now_ns, caller, &add)?;
                self.follow();
                let warning = self.warning(now_ns, caller);
                Done::Added(Added { added, warning })
            }
            Request::Remove(remove) => {
                self.registry.remove(now_ns, caller, &remove)?;
                self.follow();
                Done::Removed(Removed { removed: true })
            }
            Request::List(_) => Done::Listed(self.registry.list(now_ns, caller)),
            Request::Join(_) => {
                if self.groups.is_full() {
                    return Err(Refusal::new(
                        Code::TooMany,
                        "taktd manages too many control groups",
                        "end some of the programs that run in the background",
                    ));
                }
                let group = join(&client.stream).map_err(|reason| {
                    Refusal::new(
                        Code::Failed,
                        reason,
                        "ask root to check what taktd may do there",
                    )
                })?;
                self.groups.insert(group.clone());
                let group = group.display().to_string();
                Done::Joined(Joined { group })
            }
            Request::JoinBeat(join) => {
                return self.ask_beats(client, beats::Wanted::Join(join.into()));
            }
            Request::LeaveBeat(leave) => {
                return self.ask_beats(client, beats::Wanted::Leave(leave));
            }
            Request::ListBeats(_) => return self.ask_beats(client, beats::Wanted::List),
            Request::ListRadio(_) => {
                let is_ours = caller.netns_cookie == self.netns_cookie;
                let sources = if is_ours {
                    self.radio.heard()
                } else {
                    Vec::new()
                };
                Done::ListedRadio(ListedRadio { sources })
            }
            Request::ListCrowd(_) => {
                let is_ours = caller.netns_cookie == self.netns_cookie;
                let neighbourhoods = if is_ours {
                    self.crowd.neighbourhoods()
                } else {
                    Vec::new()
                };
                Done::ListedCrowd(ListedCrowd { neighbourhoods })
            }
        };
        Ok(Some(done))
    }

    fn ask_beats(
        &mut self,
        client: &Client,
        wanted: beats::Wanted,
    ) -> Result<Option<Done>, Refusal> {
        self.beats.request(beats::Request {
            connection: client.id,
            uid: client.caller.uid,
            asker: asker(&client.stream)?,
            wanted,
        });
        Ok(None)
    }

    /// Why a registration may have no effect.
    fn warning(&mut self, now_ns: u64, caller: Caller) -> Option<String> {
        if let Some(problem) = &self.problem {
            return Some(format!("it is not in force yet: {problem}"));
        }
        // Looking at every link takes long, so not for each of many requests.
        let last = self.asked_for.get(&caller.netns_cookie);
        if last.is_some_and(|last_ns| now_ns < last_ns + TICK_NS) {
            return None;
        }
        match takt_host::asked_for(caller.netns_cookie) {
            Ok(Some(true)) => {
                self.asked_for
                    .retain(|_, last_ns| now_ns < *last_ns + TICK_NS);
                self.asked_for.insert(caller.netns_cookie, now_ns);
                None
            }
            Ok(Some(false)) => Some(
                "no class of the policy in force has match = [{ registered = true }], so this \
                 changes nothing"
                    .to_owned(),
            ),
            Ok(None) => Some(
                "no link of this network namespace is managed; this takes effect when `takt \
                 apply` has put a policy in force"
                    .to_owned(),
            ),
            Err(error) => Some(format!(
                "whether a policy asks for it is not known: {error}"
            )),
        }
    }
}

fn asker(stream: &UnixStream) -> Result<peer::Process, Refusal> {
    peer::Process::from_stream(stream).map_err(|error| {
        Refusal::new(
            Code::Failed,
            format!("identifying the requesting process: {error}"),
            "ask root to check what taktd may do there",
        )
    })
}

/// Move exactly the process that connected: as long as it lives, its number is not reused.
fn join(stream: &UnixStream) -> Result<PathBuf, String> {
    let process = peer::Process::from_stream(stream).map_err(|error| error.to_string())?;
    if !process.is_alive() {
        return Err("the requesting process is not visible from here".to_owned());
    }
    let group = background::join(process.pid).map_err(|error| error.to_string())?;
    if process.is_alive() {
        Ok(group)
    } else {
        Err("the requesting process has ended".to_owned())
    }
}
