//! Captures made of packets.

/// A frame's header and what of its packet was captured: IPv4 and UDP from this port to that one,
/// with this field of DSCP and ECN.
pub fn udp(from: u16, to: u16, traffic_class: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];
    frame.extend([0x45, traffic_class, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    frame.extend([192, 0, 2, 1, 198, 51, 100, 1]);
    frame.extend(from.to_be_bytes());
    frame.extend(to.to_be_bytes());
    frame.extend([0; 4]);
    frame
}

/// A packet: when, how long it was, and what was captured of it.
pub type Packet = (u64, u32, Vec<u8>);

/// With times in nanoseconds; least significant bytes first.
pub fn pcap_le(link_type: u32, packets: &[Packet]) -> Vec<u8> {
    pcap(link_type, packets, u32::to_le_bytes)
}

/// The same, most significant bytes first.
pub fn pcap_be(link_type: u32, packets: &[Packet]) -> Vec<u8> {
    pcap(link_type, packets, u32::to_be_bytes)
}

fn pcap(link_type: u32, packets: &[Packet], bytes: fn(u32) -> [u8; 4]) -> Vec<u8> {
    const NS_PER_S: u64 = 1_000_000_000;
    // The versions are two half words, in the file's byte order.
    let versions = match bytes(1)[0] {
        1 => 0x0004_0002,
        _ => 0x0002_0004,
    };
    let header = [0xa1b2_3c4d, versions, 0, 0, 65_535, link_type];
    let mut file: Vec<u8> = header.into_iter().flat_map(bytes).collect();
    for (time_ns, long, captured) in packets {
        let (seconds, ns) = (time_ns / NS_PER_S, time_ns % NS_PER_S);
        let words = [seconds as u32, ns as u32, captured.len() as u32, *long];
        file.extend(words.into_iter().flat_map(bytes));
        file.extend(captured);
    }
    file
}

/// One section with one Ethernet interface whose clock has this `if_tsresol`; times are its ticks.
pub fn pcapng(resolution: u8, packets: &[Packet]) -> Vec<u8> {
    let mut file = Vec::new();
    block(
        &mut file,
        0x0a0d_0d0a,
        &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]),
    );
    // The option if_tsresol (9) of one byte, and the end of options.
    let options = [9 | 1 << 16, resolution.into(), 0];
    block(&mut file, 1, &words(&[&[1, 0][..], &options].concat()));
    for packet in packets {
        block(&mut file, 6, &of_packet(packet));
    }
    file
}

/// The same with a block of this type behind it, with the content of a packet's.
pub fn pcapng_and(resolution: u8, packets: &[Packet], kind: u32) -> Vec<u8> {
    let mut file = pcapng(resolution, packets);
    block(&mut file, kind, &of_packet(&packets[0]));
    file
}

/// Of an Enhanced Packet Block, and of the obsolete one: both have as many bytes before the data.
fn of_packet((ticks, long, captured): &Packet) -> Vec<u8> {
    let (high, low) = ((ticks >> 32) as u32, *ticks as u32);
    let mut content = words(&[0, high, low, captured.len() as u32, *long]);
    content.extend(captured);
    content.resize(content.len().next_multiple_of(4), 0);
    content
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|it| it.to_le_bytes()).collect()
}

fn block(file: &mut Vec<u8>, kind: u32, content: &[u8]) {
    let length = (content.len() as u32 + 12).to_le_bytes();
    file.extend(kind.to_le_bytes());
    file.extend(length);
    file.extend(content);
    file.extend(length);
}
