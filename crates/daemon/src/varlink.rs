//! The protocol as varlink, for programs that have a client of it: each message is a JSON object
//! and a byte of zero. The interface is `io.takt.Daemon.varlink`; its methods are the requests of
//! [`crate::protocol`], and its errors the reasons for which one is refused.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::protocol::{Answer, Code, Refusal, Request, from_json};

/// What ends a message.
pub(crate) const END: u8 = 0;

const INTERFACE: &str = "io.takt.Daemon";
const DESCRIPTION: &str = include_str!("io.takt.Daemon.varlink");
const SERVICE: &str = "org.varlink.service";
/// That of varlink's own interface, as its specification has it.
const SERVICE_DESCRIPTION: &str = include_str!("org.varlink.service.varlink");

/// The methods, and what the requests are called on a line.
const METHODS: [(&str, &str); 9] = [
    ("AddBackground", "add"),
    ("RemoveBackground", "remove"),
    ("ListBackground", "list"),
    ("JoinBackground", "join"),
    ("JoinBeat", "join_beat"),
    ("LeaveBeat", "leave_beat"),
    ("ListBeats", "list_beats"),
    ("ListRadio", "list_radio"),
    ("ListCrowd", "list_crowd"),
];

/// What a client sends.
#[derive(Debug, Deserialize)]
struct Message {
    method: String,
    #[serde(default)]
    parameters: Option<Map<String, Value>>,
    #[serde(default)]
    oneway: Option<bool>,
}

/// A call of a method.
#[derive(Debug)]
pub(crate) struct Call {
    pub asked: Asked,
    /// No reply is sent.
    pub is_oneway: bool,
}

#[derive(Debug, PartialEq)]
pub(crate) enum Asked {
    Request(Request),
    /// Answered already: it is about the service itself, or wrong.
    Reply(Value),
}

/// Parse a message, without its end.
pub(crate) fn parse(message: &[u8]) -> Result<Call, Refusal> {
    let Message {
        method,
        parameters,
        oneway,
    } = from_json(message).map_err(|error| {
        Refusal::new(
            Code::Malformed,
            format!("this is not a call: {error}"),
            r#"send a JSON object such as {"method":"io.takt.Daemon.ListBeats"}, and a byte of 0"#,
        )
    })?;
    let mut parameters = parameters.unwrap_or_default();
    // A missing value may be sent as null.
    parameters.retain(|_, value| !value.is_null());
    let asked = asked(&method, parameters).unwrap_or_else(Asked::Reply);
    Ok(Call {
        asked,
        is_oneway: oneway == Some(true),
    })
}

fn asked(method: &str, parameters: Map<String, Value>) -> Result<Asked, Value> {
    let (interface, name) = method.rsplit_once('.').unwrap_or(("", method));
    match (interface, name) {
        (INTERFACE, name) => {
            let known = METHODS.iter().find(|(known, _)| *known == name);
            let (_, request) = known.ok_or_else(|| not_found("Method", "method", method))?;
            let request = json!({ *request: parameters });
            serde_json::from_value(request)
                .map(Asked::Request)
                .map_err(|error| invalid(&error.to_string()))
        }
        (SERVICE, "GetInfo") => Err(ok(&json!({
            "vendor": "Takt",
            "product": "taktd",
            "version": env!("CARGO_PKG_VERSION"),
            "url": "",
            "interfaces": [SERVICE, INTERFACE],
        }))),
        (SERVICE, "GetInterfaceDescription") => {
            let wanted = parameters.get("interface").and_then(Value::as_str);
            let description = match wanted {
                Some(INTERFACE) => DESCRIPTION,
                Some(SERVICE) => SERVICE_DESCRIPTION,
                Some(other) => return Err(not_found("Interface", "interface", other)),
                None => return Err(invalid("`interface`")),
            };
            Err(ok(&json!({ "description": description })))
        }
        (SERVICE, _) => Err(not_found("Method", "method", method)),
        _ => Err(not_found("Interface", "interface", interface)),
    }
}

/// The message with an answer.
pub(crate) fn reply(answer: &Answer) -> Vec<u8> {
    message(&match answer {
        Answer::Ok(done) => ok(done),
        Answer::Error(refusal) => error(
            INTERFACE,
            // As the interface calls it.
            &format!("{:?}", refusal.code),
            &json!({ "message": refusal.message, "fix": refusal.fix }),
        ),
    })
}

pub(crate) fn message(value: &Value) -> Vec<u8> {
    // A JSON value always serializes.
    let mut message = serde_json::to_vec(value).unwrap_or_default();
    message.push(END);
    message
}

fn ok(parameters: &impl Serialize) -> Value {
    json!({ "parameters": parameters })
}

fn error(interface: &str, name: &str, parameters: &Value) -> Value {
    json!({ "error": format!("{interface}.{name}"), "parameters": parameters })
}

fn not_found(what: &str, key: &str, name: &str) -> Value {
    error(SERVICE, &format!("{what}NotFound"), &json!({ key: name }))
}

/// The parser's message has the parameter's name between backticks.
fn invalid(problem: &str) -> Value {
    let parameter = problem.split('`').nth(1).unwrap_or(problem);
    error(
        SERVICE,
        "InvalidParameter",
        &json!({ "parameter": parameter }),
    )
}

#[cfg(test)]
mod tests;
