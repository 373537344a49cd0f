//! A multicast group, over this host's loopback.

use std::{thread::sleep, time::Duration};

use super::*;

const RATE: Rate = Rate::per_second(1_000, 64);

fn group() -> SocketAddrV4 {
    let free = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    SocketAddrV4::new(Ipv4Addr::new(239, 255, 76, 43), port)
}

fn listening(group: SocketAddrV4) -> Listener {
    let place = Place::Group {
        name: "lo".to_owned(),
        own: Ipv4Addr::LOCALHOST,
        group,
    };
    Listener::open(place, RATE).unwrap()
}

fn voice(last: u8, group: SocketAddrV4) -> UdpSocket {
    let from = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, last), group.port());
    speak("lo", from, group.into()).unwrap()
}

/// What is received, if members' datagrams begin with an M.
fn heard(listener: &mut Listener, now_ns: u64) -> Vec<(SocketAddr, Vec<u8>)> {
    // The kernel delivers over the loopback at once; this is for slow hosts.
    sleep(Duration::from_millis(5));
    let mut all = Vec::new();
    listener.poll(now_ns, |from, datagram| {
        all.push((from, datagram.to_vec()));
        datagram.first() == Some(&b'M')
    });
    all
}

#[test]
fn what_goes_to_a_group_is_heard_once() {
    let group = group();
    let mut listener = listening(group);
    let voices = [voice(2, group), voice(3, group)];
    for n in 0..4u8 {
        let mut expected = Vec::new();
        for voice in &voices {
            let datagram = [b'M', n];
            voice.send(&datagram).unwrap();
            expected.push((voice.local_addr().unwrap(), datagram.to_vec()));
        }
        assert_eq!(heard(&mut listener, u64::from(n)), expected);
        assert_eq!(listener.own_count(), 2);
    }
    assert_eq!(listener.dropped(), 0);
    // No member of the group sends from another port.
    let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    other.send_to(b"M", group).unwrap();
    assert_eq!(heard(&mut listener, 5), []);
    // A member that was silent for long is a stranger again.
    assert_eq!(heard(&mut listener, SILENT_NS + 5), []);
    assert_eq!(listener.own_count(), 0);
    voices[0].send(b"M").unwrap();
    assert_eq!(heard(&mut listener, SILENT_NS + 6).len(), 1);
}

/// More than a socket holds, between any two readings.
#[test]
fn strangers_that_flood_a_group_keep_no_member_out() {
    let group = group();
    let mut listener = listening(group);
    let (member, stranger) = (voice(2, group), voice(3, group));
    member.send(b"M").unwrap();
    assert_eq!(heard(&mut listener, 0).len(), 1);
    let mut read = 0;
    for second in 1..=5 {
        for _ in 0..5000 {
            stranger.send(&[0; 54]).unwrap();
        }
        member.send(b"M").unwrap();
        let all = heard(&mut listener, second * 1_000_000_000);
        assert!(all.iter().any(|(_, datagram)| datagram == b"M"));
        read += all.len();
    }
    assert!(read as u64 <= 5 * (RATE.burst() + 1), "{read}");
    assert!(listener.dropped() > 10_000);
}
