//! What is modelled in a run.

use takt_algo::WindowTerms;
use takt_medium::{Profile, RateChoice, SnrPath};
use takt_wlan::crowd::Aggregates;

use crate::{AccessPoint, Control};

/// Where a flow's data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the terminal to its server.
    Up,
    /// From the server to the terminal.
    Down,
}

/// A flow, which always has data while it lasts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowTerms {
    /// Where its data goes.
    pub direction: Direction,
    /// The congestion control of its sender. A member's uploads have takt's bounds besides.
    pub control: Control,
    /// When it begins.
    pub begins_ns: u64,
    /// When its sender stops; `u64::MAX`: never.
    pub ends_ns: u64,
}

impl FlowTerms {
    /// An upload under CUBIC that begins then and goes on.
    pub const fn upload(begins_ns: u64) -> Self {
        Self {
            direction: Direction::Up,
            control: Control::Cubic,
            begins_ns,
            ends_ns: u64::MAX,
        }
    }
}

/// A station of the WLAN.
#[derive(Debug, Clone, PartialEq)]
pub struct Terminal {
    /// The rate of its frames and of those to it.
    pub rate: RateChoice,
    /// How well it and the access point hear each other.
    pub path: SnrPath,
    /// It has takt, and belongs to the group.
    pub is_member: bool,
    /// It bounds what its flows receive, too, if it is a member.
    pub bounds_downloads: bool,
    /// What counts of the capacity that the network had before, if it is a member; 0: none.
    pub remembered_bytes_ps: u64,
    /// Its flows.
    pub flows: Vec<FlowTerms>,
}

/// A run.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The air.
    pub profile: Profile,
    /// Those on it.
    pub terminals: Vec<Terminal>,
    /// What Takt or another does at the access point.
    pub access_point: AccessPoint,
    /// The wire's round trip.
    pub delay_ns: u64,
    /// At most so much is added to it, at random.
    pub jitter_ns: u64,
    /// Random loss of data on the wire, in ppm.
    pub loss_ppm: u32,
    /// Random loss of acknowledgements on the wire, in ppm.
    pub ack_loss_ppm: u32,
    /// Random loss of reports, in ppm.
    pub report_loss_ppm: u32,
    /// Members' drivers report their rates on the air.
    pub reports_rates: bool,
    /// Frames of a flow that its terminal's device takes at once: TCP small queues.
    pub own_queue_frames: usize,
    /// Or as many as the flow sends in this time, if that is more.
    pub own_queue_ns: u64,
    /// The first window, in segments.
    pub initial_window: u32,
    /// The largest window, in segments: the socket's buffer.
    pub window_max: u32,
    /// What all members keep in queues together, in segments.
    pub standing_segments: u32,
    /// What they keep there where devices send aggregates.
    pub aggregates: Aggregates,
}

/// Terminals begin one after the other.
const STAGGER_NS: u64 = 50_000_000;
const MS_NS: u64 = 1_000_000;

impl Setup {
    /// 802.11g at 54 Mbit/s; each terminal uploads one flow under CUBIC. Up to 4 ms of jitter: the
    /// median in the lab, where hosts are loaded, is 1.9 ms.
    pub fn uploads(terminals: usize, delay_ms: u64) -> Self {
        let terminal = |at: usize| Terminal {
            rate: RateChoice::Fixed(7),
            path: SnrPath::constant(6000),
            is_member: false,
            bounds_downloads: false,
            remembered_bytes_ps: 0,
            flows: vec![FlowTerms::upload(at as u64 * STAGGER_NS)],
        };
        Self {
            profile: Profile::dot11g(),
            terminals: (0..terminals).map(terminal).collect(),
            access_point: AccessPoint::default(),
            delay_ns: delay_ms * MS_NS,
            jitter_ns: 4 * MS_NS,
            loss_ppm: 0,
            ack_loss_ppm: 0,
            report_loss_ppm: 0,
            reports_rates: true,
            own_queue_frames: 4,
            own_queue_ns: 0,
            initial_window: 10,
            window_max: 1_000_000,
            standing_segments: WindowTerms::STANDING_SEGMENTS,
            aggregates: Aggregates::default(),
        }
    }

    /// The first `members` terminals have takt.
    pub fn with_members(mut self, members: usize) -> Self {
        for (at, terminal) in self.terminals.iter_mut().enumerate() {
            terminal.is_member = at < members;
        }
        self
    }

    /// The first `terminals` have takt, and bound what they receive.
    pub fn with_bounds(mut self, terminals: usize) -> Self {
        self = self.with_members(terminals);
        for terminal in &mut self.terminals {
            terminal.bounds_downloads = terminal.is_member;
        }
        self
    }

    /// Every flow has this congestion control.
    pub fn with_control(mut self, control: Control) -> Self {
        for flow in self
            .terminals
            .iter_mut()
            .flat_map(|terminal| &mut terminal.flows)
        {
            flow.control = control;
        }
        self
    }

    /// Every flow goes this way.
    pub fn with_direction(mut self, direction: Direction) -> Self {
        for flow in self
            .terminals
            .iter_mut()
            .flat_map(|terminal| &mut terminal.flows)
        {
            flow.direction = direction;
        }
        self
    }
}
