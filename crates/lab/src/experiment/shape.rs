//! A case's requirements: classes, their rates, and the link.

/// Bytes that the Ethernet header adds to an IP packet. Every qdisc here accounts the frame
/// with it and without the checksum, as `tc` does. So a 1,500-byte packet counts 1,514 bytes
/// for all of them, in targets and in results.
pub const ETHERNET_HEADER_BYTES: u32 = 14;

pub const FIRST_PORT: u16 = 10_000;

/// IP and TCP headers, the latter with timestamps.
const TCP_HEADER_BYTES: u32 = 20 + 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    pub name: String,
    /// The class's traffic goes to this port.
    pub dst_port: u16,
    pub rate_bps: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// `None` where the case has no link rate: the link is then wide enough.
    pub link_rate_bps: Option<u64>,
    pub packet_bytes: u32,
    pub transport: Transport,
    /// Whether packets are to wait for their due time. If not, the rates are so high that none
    /// ever does, and schedulers that can do without a rate get none.
    pub waits: bool,
    /// `Some(n)`: each class is `n` flows, each with the class's rate. `None`: each class is
    /// one flow, and its rate is the class's.
    pub flows_per_class: Option<usize>,
    pub classes: Vec<Class>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Udp,
    Tcp,
}

impl Shape {
    /// One class for each rate, on consecutive ports, in 1,500-byte UDP packets.
    pub fn udp(rates_bps: impl IntoIterator<Item = u64>) -> Self {
        let classes = rates_bps
            .into_iter()
            .zip(FIRST_PORT..)
            .zip(1..)
            .map(|((rate_bps, dst_port), number): (_, u32)| Class {
                name: format!("class-{number}"),
                dst_port,
                rate_bps,
            })
            .collect();
        Self {
            link_rate_bps: None,
            packet_bytes: 1500,
            transport: Transport::Udp,
            waits: true,
            flows_per_class: None,
            classes,
        }
    }

    /// This many flows of one class, each with its own rate.
    pub fn flows(flows: usize, rate_bps: u64) -> Self {
        Self {
            flows_per_class: Some(flows),
            ..Self::udp([rate_bps])
        }
    }

    /// One class of TCP connections to one port.
    pub fn tcp(name: &str, dst_port: u16, rate_bps: u64) -> Self {
        Self {
            transport: Transport::Tcp,
            classes: vec![Class {
                name: name.to_owned(),
                dst_port,
                rate_bps,
            }],
            ..Self::udp([])
        }
    }

    /// The class of every flow, in the order of the sockets that send them,
    /// and the flow's number within its class.
    pub fn sockets(&self) -> impl Iterator<Item = (&Class, u32)> {
        let flows = self.flows_per_class.unwrap_or(1) as u32;
        self.classes
            .iter()
            .flat_map(move |class| (0..flows).map(move |flow| (class, flow)))
    }

    /// The part of a rate on the wire that is TCP's payload.
    pub fn tcp_goodput_bps(&self, wire_bps: u64) -> u64 {
        let payload_bytes = self.packet_bytes - TCP_HEADER_BYTES;
        wire_bps * u64::from(payload_bytes) / u64::from(self.frame_bytes())
    }

    pub fn frame_bytes(&self) -> u32 {
        self.packet_bytes + ETHERNET_HEADER_BYTES
    }
}
