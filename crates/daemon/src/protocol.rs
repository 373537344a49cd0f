//! The protocol of the socket: one JSON object a line, `docs/background.md`.

mod beats;
mod crowd;
mod radio;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

pub use beats::{
    BeatReservation, GroupMember, JoinBeat, JoinedBeat, LearnedLead, LeaveBeat, LeftBeat,
    ListedBeats,
};
pub use crowd::{ListedCrowd, Neighbour, Neighbourhood, Share, Strangers};
pub use radio::ListedRadio;

use crate::varlink;

/// A longer line, or message, is no request.
pub(crate) const LINE_MAX_BYTES: usize = 1024;

/// How messages are written on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// One JSON object a line.
    Lines,
    /// [`crate::varlink`].
    Varlink,
}

impl Protocol {
    /// What ends a message.
    pub fn end(self) -> u8 {
        match self {
            Self::Lines => b'\n',
            Self::Varlink => varlink::END,
        }
    }

    /// The message with an answer.
    pub fn reply(self, answer: &Answer) -> Vec<u8> {
        match self {
            Self::Lines => answer.line(),
            Self::Varlink => varlink::reply(answer),
        }
    }
}

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Request {
    /// Declare traffic to a destination to be background.
    Add(Add),
    /// Remove a registration.
    Remove(Remove),
    /// What is registered.
    List(NoTerms),
    /// Move the caller into the background.
    Join(NoTerms),
    /// Take a reservation.
    #[serde(rename = "join_beat")]
    JoinBeat(JoinBeat),
    /// Give the reservation up.
    #[serde(rename = "leave_beat")]
    LeaveBeat(LeaveBeat),
    /// List the reservations of the host.
    #[serde(rename = "list_beats")]
    ListBeats(NoTerms),
    /// List what was heard of stations.
    #[serde(rename = "list_radio")]
    ListRadio(NoTerms),
    /// List the terminals that share the air.
    #[serde(rename = "list_crowd")]
    ListCrowd(NoTerms),
}

/// A destination, and the owner of the sockets whose traffic to it is to be background.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Add {
    /// One receiver's IPv4 or IPv6 address, in full.
    pub dst: String,
    /// 1 to 65535, of TCP and UDP alike.
    pub port: u32,
    /// Owner of the sockets; the caller if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// All packets, of any sender.
    #[serde(default, skip_serializing_if = "is_false")]
    pub everyone: bool,
    /// Without an end if absent, at least as long as taktd runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_s: Option<u64>,
}

/// A registration that is to end, named by what it was made with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// As in [`Add`].
    pub dst: String,
    /// Likewise.
    pub port: u32,
    /// Likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// Likewise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub everyone: bool,
}

/// A request without parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoTerms {}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Answer {
    Ok(Done),
    Error(Refusal),
}

/// The answer to a request that was not refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Done {
    /// Of [`Request::Add`].
    Added(Added),
    /// Of [`Request::Remove`].
    Removed(Removed),
    /// Of [`Request::List`].
    Listed(Listed),
    /// Of [`Request::Join`].
    Joined(Joined),
    /// Of [`Request::JoinBeat`].
    JoinedBeat(JoinedBeat),
    /// Of [`Request::LeaveBeat`].
    LeftBeat(LeftBeat),
    /// Of [`Request::ListBeats`].
    ListedBeats(ListedBeats),
    /// Of [`Request::ListRadio`].
    ListedRadio(ListedRadio),
    /// Of [`Request::ListCrowd`].
    ListedCrowd(ListedCrowd),
}

/// The destination is registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// False if it was registered already; its lifetime is the new one then.
    pub added: bool,
    /// Why it may have no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The registration has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// Always true: a missing registration is refused with [`Code::NotRegistered`].
    pub removed: bool,
}

/// The registrations that concern the caller, in the caller's network namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Those for all users and the caller's own; for root those of all users. Sorted by user
    /// and address.
    pub registrations: Vec<Registered>,
}

/// A destination whose traffic is background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    /// As on the wire: an IPv4-mapped IPv6 address is the IPv4 address.
    pub dst: String,
    /// Of TCP and UDP alike.
    pub port: u16,
    /// Absent: for all users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// What is left of its lifetime, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime_s: Option<u64>,
}

/// The caller is in the background.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The path of its control group.
    pub group: String,
}

/// Why a request was refused. A refused request has changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// For programs.
    pub code: Code,
    /// For people: what is wrong.
    pub message: String,
    /// For people: what to do instead.
    pub fix: String,
}

/// The reason, one of those that docs/background.md and docs/beats.md list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Not a request.
    Malformed,
    /// Not the address of one receiver, in full.
    BadAddress,
    /// Not a number from 1 to 65535.
    BadPort,
    /// Not from a second to a year.
    BadLifetime,
    /// Another user's sockets or threads.
    NotYours,
    /// There is nothing to take back.
    NotRegistered,
    /// The user's limit is reached, or the host's.
    TooMany,
    /// The user exceeds the rate of requests.
    TooFast,
    /// taktd has too many clients.
    Busy,
    /// No policy with tasks is in force.
    NoBeats,
    /// No such task is possible, or the policy has none.
    BadBeat,
    /// The thread has no reservation, or another thread has it.
    NoPlace,
    /// The policy in force lets only others take reservations.
    MayNotJoin,
    /// The table has no such time left.
    NoRoom,
    /// The host failed; the message says how.
    Failed,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            fix: fix.into(),
        }
    }
}

impl std::error::Error for Refusal {}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.message, self.fix)
    }
}

impl Answer {
    pub fn line(&self) -> Vec<u8> {
        // Text and numbers always serialize to JSON.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

impl From<Result<Done, Refusal>> for Answer {
    fn from(result: Result<Done, Refusal>) -> Self {
        match result {
            Ok(done) => Self::Ok(done),
            Err(refusal) => Self::Error(refusal),
        }
    }
}

/// Parse JSON, as text. Parsed as bytes, every type would be in the program once more.
pub(crate) fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

/// Parse a request, from a line without its end.
pub(crate) fn parse(line: &[u8]) -> Result<Request, Refusal> {
    from_json(line).map_err(|error| {
        Refusal::new(
            Code::Malformed,
            format!("this is not a request: {error}"),
            r#"write one JSON object a line, such as {"add":{"dst":"192.0.2.10","port":873}}"#,
        )
    })
}

pub(crate) fn too_long() -> Refusal {
    Refusal::new(
        Code::Malformed,
        format!("a request is longer than {LINE_MAX_BYTES} bytes"),
        "end each request with a newline, and with a byte of 0 on the varlink socket",
    )
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use takt_host::{Datagrams, Heard};

    use super::*;

    #[test]
    fn requests_as_documented() {
        let add = |line: &str| match parse(line.as_bytes()) {
            Ok(Request::Add(add)) => add,
            other => panic!("{other:?}"),
        };
        let plain = add(r#"{"add":{"dst":"192.0.2.10","port":873}}"#);
        assert_eq!((plain.dst.as_str(), plain.port), ("192.0.2.10", 873));
        let full = add(r#"{"add":{"dst":"::1","port":1,"user":1000,"lifetime_s":60}}"#);
        assert_eq!((full.user, full.lifetime_s), (Some(1000), Some(60)));
        assert!(add(r#"{"add":{"dst":"::1","port":1,"everyone":true}}"#).everyone);
        assert_eq!(parse(br#"{"list":{}}"#), Ok(Request::List(NoTerms {})));
        assert_eq!(parse(br#"{"join":{}}"#), Ok(Request::Join(NoTerms {})));
        assert_eq!(
            parse(br#"{"list_beats":{}}"#),
            Ok(Request::ListBeats(NoTerms {}))
        );
        assert_eq!(
            parse(br#"{"list_radio":{}}"#),
            Ok(Request::ListRadio(NoTerms {}))
        );
        assert_eq!(
            parse(br#"{"list_crowd":{}}"#),
            Ok(Request::ListCrowd(NoTerms {}))
        );
        let declared = JoinBeat {
            task: Some("av".to_owned()),
            member: Some("mix".to_owned()),
            ..JoinBeat::default()
        };
        assert_eq!(
            parse(br#"{"join_beat":{"task":"av","member":"mix"}}"#),
            Ok(Request::JoinBeat(declared))
        );
        let ad_hoc = JoinBeat {
            tid: Some(7),
            period_ns: Some(40_000_000),
            budget_ns: Some(8_000_000),
            overrun: Some(takt_policy::Overrun::StopGroup),
            group: Some(GroupMember {
                name: "av".to_owned(),
                member: 2,
                of: 3,
                handoff: None,
            }),
            ..JoinBeat::default()
        };
        let line = br#"{"join_beat":{"tid":7,"period_ns":40000000,"budget_ns":8000000,
            "overrun":"stop-group","group":{"name":"av","member":2,"of":3}}}"#;
        assert_eq!(parse(line), Ok(Request::JoinBeat(ad_hoc)));
        let free = br#"{"join_beat":{"period_ns":1,"budget_ns":1,
            "group":{"name":"av","member":2,"of":3,"handoff":"free"}}}"#;
        let Ok(Request::JoinBeat(free)) = parse(free) else {
            panic!("a free group");
        };
        assert_eq!(
            free.group.unwrap().handoff,
            Some(takt_policy::Handoff::Free)
        );
    }

    #[test]
    fn what_is_no_request_is_said_to_be_none() {
        for line in [
            "",
            "add",
            "{}",
            r#"{"add":{"dst":"192.0.2.10"}}"#,
            r#"{"add":{"dst":"192.0.2.10","port":-1}}"#,
            r#"{"add":{"dst":"192.0.2.10","port":"873"}}"#,
            r#"{"add":{"dst":"192.0.2.10","port":873,"colour":"red"}}"#,
            r#"{"add":{"dst":"192.0.2.10","port":873}}{"list":{}}"#,
            r#"{"add":{"dst":"192.0.2.10","port":873},"list":{}}"#,
            r#"{"list":{"all":true}}"#,
            r#"{"join_beat":{"period":40}}"#,
            r#"{"join_beat":{"period_ns":-1}}"#,
            r#"{"join_beat":{"overrun":"ignore"}}"#,
            r#"{"leave_beat":{"tid":1e9}}"#,
        ] {
            let refusal = parse(line.as_bytes()).unwrap_err();
            assert_eq!(refusal.code, Code::Malformed, "{line}");
        }
    }

    fn place() -> BeatReservation {
        BeatReservation {
            task: "av".to_owned(),
            member: "2".to_owned(),
            tid: 7,
            page: 1,
            user: Some(1000),
        }
    }

    #[test]
    fn answers_come_back_as_they_went() {
        for answer in [
            Answer::Ok(Done::Added(Added {
                added: true,
                warning: None,
            })),
            Answer::Ok(Done::Removed(Removed { removed: true })),
            Answer::Ok(Done::Listed(Listed {
                registrations: vec![],
            })),
            Answer::Ok(Done::Joined(Joined {
                group: "/a".to_owned(),
            })),
            Answer::Ok(Done::JoinedBeat(JoinedBeat { place: place() })),
            Answer::Ok(Done::LeftBeat(LeftBeat { left: false })),
            Answer::Ok(Done::ListedBeats(ListedBeats {
                places: vec![place()],
            })),
            Answer::Ok(Done::ListedRadio(ListedRadio {
                sources: vec![Heard {
                    links: vec!["wlan0".to_owned()],
                    datagrams: Some(Datagrams::default()),
                    ..Heard::default()
                }],
            })),
            Answer::Ok(Done::ListedCrowd(ListedCrowd {
                neighbourhoods: vec![Neighbourhood {
                    group: "air".to_owned(),
                    ..Neighbourhood::default()
                }],
            })),
            Answer::Error(too_long()),
        ] {
            let back: Answer = serde_json::from_slice(&answer.line()).unwrap();
            assert_eq!(back, answer);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(line in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _ = parse(&line);
        }

        #[test]
        fn nor_does_json_of_any_shape(
            key in "add|remove|list|join|join_beat|leave_beat|dst|port|user|tid|group",
            value in r#"[{}\[\]":,0-9a-z\\-]{0,40}"#,
        ) {
            let _ = parse(format!("{{\"{key}\":{value}}}").as_bytes());
            let _ = parse(format!("{{\"add\":{{\"dst\":\"1\",\"{key}\":{value}}}}}").as_bytes());
        }
    }
}
