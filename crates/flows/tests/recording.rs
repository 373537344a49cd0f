//! What a recording looks like, and that it is read as it was written.

use proptest::prelude::*;
use takt_flows::{
    BadRecording, CongestionState, Ends, Event, Filter, Flow, Header, Limit, Line, Recorder,
    Recording, Sample, Seen, State, Survey, VERSION, What,
};

fn header() -> Line {
    Line::Recording(Header {
        version: VERSION,
        kernel: "6.18.15".to_owned(),
        interval_ns: 100_000_000,
        at_ns: 1_000,
        unix_ns: 1_800_000_000_000_000_000,
    })
}

fn flow(id: u64) -> Flow {
    Flow {
        id,
        ends: Ends {
            local: "10.0.0.1:40000".parse().unwrap(),
            remote: "[2001:db8::1]:443".parse().unwrap(),
        },
        application: Some("rsync".to_owned()),
        pid: Some(17),
        congestion: Some("takt".to_owned()),
    }
}

fn sample(flow: u64, at_ns: u64) -> Sample {
    Sample {
        at_ns,
        flow,
        state: State::Established,
        congestion_state: CongestionState::Open,
        limit: Limit::Window,
        cwnd_segments: 20,
        ssthresh_segments: Some(18),
        lower_segments: Some(16),
        upper_segments: Some(24),
        in_flight_segments: 19,
        mss_bytes: 1448,
        rtt_us: Some(21_000),
        rtt_var_us: 900,
        rtt_min_us: Some(16_000),
        delivery_bytes_ps: 1_300_000,
        is_app_limited: false,
        send_queue_bytes: 60_000,
        unsent_bytes: 32_488,
        send_memory_bytes: 90_000,
        receive_queue_bytes: 0,
        peer_window_bytes: 65_536,
        own_window_bytes: 65_535,
        acked_bytes: 1_000_000,
        received_bytes: 1_000,
        delivered_segments: 700,
        lost_segments: 2,
        retransmitted_segments: 3,
        timeouts: 1,
        ecn_echo_segments: 0,
        ecn_mark_packets: 0,
    }
}

fn event(flow: u64, at_ns: u64, what: What) -> Event {
    Event {
        what,
        at_ns,
        flow,
        cwnd_segments: 20,
        ssthresh_segments: None,
        in_flight_segments: 19,
    }
}

fn kinds() -> [What; 6] {
    [
        What::Retransmit { segments: 2 },
        What::Timeout,
        What::State {
            from: CongestionState::Open,
            to: CongestionState::Loss,
        },
        What::EcnEcho { segments: 3 },
        What::EcnMark { packets: 4 },
        What::Limit {
            from: Limit::None,
            to: Limit::Receiver,
        },
    ]
}

fn every_kind() -> Vec<Line> {
    let events = kinds().into_iter().zip(3_000..);
    let mut lines = vec![
        header(),
        Line::Flow(flow(7)),
        Line::Sample(sample(7, 2_000)),
    ];
    lines.extend(events.map(|(what, at_ns)| Line::Event(event(7, at_ns, what))));
    lines.push(Line::End {
        at_ns: 4_000,
        flow: 7,
    });
    lines.push(Line::Lost {
        at_ns: 4_000,
        events: 5,
    });
    lines
}

fn text(lines: &[Line]) -> String {
    lines.iter().map(Line::to_json).collect()
}

#[test]
fn the_format() {
    insta::assert_snapshot!(text(&every_kind()));
}

#[test]
fn what_is_written_is_read() {
    let recording = Recording::parse(&text(&every_kind())).unwrap();
    assert_eq!(recording.tracks.len(), 1);
    assert_eq!(recording.tracks[0].events.len(), kinds().len());
    assert_eq!(recording.lost_events, 5);
    let again = Recording::parse(&text(&recording.lines())).unwrap();
    assert_eq!(again, recording);
}

#[test]
fn what_is_not_known_is_left_out() {
    let bare = Sample {
        ssthresh_segments: None,
        lower_segments: None,
        upper_segments: None,
        rtt_us: None,
        rtt_min_us: None,
        ..sample(7, 1)
    };
    let line = Line::Sample(bare).to_json();
    assert!(
        !line.contains("null") && !line.contains("ssthresh"),
        "{line}"
    );
    assert_eq!(serde_json::from_str::<Line>(&line).unwrap().to_json(), line);
}

#[test]
fn half_a_last_line_is_not_looked_at() {
    let whole = text(&every_kind());
    let last = whole.trim_end().rfind('\n').unwrap() + 1;
    for end in last..whole.len() {
        let recording = Recording::parse(&whole[..end]).unwrap();
        assert_eq!(recording.lost_events, 0);
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let said = |text: &str| Recording::parse(text).unwrap_err().to_string();
    assert!(matches!(Recording::parse(""), Err(BadRecording::NoHeader)));
    assert!(said("{}\n").contains("\"kind\":\"recording\""));
    let newer = text(&[header()]).replace("\"version\":1", "\"version\":2");
    assert!(said(&newer).contains("version 2"));
    let good = text(&[header()]);
    assert!(said(&format!("{good}nonsense\n")).starts_with("line 2: "));
    let nameless = text(&[header(), Line::Sample(sample(9, 1))]);
    assert_eq!(
        said(&nameless),
        "line 2 is about flow 9, which no line before names"
    );
}

#[test]
fn a_recorder_tells_what_is_new() {
    let mut recorder = Recorder::default();
    let seen = |at_ns| Seen {
        flow: flow(7),
        sample: sample(7, at_ns),
    };
    let first = recorder.take(10, vec![seen(10)], Vec::new(), 0);
    assert_eq!(first, [Line::Flow(flow(7)), Line::Sample(sample(7, 10))]);
    // Nothing but the time has changed.
    assert_eq!(recorder.take(20, vec![seen(20)], Vec::new(), 0), []);
    let moved = Seen {
        flow: flow(7),
        sample: Sample {
            cwnd_segments: 21,
            ..sample(7, 30)
        },
    };
    // One that came and went between two looks is named by its events.
    let timeout = event(8, 25, What::Timeout);
    let lines = recorder.take(30, vec![moved.clone()], vec![(flow(8), timeout.clone())], 2);
    assert_eq!(
        lines,
        [
            Line::Flow(flow(8)),
            Line::Event(timeout),
            Line::Sample(moved.sample),
            Line::End { at_ns: 30, flow: 8 },
            Line::Lost {
                at_ns: 30,
                events: 2
            },
        ]
    );
    let gone = recorder.take(40, Vec::new(), Vec::new(), 2);
    assert_eq!(gone, [Line::End { at_ns: 40, flow: 7 }]);
}

#[test]
fn holders_are_looked_for_a_few_times() {
    let mut survey = Survey::default();
    let seen = |pid, state| {
        vec![Seen {
            flow: Flow { pid, ..flow(7) },
            sample: Sample {
                state,
                ..sample(7, 1)
            },
        }]
    };
    assert!(!survey.is_due(&seen(Some(1), State::Established)));
    assert!(!survey.is_due(&seen(None, State::FinWait2)));
    for _ in 0..3 {
        assert!(survey.is_due(&seen(None, State::Established)));
    }
    assert!(!survey.is_due(&seen(None, State::Established)));
}

#[test]
fn filters() {
    let admits = |filter: Filter| filter.admits(&flow(7));
    let none = Filter::default();
    assert!(admits(none.clone()));
    let ports = |ports: &[u16]| Filter {
        ports: ports.to_vec(),
        ..Filter::default()
    };
    assert!(admits(ports(&[1, 443])) && admits(ports(&[40000])) && !admits(ports(&[44])));
    let address = |address: &str| Filter {
        addresses: vec![address.parse().unwrap()],
        ..Filter::default()
    };
    assert!(admits(address("2001:db8::1")) && !admits(address("10.0.0.2")));
    let application = |name: &str| Filter {
        applications: vec![name.to_owned()],
        ..ports(&[443])
    };
    assert!(admits(application("rsync")) && !admits(application("ssh")));
}

#[test]
fn parts_of_a_recording() {
    let mut lines = vec![header()];
    for id in [1, 2] {
        lines.push(Line::Flow(flow(id)));
        lines.extend((0..10).map(|at| {
            Line::Sample(Sample {
                acked_bytes: at * id,
                ..sample(id, at)
            })
        }));
    }
    let recording = Recording::from_parsed(lines).unwrap();
    let heaviest = recording.clone().heaviest(1);
    assert_eq!(heaviest.tracks.len(), 1);
    assert_eq!(heaviest.tracks[0].flow.id, 2);
    assert_eq!(recording.clone().thinned(4).tracks[0].samples.len(), 4);
    assert_eq!(recording.clone().thinned(100), recording);
}

proptest! {
    #[test]
    fn anything_is_read_or_refused(text in ".*\n.*\n") {
        let _ = Recording::parse(&text);
        let _ = Recording::parse(&format!("{}{text}", header().to_json()));
    }
}
