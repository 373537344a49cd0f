use proptest::prelude::*;
use serde_json::{Value, json};
use takt_host::{Datagrams, Heard};
use varlink_parser::{IDL, VStruct, VStructOrEnum, VType, VTypeExt};

use super::*;
use crate::protocol::{
    Add, Added, BeatReservation, Done, JoinBeat, Joined, JoinedBeat, LeaveBeat, LeftBeat, Listed,
    ListedBeats, ListedCrowd, ListedRadio, Neighbour, Neighbourhood, Registered, Removed, Share,
    Strangers,
};

fn interface() -> IDL<'static> {
    IDL::try_from(DESCRIPTION).expect("the interface is varlink")
}

fn call(message: &Value) -> Call {
    parse(message.to_string().as_bytes()).unwrap()
}

/// What is said at once, without a request.
fn said(message: &Value) -> Value {
    match call(message).asked {
        Asked::Reply(value) => value,
        Asked::Request(request) => panic!("{request:?}"),
    }
}

#[test]
fn calls_are_requests() {
    let full = json!({
        "method": "io.takt.Daemon.AddBackground",
        "parameters": { "dst": "::1", "port": 873, "user": null, "lifetime_s": 60 },
        "more": true,
    });
    let add = Add {
        dst: "::1".to_owned(),
        port: 873,
        lifetime_s: Some(60),
        ..Add::default()
    };
    assert_eq!(call(&full).asked, Asked::Request(Request::Add(add)));
    let bare = call(&json!({ "method": "io.takt.Daemon.LeaveBeat", "oneway": true }));
    let leave = Request::LeaveBeat(LeaveBeat::default());
    assert_eq!(bare.asked, Asked::Request(leave));
    assert!(bare.is_oneway);
    let joins = json!({
        "method": "io.takt.Daemon.JoinBeat",
        "parameters": { "period_ns": 40_000_000, "budget_ns": 1_000_000, "overrun": "stop-group" },
    });
    let join = JoinBeat {
        period_ns: Some(40_000_000),
        budget_ns: Some(1_000_000),
        overrun: Some(takt_policy::Overrun::StopGroup),
        ..JoinBeat::default()
    };
    assert_eq!(call(&joins).asked, Asked::Request(Request::JoinBeat(join)));
}

#[test]
fn the_service_describes_itself() {
    let info = said(&json!({ "method": "org.varlink.service.GetInfo" }));
    assert_eq!(
        info["parameters"]["interfaces"],
        json!([SERVICE, INTERFACE])
    );
    for interface in [SERVICE, INTERFACE] {
        let described = said(&json!({
            "method": "org.varlink.service.GetInterfaceDescription",
            "parameters": { "interface": interface },
        }));
        let text = described["parameters"]["description"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(IDL::try_from(text.as_str()).unwrap().name, interface);
    }
}

#[test]
fn errors_are_those_of_varlinks_own_interface() {
    for (message, error, key, value) in [
        (
            json!({ "method": "io.takt.Daemon.Dance" }),
            "MethodNotFound",
            "method",
            "io.takt.Daemon.Dance",
        ),
        (
            json!({ "method": "org.varlink.service.Dance" }),
            "MethodNotFound",
            "method",
            "org.varlink.service.Dance",
        ),
        (
            json!({ "method": "org.example.Dance" }),
            "InterfaceNotFound",
            "interface",
            "org.example",
        ),
        (
            json!({ "method": "Dance" }),
            "InterfaceNotFound",
            "interface",
            "",
        ),
        (
            json!({
                "method": "io.takt.Daemon.AddBackground",
                "parameters": { "dst": "::1", "port": 1, "colour": "red" },
            }),
            "InvalidParameter",
            "parameter",
            "colour",
        ),
        (
            json!({
                "method": "io.takt.Daemon.AddBackground",
                "parameters": { "dst": "::1" },
            }),
            "InvalidParameter",
            "parameter",
            "port",
        ),
    ] {
        let said = said(&message);
        assert_eq!(
            said["error"],
            format!("org.varlink.service.{error}"),
            "{message}"
        );
        assert_eq!(said["parameters"], json!({ key: value }), "{message}");
    }
    for message in ["", "{", "[]", "{}", r#"{"method":1}"#] {
        assert_eq!(parse(message.as_bytes()).unwrap_err().code, Code::Malformed);
    }
}

#[test]
fn refusals_are_errors_of_the_interface() {
    let interface = interface();
    for code in [
        Code::Malformed,
        Code::BadAddress,
        Code::BadPort,
        Code::BadLifetime,
        Code::NotYours,
        Code::NotRegistered,
        Code::TooMany,
        Code::TooFast,
        Code::Busy,
        Code::NoBeats,
        Code::BadBeat,
        Code::NoPlace,
        Code::MayNotJoin,
        Code::NoRoom,
        Code::Failed,
    ] {
        let refusal = Refusal::new(code, "wrong", "right");
        let mut message = reply(&Answer::Error(refusal));
        assert_eq!(message.pop(), Some(END));
        let told: Value = serde_json::from_slice(&message).unwrap();
        let name = told["error"]
            .as_str()
            .unwrap()
            .strip_prefix("io.takt.Daemon.")
            .unwrap();
        assert!(interface.errors.contains_key(name), "{name}");
        assert_eq!(
            told["parameters"],
            json!({ "message": "wrong", "fix": "right" })
        );
    }
    assert_eq!(interface.errors.len(), 15);
}

/// All that taktd says, with every value there.
fn answers() -> [(&'static str, Done); 9] {
    let place = BeatReservation {
        task: "av".to_owned(),
        member: "2".to_owned(),
        tid: 7,
        page: 1,
        user: Some(1000),
    };
    let neighbour = Neighbour {
        number: 1,
        name: "a".to_owned(),
        address: Some([192, 0, 2, 1].into()),
        rate_bytes_ps: 1,
        flows: 1,
        lends: true,
        competes: true,
        rtt_ratio_milli: Some(1),
        wait_us: 1,
        age_ms: 1,
    };
    let share = Share {
        rate_bytes_ps: 1,
        flows: 1,
        lends: true,
        competes: true,
        users: 1,
        share_bytes_ps: 1,
        capacity_bytes_ps: 1,
        remembered_bytes_ps: Some(1),
    };
    let strangers = Strangers {
        count: 1,
        rate_bytes_ps: 1,
    };
    [
        (
            "AddBackground",
            Done::Added(Added {
                added: true,
                warning: Some("w".to_owned()),
            }),
        ),
        ("RemoveBackground", Done::Removed(Removed { removed: true })),
        (
            "ListBackground",
            Done::Listed(Listed {
                registrations: vec![Registered {
                    dst: "::1".to_owned(),
                    port: 1,
                    user: Some(1),
                    lifetime_s: Some(1),
                }],
            }),
        ),
        (
            "JoinBackground",
            Done::Joined(Joined {
                group: "/a".to_owned(),
            }),
        ),
        (
            "JoinBeat",
            Done::JoinedBeat(JoinedBeat {
                place: place.clone(),
            }),
        ),
        ("LeaveBeat", Done::LeftBeat(LeftBeat { left: true })),
        (
            "ListBeats",
            Done::ListedBeats(ListedBeats {
                places: vec![place],
            }),
        ),
        (
            "ListRadio",
            Done::ListedRadio(ListedRadio {
                sources: vec![Heard {
                    links: vec!["wlan0".to_owned()],
                    datagrams: Some(Datagrams::default()),
                    ..Heard::default()
                }],
            }),
        ),
        (
            "ListCrowd",
            Done::ListedCrowd(ListedCrowd {
                neighbourhoods: vec![Neighbourhood {
                    share: Some(share),
                    strangers: Some(strangers),
                    neighbours: vec![neighbour],
                    ..Neighbourhood::default()
                }],
            }),
        ),
    ]
}

#[test]
fn answers_are_what_the_interface_says() {
    let interface = interface();
    assert_eq!(interface.methods.len(), METHODS.len());
    for ((method, _), (answered, done)) in METHODS.into_iter().zip(answers()) {
        assert_eq!(method, answered);
        let value = serde_json::to_value(&done).unwrap();
        check_struct(
            &interface,
            &interface.methods[method].output,
            &value,
            method,
        );
    }
}

/// Each method's parameters are those of its request: no others are accepted.
#[test]
fn requests_are_what_the_interface_says() {
    let interface = interface();
    for (method, request) in METHODS {
        let input = &interface.methods[method].input;
        let mut parameters: Map<String, Value> = input
            .elts
            .iter()
            .map(|argument| {
                (
                    argument.name.to_owned(),
                    sample(argument.name, &argument.vtype),
                )
            })
            .collect();
        let request = json!({ request: parameters.clone() });
        let parsed: Request = serde_json::from_value(request).unwrap();
        // None of them was ignored.
        let back = serde_json::to_value(&parsed).unwrap();
        assert_eq!(
            back.as_object().unwrap().values().next().unwrap(),
            &json!(parameters)
        );
        parameters.insert("colour".to_owned(), json!("red"));
        let said = said(&json!({
            "method": format!("io.takt.Daemon.{method}"),
            "parameters": parameters,
        }));
        assert_eq!(said["parameters"]["parameter"], "colour");
    }
}

fn sample(name: &str, of: &VTypeExt) -> Value {
    match of {
        VTypeExt::Option(inner) => sample(name, inner),
        VTypeExt::Plain(VType::Bool) => json!(true),
        VTypeExt::Plain(VType::Int) => json!(1),
        VTypeExt::Plain(VType::String) if name == "overrun" => json!("signal"),
        VTypeExt::Plain(VType::String) if name == "lead" => json!("auto"),
        VTypeExt::Plain(VType::String) => json!("::1"),
        VTypeExt::Plain(VType::Typename("GroupMember")) => {
            json!({ "name": "av", "member": 1, "of": 2, "handoff": "free" })
        }
        other => panic!("{name}: no sample of {other}"),
    }
}

fn check_struct(interface: &IDL, of: &VStruct, value: &Value, at: &str) {
    let fields = value.as_object().unwrap_or_else(|| panic!("{at}: {value}"));
    assert_eq!(fields.len(), of.elts.len(), "{at}: {value}");
    for argument in &of.elts {
        let at = format!("{at}.{}", argument.name);
        let value = fields
            .get(argument.name)
            .unwrap_or_else(|| panic!("{at} is missing"));
        check(interface, &argument.vtype, value, &at);
    }
}

fn check(interface: &IDL, of: &VTypeExt, value: &Value, at: &str) {
    match of {
        VTypeExt::Option(inner) => check(interface, inner, value, at),
        VTypeExt::Array(inner) => {
            let values = value.as_array().unwrap_or_else(|| panic!("{at}: {value}"));
            assert!(!values.is_empty(), "{at} has a sample");
            values
                .iter()
                .for_each(|value| check(interface, inner, value, at));
        }
        VTypeExt::Plain(VType::Bool) => assert!(value.is_boolean(), "{at}: {value}"),
        VTypeExt::Plain(VType::Int) => assert!(value.is_u64(), "{at}: {value}"),
        VTypeExt::Plain(VType::String) => assert!(value.is_string(), "{at}: {value}"),
        VTypeExt::Plain(VType::Typename(name)) => match &interface.typedefs[name].elt {
            VStructOrEnum::VStruct(inner) => check_struct(interface, inner, value, at),
            VStructOrEnum::VEnum(_) => panic!("{at}: no enumerations are used"),
        },
        other => panic!("{at}: {other} is not used"),
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(message in prop::collection::vec(any::<u8>(), 0..1100)) {
        let _ = parse(&message);
    }

    #[test]
    fn nor_do_parameters_of_any_shape(
        method in "(io.takt.Daemon|org.varlink.service).(AddBackground|JoinBeat|GetInfo|X)?",
        value in r#"[{}\[\]":,0-9a-z\\-]{0,40}"#,
    ) {
        let _ = parse(format!("{{\"method\":\"{method}\",\"parameters\":{value}}}").as_bytes());
    }
}
