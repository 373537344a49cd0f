//! `algo/headers.h` and `algo/classify.h`: which class does a frame belong to?

mod frames;

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};
use takt_algo::sys::{TAKT_FAMILY_IPV4, TAKT_FAMILY_IPV6, takt_key};
use takt_planner::{ClassIds, Questions};

use crate::{
    Failure,
    concept::{Concept, Vector},
    machine::{Machine, State, Step},
    sys,
};

pub enum Classify {}

/// A policy of one link, in the lines of its text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    policy: Vec<String>,
}

/// A frame, in hexadecimal: from its network header or first VLAN tag on.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    ethertype: String,
    mark: u32,
    bytes: String,
}

/// The fields that were read, and the class, counted from 1 in the policy's order.
#[derive(Serialize)]
pub struct Answer {
    class: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip: Option<Ip>,
}

#[derive(Serialize)]
struct Ip {
    family: u8,
    proto: u8,
    dscp: u8,
    src: String,
    dst: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    ports: Option<[u16; 2]>,
}

impl Concept for Classify {
    const FILE: &'static str = "classify.json";
    const ABOUT: &'static [&'static str] = &[
        "From a frame to its class, by the first match in the policy.",
        "Frames begin at the network header or behind the first VLAN tag's ethertype.",
        "Classes are counted from 1, and the default class comes last.",
    ];
    type Setup = Setup;
    type Call = Frame;
    type Answer = Answer;

    fn prepare(setup: &Setup, state: &mut State) -> Result<(), Failure> {
        let policy = takt_policy::parse(Self::FILE, &setup.policy.join("\n"))
            .map_err(|diagnostics| senseless(diagnostics.to_string()))?;
        let [link] = policy.links.as_slice() else {
            return Err(senseless("a policy of one link".to_owned()));
        };
        let plan = takt_planner::plan(link, &ClassIds::default(), &Questions::of(&policy.links))
            .map_err(|error| senseless(error.to_string()))?;
        state.plan = *plan.tables;
        Ok(())
    }

    fn call(frame: &Frame, machine: &mut dyn Machine) -> Result<Answer, Failure> {
        let bytes = bytes_of(&frame.bytes)?;
        let ethertype = u16::from_str_radix(&frame.ethertype, 16)
            .map_err(|_| senseless(format!("ethertype {}", frame.ethertype)))?;
        let state = machine.state();
        state.key = takt_key {
            mark: frame.mark,
            ..takt_key::default()
        };
        state.packet.fill(0);
        for (word, chunk) in state.packet.iter_mut().zip(bytes.chunks(4)) {
            let mut octets = [0; 4];
            octets[..chunk.len()].copy_from_slice(chunk);
            *word = u32::from_ne_bytes(octets);
        }
        let mut step = Step {
            op: sys::TAKT_VECTOR_CLASSIFY,
            ethertype: ethertype.into(),
            bytes: bytes.len() as u32,
            ..Step::default()
        };
        machine.run(&mut step)?;
        Ok(Answer {
            class: step.answer,
            ip: ip(&machine.state().key),
        })
    }

    fn record() -> Result<Vec<Vector<Self>>, Failure> {
        frames::all()
    }
}

fn ip(key: &takt_key) -> Option<Ip> {
    let octets = |address: [u32; 4]| address.map(u32::to_ne_bytes);
    let text = |address| match u32::from(key.family) {
        TAKT_FAMILY_IPV4 => Some(Ipv4Addr::from(octets(address)[0]).to_string()),
        TAKT_FAMILY_IPV6 => {
            let mut all = [0; 16];
            all.copy_from_slice(octets(address).as_flattened());
            Some(Ipv6Addr::from(all).to_string())
        }
        _ => None,
    };
    Some(Ip {
        family: key.family,
        proto: key.proto,
        dscp: key.dscp,
        src: text(key.src)?,
        dst: text(key.dst)?,
        ports: (key.has_ports == 1).then_some([key.src_port, key.dst_port]),
    })
}

/// Spaces are for readability.
fn bytes_of(hex: &str) -> Result<Vec<u8>, Failure> {
    let digits: Option<Vec<u32>> = hex
        .chars()
        .filter(|char| *char != ' ')
        .map(|char| char.to_digit(16))
        .collect();
    let digits = digits.ok_or_else(|| senseless(hex.to_owned()))?;
    let pairs = digits.chunks_exact(2);
    let room = (sys::TAKT_VECTOR_PACKET_BYTES as usize) >= pairs.len();
    if !pairs.remainder().is_empty() || !room {
        return Err(senseless(hex.to_owned()));
    }
    Ok(pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}

fn senseless(what: String) -> Failure {
    Failure::Senseless {
        file: Classify::FILE,
        what,
    }
}
