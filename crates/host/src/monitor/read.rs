//! Converts what the kernel's programs write to the types of flows.

use std::net::{IpAddr, SocketAddr};

use takt_algo::sys::{
    TAKT_MONITOR_ECN_ECHO, TAKT_MONITOR_ECN_MARK, TAKT_MONITOR_LIMIT, TAKT_MONITOR_RECEIVER,
    TAKT_MONITOR_RETRANSMIT, TAKT_MONITOR_STATE, TAKT_MONITOR_TIMEOUT, TAKT_MONITOR_WINDOW,
    takt_monitor_ends, takt_monitor_event, takt_monitor_sample,
};
use takt_flows::{Ends, Event, Flow, Limit, Sample, Seen, What};

use crate::bpf::{
    address::{ipv4, ipv6},
    names::text,
};

/// The kernel's threshold until a first loss sets it.
const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;
const NO_RTT_US: u32 = u32::MAX;

pub(super) fn seen(raw: &takt_monitor_sample) -> Seen {
    let is_known = raw.tgid != 0;
    let is_bounded = raw.upper != 0;
    Seen {
        flow: Flow {
            id: raw.ends.cookie,
            ends: ends(&raw.ends),
            application: is_known.then(|| text(&raw.application)),
            pid: is_known.then_some(raw.tgid),
            congestion: Some(text(&raw.congestion)),
        },
        sample: Sample {
            at_ns: raw.at_ns,
            flow: raw.ends.cookie,
            state: raw.state.into(),
            congestion_state: u16::from(raw.congestion_state).into(),
            limit: limit(raw.limit.into()),
            cwnd_segments: raw.cwnd,
            ssthresh_segments: ssthresh(raw.ssthresh),
            lower_segments: is_bounded.then_some(raw.lower),
            upper_segments: is_bounded.then_some(raw.upper),
            in_flight_segments: raw.in_flight,
            mss_bytes: raw.mss_bytes,
            rtt_us: Some(raw.rtt_us).filter(|rtt_us| *rtt_us != 0),
            rtt_var_us: raw.rtt_var_us,
            rtt_min_us: Some(raw.rtt_min_us).filter(|rtt_us| *rtt_us != NO_RTT_US),
            delivery_bytes_ps: raw.delivery_bytes_ps,
            is_app_limited: raw.is_app_limited != 0,
            send_queue_bytes: raw.send_queue_bytes,
            unsent_bytes: raw.unsent_bytes,
            send_memory_bytes: raw.send_memory_bytes,
            receive_queue_bytes: raw.receive_queue_bytes,
            peer_window_bytes: raw.peer_window_bytes,
            own_window_bytes: raw.own_window_bytes,
            acked_bytes: raw.acked_bytes,
            received_bytes: raw.received_bytes,
            delivered_segments: raw.delivered,
            lost_segments: raw.lost,
            retransmitted_segments: raw.retransmitted,
            timeouts: raw.timeouts,
            ecn_echo_segments: raw.ecn_echoes,
            ecn_mark_packets: raw.ecn_marks,
        },
    }
}

/// `None` for an unknown kind.
pub(super) fn event(raw: &takt_monitor_event) -> Option<(Flow, Event)> {
    let what = match raw.kind {
        TAKT_MONITOR_RETRANSMIT => What::Retransmit {
            segments: raw.count,
        },
        TAKT_MONITOR_TIMEOUT => What::Timeout,
        TAKT_MONITOR_STATE => What::State {
            from: raw.from.into(),
            to: raw.to.into(),
        },
        TAKT_MONITOR_ECN_ECHO => What::EcnEcho {
            segments: raw.count,
        },
        TAKT_MONITOR_ECN_MARK => What::EcnMark { packets: raw.count },
        TAKT_MONITOR_LIMIT => What::Limit {
            from: limit(raw.from.into()),
            to: limit(raw.to.into()),
        },
        _ => return None,
    };
    let flow = Flow {
        id: raw.ends.cookie,
        ends: ends(&raw.ends),
        application: None,
        pid: None,
        congestion: None,
    };
    let event = Event {
        what,
        at_ns: raw.at_ns,
        flow: flow.id,
        cwnd_segments: raw.cwnd,
        ssthresh_segments: ssthresh(raw.ssthresh),
        in_flight_segments: raw.in_flight,
    };
    Some((flow, event))
}

fn ends(raw: &takt_monitor_ends) -> Ends {
    let end = |words, port| SocketAddr::new(address(words, raw.is_v6 != 0), port);
    Ends {
        local: end(&raw.local, raw.local_port),
        remote: end(&raw.remote, raw.remote_port),
    }
}

/// A dual-stack socket has IPv4-mapped IPv6 addresses: show the IPv4 addresses.
fn address(words: &[u32; 4], is_v6: bool) -> IpAddr {
    if is_v6 {
        ipv6(words).to_canonical()
    } else {
        ipv4(words).into()
    }
}

fn limit(raw: u32) -> Limit {
    match raw {
        TAKT_MONITOR_WINDOW => Limit::Window,
        TAKT_MONITOR_RECEIVER => Limit::Receiver,
        _ => Limit::None,
    }
}

fn ssthresh(segments: u32) -> Option<u32> {
    (segments < SSTHRESH_INFINITE).then_some(segments)
}
