//! The state of the managed links.

mod background;
mod buffer;
mod departures;
mod flows;
mod framing;
mod gap;
mod heard;
mod radio;
mod receive;

pub use framing::FramingStatus;

use std::{collections::BTreeMap, rc::Rc};

use serde::Serialize;
use takt_algo::sys::{
    TAKT_PER_FLOW_CLOCKS, TAKT_PER_FLOW_QUEUE, TAKT_READS_ACKS, TAKT_WEIGHT_UNIT_BPS,
    takt_class_params, takt_class_stats, takt_entity, takt_plan,
};

use takt_planner::backend::Unkept;
use takt_policy::Backend;

use crate::{
    error::Error,
    link::{
        buffer::Buffers,
        conflict::{ConflictStatus, Conflicts},
        counted::Counted,
        egress::Writer,
        line::{self, LineStatus},
        managed::Managed,
        opaque::opaque_above,
        program::Program,
        record::Record,
        returned::{self, GONE, refused_kind},
        stations::is_stations,
        without_ip::is_without_ip,
    },
    os::{
        clock,
        netlink::{Device, Port},
    },
    part::{Host, Query},
};

pub use background::BackgroundStatus;
pub use buffer::DeviceBuffer;
pub use departures::DepartureStatus;
pub use flows::{FlowStatus, FlowTotals};
pub use gap::GapStatus;
pub use heard::{Datagrams, Heard};
pub use radio::RadioStatus;
pub use receive::{ReceiveStatus, Received};

/// A device that takt manages.
#[derive(Debug, Serialize)]
pub struct LinkStatus {
    /// Its name now; of one that is gone, the name it had when the policy was applied.
    pub device: String,
    /// As the policy names it; `None` if takt's record of it is lost.
    pub named: Option<String>,
    /// What carries out the policy.
    pub backend: Backend,
    /// What the policy asks for and the backend does not keep.
    pub unkept: Vec<Unkept>,
    /// Whether the device carries takt now.
    pub attached: bool,
    /// Whether it sends at all; `None` if it is gone.
    pub device_state: Option<DeviceState>,
    /// Whether its packets are not IP (CAN and others): none can be classified, and CoDel is off.
    pub without_ip: bool,
    /// Devices above it, such as MACsec's, whose packets are classified by what is outside.
    pub opaque: Vec<String>,
    /// What is wrong, if anything is, and what to do about it.
    pub problem: Option<String>,
    /// Another program's change to the device; `None`: it carries takt, or is gone.
    pub conflict: Option<ConflictStatus>,
    /// Counts the policies applied to this link.
    pub generation: u64,
    /// The file's name; `None` if takt's record of it is lost.
    pub policy: Option<String>,
    /// Whether it has no rate, and its device decides what it takes; the rates are the most that there is
    /// then.
    pub by_device: bool,
    /// Of the wire, by the policy; of a line that changes, the base.
    pub rate_bps: u64,
    /// Of the wire now; another one only of a line that changes.
    pub rate_now_bps: u64,
    /// Of a line that changes: its bounds, and why it has that rate.
    pub line: Option<LineStatus>,
    /// What the wire carries of a frame.
    #[serde(flatten)]
    pub framing: FramingStatus,
    /// The most frames of a packet that the device takes now; `None`: it is gone.
    pub segment_frames: Option<u32>,
    /// How much lateness a byte clock may make up for.
    pub lag_max_ns: u64,
    /// What paces now: `timer`, `gap`, `timer+gap`, `timer (gap feeder behind)` or
    /// `timer (processor behind)`.
    pub pacing: &'static str,
    /// Only of a link whose policy says `pacing = "gap"` or `"timer+gap"`.
    pub gap: Option<GapStatus>,
    /// Only of a link with a class in the background.
    pub background: Option<BackgroundStatus>,
    /// Queued now, in all classes.
    pub queued_packets: u32,
    /// What keeps the device from holding more than a frame; only of a link with a class in the
    /// background.
    pub device_buffer: Option<DeviceBuffer>,
    /// Where incoming packets in the background wait; `None` if they do not.
    pub receive: Option<ReceiveStatus>,
    /// In the order of their names.
    pub tenants: Vec<TenantStatus>,
    /// Likewise.
    pub classes: Vec<ClassStatus>,
    /// Of all classes with `per_flow`, and of stations, which have entries in the same table.
    pub flow_totals: FlowTotals,
    /// Packets with departure times of their own.
    pub departures: DepartureStatus,
    /// For how long acknowledgements are not thinned yet, since rates fall as stations contend; 0:
    /// they are. `None`: the link does not thin.
    pub thinning_paused_ms: Option<u64>,
    /// Only of a link that tells stations apart.
    pub radio: Option<RadioStatus>,
    /// All flows, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<FlowStatus>>,
}

/// Whether a device sends. If not, the kernel drops packets before they reach takt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceState {
    /// It does.
    Ready,
    /// The device is down.
    Down,
    /// It has no carrier: its cable is not plugged in, or it has joined no network.
    NoCarrier,
}

impl DeviceState {
    pub(crate) fn from_device(device: &Device) -> Self {
        match (device.up, device.carrier) {
            (true, true) => Self::Ready,
            (true, false) => Self::NoCarrier,
            (false, _) => Self::Down,
        }
    }
}

/// The rates and the share of a class or a tenant.
#[derive(Debug, Serialize)]
pub struct Share {
    /// Guaranteed; 0 if nothing is.
    pub rate_bps: u64,
    /// The least of its own ceiling, its tenant's and the link's rate.
    pub ceil_bps: u64,
    /// Its share of spare capacity, by the policy.
    pub weight: f64,
    /// 0 if there is none.
    pub floor_bps: u64,
    /// 0 goes first, 7 is background.
    pub priority: u32,
}

/// A tenant and what its classes sent since takt was attached.
#[derive(Debug, Serialize)]
pub struct TenantStatus {
    /// Its rates and share of the link.
    pub name: String,
    /// What it may take of the link.
    #[serde(flatten)]
    pub share: Share,
    /// By all of its classes.
    pub sent_packets: u64,
    /// Their bytes on the wire.
    pub sent_bytes: u64,
}

/// A class and its counters since takt was attached. At any time
/// `enqueued = sent + flushed + queued`, and what was offered is
/// `enqueued + dropped`.
#[derive(Debug, Serialize)]
pub struct ClassStatus {
    /// The policy's name for it.
    pub name: String,
    /// Its tenant; `None`: the link.
    pub tenant: Option<String>,
    /// Its rates and share of its tenant, or of the link.
    #[serde(flatten)]
    pub share: Share,
    /// Share and queue limit are those of each flow then; queued packets and the counters are
    /// all flows' together.
    pub per_flow: bool,
    /// Flows with clocks of their own now.
    pub flows: u32,
    /// The queue limit, beyond which packets are dropped.
    pub queue_limit_packets: u16,
    /// How its queues are kept short; `None`: they grow to their limit.
    pub aqm: Option<AqmStatus>,
    /// Queued now.
    pub queued_packets: u32,
    /// Their bytes on the wire.
    pub queued_bytes: u64,
    /// A class that stays keeps its counters when the policy changes.
    #[serde(flatten)]
    pub counters: Counters,
    /// Incoming packets, if the policy delays them: counted apart.
    pub receive: Option<Received>,
}

/// Active queue management of a class.
#[derive(Debug, Serialize)]
pub struct AqmStatus {
    /// Whether its flows take turns, each with a queue of its own.
    pub flow_queues: bool,
    /// The delay that a queue may have for longer than an interval.
    pub target_ns: u32,
    /// An acceptable round trip.
    pub interval_ns: u32,
}

impl AqmStatus {
    fn from_params(params: &takt_class_params) -> Option<Self> {
        (params.target_ns != 0).then(|| Self {
            flow_queues: u32::from(params.per_flow) == TAKT_PER_FLOW_QUEUE,
            target_ns: params.target_ns,
            interval_ns: params.interval_ns,
        })
    }
}

/// Counters of packets. Bytes are the wire's, with the overhead of every frame.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Counters {
    /// Accepted packets, whether they waited or not.
    pub enqueued_packets: u64,
    /// Their bytes.
    pub enqueued_bytes: u64,
    /// Given to the device.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets dropped: the class's queue or the link's store was full, or it was a standing
    /// queue's.
    pub dropped_packets: u64,
    /// Their bytes.
    pub dropped_bytes: u64,
    /// Those of them that were dropped because their queue stood (CoDel). They had been accepted,
    /// and no longer count as such.
    pub aqm_dropped_packets: u64,
    /// Their bytes.
    pub aqm_dropped_bytes: u64,
    /// Sent, and a later packet of the same flow was marked for them (ECN).
    pub aqm_marked_packets: u64,
    /// Pure acknowledgements of TCP that a newer one of their flow replaced in the queue (see
    /// `access_point` of the policy). They had been accepted, and no longer count as such.
    pub thinned_packets: u64,
    /// Their bytes.
    pub thinned_bytes: u64,
    /// Discarded because the device went down.
    pub flushed_packets: u64,
    /// Their bytes.
    pub flushed_bytes: u64,
    /// The largest delay of a frame after its due time.
    pub late_max_ns: u64,
    /// Packets of several frames, each paced as a whole.
    pub gso_packets: u64,
    /// Those of them that were longer than the bursts of link and class allow.
    pub long_packets: u64,
}

impl Counters {
    pub(crate) fn add(&mut self, other: &Self) {
        self.enqueued_packets += other.enqueued_packets;
        self.enqueued_bytes += other.enqueued_bytes;
        self.sent_packets += other.sent_packets;
        self.sent_bytes += other.sent_bytes;
        self.dropped_packets += other.dropped_packets;
        self.dropped_bytes += other.dropped_bytes;
        self.aqm_dropped_packets += other.aqm_dropped_packets;
        self.aqm_dropped_bytes += other.aqm_dropped_bytes;
        self.aqm_marked_packets += other.aqm_marked_packets;
        self.thinned_packets += other.thinned_packets;
        self.thinned_bytes += other.thinned_bytes;
        self.flushed_packets += other.flushed_packets;
        self.flushed_bytes += other.flushed_bytes;
        self.late_max_ns = self.late_max_ns.max(other.late_max_ns);
        self.gso_packets += other.gso_packets;
        self.long_packets += other.long_packets;
    }
}

impl From<&takt_class_stats> for Counters {
    fn from(stats: &takt_class_stats) -> Self {
        Self {
            enqueued_packets: stats.enqueued_packets
                - stats.managed_packets
                - stats.thinned_packets,
            enqueued_bytes: stats.enqueued_bytes - stats.managed_bytes - stats.thinned_bytes,
            sent_packets: stats.sent_packets,
            sent_bytes: stats.sent_bytes,
            dropped_packets: stats.dropped_packets + stats.managed_packets,
            dropped_bytes: stats.dropped_bytes + stats.managed_bytes,
            aqm_dropped_packets: stats.managed_packets,
            aqm_dropped_bytes: stats.managed_bytes,
            aqm_marked_packets: stats.marked_packets,
            thinned_packets: stats.thinned_packets,
            thinned_bytes: stats.thinned_bytes,
            flushed_packets: stats.flushed_packets,
            flushed_bytes: stats.flushed_bytes,
            late_max_ns: stats.late_max_ns,
            gso_packets: stats.gso_packets,
            long_packets: stats.long_packets,
        }
    }
}

/// The links of this network namespace.
pub(super) fn of_links(host: &mut Host, query: Query) -> Result<Vec<LinkStatus>, Error> {
    let Some(program) = Program::open()? else {
        return Ok(Vec::new());
    };
    let view = View {
        program: &program,
        buffers: Buffers::open(&mut host.netlink)?,
        ports: host.ports()?,
        helper_running: query.helper_running,
        conflicts: Conflicts::read(host.netns_cookie)?,
    };
    let managed = Managed::list(&program, host.netns_cookie, &view.ports)?;
    Ok(managed
        .iter()
        .map(|managed| link_status(managed, &view, query.with_flows))
        .collect())
}

/// What is needed to read links.
struct View<'a> {
    program: &'a Program,
    buffers: Buffers,
    ports: Rc<[Port]>,
    helper_running: bool,
    conflicts: Conflicts,
}

fn link_status(managed: &Managed, view: &View, with_flows: bool) -> LinkStatus {
    let (program, ports) = (view.program, &view.ports);
    let counted = &managed.memory.counted();
    let received = managed.receive.as_ref().map(|side| side.memory.counted());
    let port = managed.port(ports);
    let devices = ports.iter().map(|port| &port.device);
    let conflict = port.and_then(|port| conflict(managed, port, &view.conflicts));
    let gap = gap::status(managed, view.helper_running);
    let (rate_now_bps, line) = line::status(&managed.memory, managed.plan.link.rate_bps);
    let receive = receive::status(managed, received.as_ref(), ports, view.helper_running);
    LinkStatus {
        device: port.map_or_else(|| managed.name(), |port| port.device.name.clone()),
        named: managed.record.as_ref().map(|record| record.device.clone()),
        backend: Backend::Takt,
        unkept: Vec::new(),
        attached: port.is_some_and(|port| port.carries(managed.index)),
        device_state: port.map(|port| DeviceState::from_device(&port.device)),
        without_ip: port.is_some_and(|port| is_without_ip(&port.device)),
        opaque: port.map_or_else(Vec::new, |port| opaque_above(port.device.index, devices)),
        problem: problem(managed, port, conflict.as_ref(), ports)
            .or_else(|| gap::problem(gap.as_ref()))
            .or_else(|| background::problem(managed, view.helper_running))
            .or_else(|| receive::problem(receive.as_ref()))
            .or_else(|| radio::problem(managed, counted)),
        conflict,
        generation: managed.plan.generation,
        policy: managed
            .record
            .as_ref()
            .map(|record| record.source.name.clone()),
        by_device: managed.plan.by_device != 0,
        rate_bps: managed.plan.link.rate_bps,
        rate_now_bps,
        line,
        framing: managed.plan.framing.into(),
        segment_frames: port.map(|port| port.device.gso_max_segs),
        lag_max_ns: managed.plan.link.lag_max_ns,
        pacing: gap::pacing(gap.as_ref(), managed),
        gap,
        background: background::status(&managed.plan, counted, view.helper_running),
        queued_packets: counted.queued_packets,
        device_buffer: buffer::status(managed, &view.buffers),
        receive,
        tenants: managed
            .record
            .as_ref()
            .map(|record| tenants(managed, counted, record))
            .unwrap_or_default(),
        classes: managed
            .record
            .as_ref()
            .map(|record| classes(managed, counted, received.as_ref(), program, record))
            .unwrap_or_default(),
        flow_totals: flows::totals(counted),
        departures: departures::status(counted),
        thinning_paused_ms: thinning_paused_ms(managed, counted),
        radio: radio::status(managed, counted),
        flows: managed
            .record
            .as_ref()
            .filter(|_| with_flows)
            .map(|record| flows::list(counted, program, record)),
    }
}

fn thinning_paused_ms(managed: &Managed, counted: &Counted) -> Option<u64> {
    let paused_ns = counted
        .thinning_paused_until_ns
        .saturating_sub(clock::monotonic_ns());
    let thins = managed.plan.reads & TAKT_READS_ACKS != 0;
    thins.then_some(paused_ns / 1_000_000)
}

fn conflict(managed: &Managed, port: &Port, known: &Conflicts) -> Option<ConflictStatus> {
    let carries = port.carries(managed.index);
    (!carries).then(|| ConflictStatus::new(known, port.device.index, port.describe_root()))
}

fn problem(
    managed: &Managed,
    port: Option<&Port>,
    conflict: Option<&ConflictStatus>,
    ports: &[Port],
) -> Option<String> {
    if let (Some(conflict), Some(port)) = (conflict, port) {
        return Some(conflict.problem(port));
    }
    match port {
        None => {
            let record = managed.record.as_ref();
            Some(record.map_or(GONE.to_owned(), |record| {
                let refusal =
                    |device: &Device| refused_kind(&record.device, &record.source, device);
                returned::problem(&record.device, ports, refusal)
            }))
        }
        Some(_) => match (managed.lacks, &managed.record) {
            (Some(writer), _) => Some(format!(
                "packets {}: another program removed takt's from the device's egress; \
                 `takt apply` attaches it again",
                match writer {
                    Writer::Mark => "are not marked",
                    Writer::Dscp => "keep their DSCP",
                }
            )),
            (None, None) => Some(
                "takt's record of it is lost, names with it; `takt apply` makes a new one"
                    .to_owned(),
            ),
            (None, Some(_)) => None,
        },
    }
}

fn tenants(managed: &Managed, counted: &Counted, record: &Record) -> Vec<TenantStatus> {
    record
        .ids
        .tenants()
        .map(|(name, id)| {
            let stats = &counted.entities[id as usize].stats;
            TenantStatus {
                name: name.to_owned(),
                share: Share::new(id, &managed.plan),
                sent_packets: stats.sent_packets,
                sent_bytes: stats.sent_bytes,
            }
        })
        .collect()
}

fn classes(
    managed: &Managed,
    counted: &Counted,
    received: Option<&Counted>,
    program: &Program,
    record: &Record,
) -> Vec<ClassStatus> {
    let plan = &managed.plan;
    let mut by_class = sums(counted, program, record);
    let tenants: BTreeMap<u32, &str> = record.ids.tenants().map(|(name, id)| (id, name)).collect();
    record
        .ids
        .classes()
        .map(|(name, id)| {
            let params = &plan.class_params[id as usize];
            let class = by_class.entry(id).or_default();
            let tenant = tenants.get(&tenant_of(params, plan));
            ClassStatus {
                name: name.to_owned(),
                tenant: tenant.map(|name| (*name).to_owned()),
                share: Share::new(id, plan),
                per_flow: u32::from(params.per_flow) == TAKT_PER_FLOW_CLOCKS,
                aqm: AqmStatus::from_params(params),
                flows: class.flows,
                queue_limit_packets: params.queue_packets,
                queued_packets: class.queued_packets,
                queued_bytes: class.queued_bytes,
                counters: std::mem::take(&mut class.counters),
                receive: receive::of_class(managed, received, id),
            }
        })
        .collect()
}

/// A class's own queue and its flows', together.
#[derive(Default)]
struct Sum {
    flows: u32,
    queued_packets: u32,
    queued_bytes: u64,
    counters: Counters,
}

impl Sum {
    fn add(&mut self, entity: &takt_entity) {
        self.queued_packets += entity.queue.packets;
        self.queued_bytes += entity.queue.bytes;
        self.counters.add(&Counters::from(&entity.stats));
    }
}

fn sums(counted: &Counted, program: &Program, record: &Record) -> BTreeMap<u32, Sum> {
    let mut sums: BTreeMap<u32, Sum> = BTreeMap::new();
    for (_, id) in record.ids.classes() {
        let own = &counted.entities[id as usize];
        sums.entry(id).or_default().add(own);
    }
    for live in flows::live(counted, program) {
        let sum = sums.entry(live.entity.class_id.into()).or_default();
        sum.add(live.entity);
        sum.flows += u32::from(live.open && !is_stations(live.flow));
    }
    sums
}

impl Share {
    fn new(id: u32, plan: &takt_plan) -> Self {
        let params = &plan.class_params[id as usize];
        let tenant = &plan.class_params[tenant_of(params, plan) as usize];
        let ceilings = [params.ceil_bps, tenant.ceil_bps, line_most_bps(plan)];
        Self {
            rate_bps: params.rate_bps,
            ceil_bps: ceilings
                .into_iter()
                .filter(|ceil_bps| *ceil_bps != 0)
                .min()
                .unwrap_or_default(),
            weight: params.weight_bps as f64 / f64::from(TAKT_WEIGHT_UNIT_BPS),
            floor_bps: params.floor_bps,
            priority: params.priority.into(),
        }
    }
}

/// The most that the link may have; 0 if only its device limits it.
fn line_most_bps(plan: &takt_plan) -> u64 {
    if plan.by_device != 0 {
        return 0;
    }
    plan.link.rate_bps.max(plan.line_max_bps)
}

/// The id of the tenant that a class belongs to; 0, which has no limits, if there is none.
fn tenant_of(params: &takt_class_params, plan: &takt_plan) -> u32 {
    plan.tenant[params.node as usize % plan.tenant.len()].into()
}
