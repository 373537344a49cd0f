//! A link's counters, which the kernel's qdiscs or its program keep, in the form of any link's.

use std::borrow::Cow;

use takt_algo::sys::{TAKT_SHARED_BITS, takt_edt_class};
use takt_planner::{
    departure::{ClassTerms, Departure},
    flow::SocketRates,
    tree::minor_of,
};
use takt_policy::{AqmKind, Class, DEFAULT_CLASS, Link, parse_in};

use super::{
    flow::Counts,
    program::Clocks,
    record::{Place, StockRecord},
    shape::{Shape, tree_class},
    standing::Standing,
};
use crate::{
    error::Error,
    link::{
        AqmStatus, ClassStatus, ConflictStatus, Conflicts, Counters as ClassCounters,
        DepartureStatus, DeviceState, FlowStatus, FlowTotals, LinkStatus, Share, TenantStatus,
        is_without_ip, on_device, opaque_above, returned,
    },
    os::{
        OsError, clock,
        netlink::{Port, TcCounters},
    },
    part::{Host, Query},
};

/// What was counted of a class or a tenant.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    sent_packets: u64,
    sent_bytes: u64,
    queued_packets: u32,
    queued_bytes: u64,
    dropped_packets: u64,
    /// Of these, those that queue management dropped.
    aqm_dropped_packets: u64,
    aqm_marked_packets: u64,
    /// Connections with rates of their own.
    flows: u32,
}

/// What was counted on a device.
enum Counters {
    Nothing,
    /// By the kernel, in HTB's classes and the queues below them, without this overhead.
    Tree {
        overhead_bytes: u64,
        classes: Vec<TcCounters>,
        queues: Vec<TcCounters>,
    },
    /// By the program, when packets arrived.
    Departure {
        now: u64,
        terms: Departure,
        clocks: Clocks,
    },
    /// By TCP, of its connections; all packets together by the qdisc.
    Flow {
        terms: SocketRates,
        counts: Counts,
        /// The class of all that is no connection.
        default_id: u32,
        all: Counted,
    },
}

impl Counters {
    fn read(host: &mut Host, standing: &Standing) -> Result<Self, Error> {
        let record = &standing.record;
        let device = record.ifindex;
        match &record.shape {
            Shape::Tree(tree) => {
                let failed = || OsError::netlink("reading the counters of classes");
                let netlink = &mut host.netlink;
                Ok(Self::Tree {
                    overhead_bytes: tree.overhead_bytes.into(),
                    classes: TcCounters::of_classes(netlink, device).map_err(failed())?,
                    queues: TcCounters::of_qdiscs(netlink, device).map_err(failed())?,
                })
            }
            Shape::Departure(terms) => Ok(Self::Departure {
                terms: terms.clone(),
                clocks: Clocks::read(standing.program, &terms.classes)?,
                now: clock::monotonic_ns() << TAKT_SHARED_BITS,
            }),
            Shape::Flow(terms) => {
                let place = Place::new(record.netns.cookie, device);
                let counts = Counts::read(&place, standing.program, terms)?;
                let qdiscs = TcCounters::of_qdiscs(&mut host.netlink, device)
                    .map_err(OsError::netlink("reading the counters of qdiscs"))?;
                let root = record.shape.handle().0;
                let root = qdiscs.into_iter().find(|qdisc| qdisc.handle == root);
                let overhead = u64::try_from(record.framing.overhead_bytes).unwrap_or_default();
                let queue = TcCounters::default();
                Ok(Self::Flow {
                    terms: terms.clone(),
                    counts,
                    default_id: record.ids.id(DEFAULT_CLASS).unwrap_or_default(),
                    all: of_tree(overhead, root.unwrap_or_default(), queue),
                })
            }
        }
    }

    fn of(&self, id: u32) -> Counted {
        match self {
            Self::Nothing => Counted::default(),
            Self::Tree {
                overhead_bytes,
                classes,
                queues,
            } => {
                let handle = tree_class(minor_of(id)).0;
                let class = classes.iter().find(|class| class.handle == handle);
                let queue = queues.iter().find(|queue| queue.parent == handle);
                of_tree(
                    *overhead_bytes,
                    class.copied().unwrap_or_default(),
                    queue.copied().unwrap_or_default(),
                )
            }
            Self::Departure { terms, clocks, now } => {
                let mut classes = terms.classes.iter().zip(&clocks.classes);
                let found = classes.find(|(terms, _)| terms.id == id);
                found.map_or_else(Counted::default, |(terms, class)| {
                    of_departures(terms, class, clocks.scale, *now)
                })
            }
            Self::Flow {
                terms,
                counts,
                default_id,
                all,
            } => {
                let own = counts.of(id);
                let mut classes = terms.classes.iter();
                let is_paced = classes.any(|class| class.id == id && class.bytes_per_s != 0);
                let counted = Counted {
                    sent_packets: own.packets,
                    sent_bytes: own.bytes,
                    flows: if is_paced { own.live } else { 0 },
                    ..Counted::default()
                };
                if id == *default_id {
                    counted.and_the_rest(*all, counts)
                } else {
                    counted
                }
            }
        }
    }

    fn flow_totals(&self) -> FlowTotals {
        let Self::Flow { terms, counts, .. } = self else {
            return FlowTotals::default();
        };
        let paced = terms.classes.iter().filter(|class| class.bytes_per_s != 0);
        let counts = paced.map(|class| counts.of(class.id));
        counts.fold(FlowTotals::default(), |totals, class| FlowTotals {
            live: totals.live + class.live,
            created: totals.created + class.created,
            forgotten: totals.forgotten + class.created.saturating_sub(class.live.into()),
            ..totals
        })
    }

    /// Connections that have rates, by class.
    fn flows(&self, record: &StockRecord) -> Option<Vec<FlowStatus>> {
        let Self::Flow { terms, counts, .. } = self else {
            return None;
        };
        let mut flows = Vec::new();
        for (class, id) in record.ids.classes() {
            let mut classes = terms.classes.iter();
            if classes.any(|class| class.id == id && class.bytes_per_s != 0) {
                let of_class = counts.flows.iter().filter(|flow| flow.class_id == id);
                flows.extend(
                    of_class.map(|flow| {
                        FlowStatus::of_socket(class, &flow.key, flow.packets, flow.bytes)
                    }),
                );
            }
        }
        Some(flows)
    }
}

impl Counted {
    /// With what the qdisc has had and no connection has sent: TCP counts its packets when it gives
    /// them to the qdisc.
    fn and_the_rest(self, all: Self, counts: &Counts) -> Self {
        let connections = counts.all();
        let packets = all.sent_packets + u64::from(all.queued_packets);
        let bytes = all.sent_bytes + all.queued_bytes;
        Self {
            sent_packets: self.sent_packets + packets.saturating_sub(connections.packets),
            sent_bytes: self.sent_bytes + bytes.saturating_sub(connections.bytes),
            dropped_packets: all.dropped_packets,
            ..self
        }
    }
}

fn of_tree(overhead_bytes: u64, class: TcCounters, queue: TcCounters) -> Counted {
    Counted {
        sent_packets: class.sent_packets,
        sent_bytes: class.sent_bytes + class.sent_packets * overhead_bytes,
        queued_packets: class.queued_packets,
        queued_bytes: class.queued_bytes + u64::from(class.queued_packets) * overhead_bytes,
        dropped_packets: queue.dropped_packets,
        aqm_dropped_packets: queue.dropped_packets.saturating_sub(queue.dropped_for_room),
        aqm_marked_packets: queue.marked_packets,
        flows: 0,
    }
}

/// Packets that were let through and have not departed yet: by the class's clock, and the mean
/// length of its packets.
fn of_departures(terms: &ClassTerms, class: &takt_edt_class, scale: f64, now: u64) -> Counted {
    let ahead_ns = class.clock.due.wrapping_sub(now) >> TAKT_SHARED_BITS;
    let queued_bytes = if ahead_ns <= 2 * terms.backlog_ns {
        (ahead_ns as f64 * f64::from(terms.rate_kbps) / 8e6 / scale) as u64
    } else {
        0
    };
    let queued_bytes = queued_bytes.min(class.bytes);
    let queued_packets = match class.bytes {
        0 => 0,
        bytes => u128::from(queued_bytes) * u128::from(class.packets) / u128::from(bytes),
    };
    Counted {
        sent_packets: class.packets.saturating_sub(queued_packets as u64),
        sent_bytes: class.bytes - queued_bytes,
        queued_packets: queued_packets as u32,
        queued_bytes,
        dropped_packets: class.dropped,
        ..Counted::default()
    }
}

/// The link of this record; `standing`: itself, if it is in force.
pub(super) fn of_link(
    host: &mut Host,
    record: &StockRecord,
    port: Option<&Port>,
    standing: Option<&Standing>,
    query: Query,
) -> Result<LinkStatus, Error> {
    let stands = standing.is_some();
    let counted = match standing {
        Some(standing) => Counters::read(host, standing)?,
        None => Counters::Nothing,
    };
    // The same program read it when it was applied.
    let source = &record.source;
    let policy = parse_in(&source.folder, &source.name, &source.text).ok();
    let link = policy.as_ref().and_then(|policy| {
        let mut links = policy.links.iter();
        links.find(|link| link.device == record.device)
    });
    let on_device = link.map(|link| match port {
        Some(port) => on_device(link, &port.device, port.device.hardware),
        None => Cow::Borrowed(link),
    });
    let link = on_device.as_deref();
    let conflict = match port {
        Some(port) if !stands => {
            let known = Conflicts::read(host.netns_cookie)?;
            Some(ConflictStatus::new(
                &known,
                record.ifindex,
                port.describe_root(),
            ))
        }
        _ => None,
    };
    let problem = match (&conflict, port) {
        (Some(conflict), Some(port)) => Some(conflict.problem(port)),
        // Whatever it is now, these backends can serve it.
        (_, None) => Some(returned::problem(&record.device, &host.ports()?, |_| None)),
        (None, Some(_)) => standing.filter(|standing| standing.is_unfinished).map(|_| {
            "takt was killed while it changed the link; `takt apply` completes the change"
                .to_owned()
        }),
    };
    let classes: Vec<ClassStatus> = link
        .into_iter()
        .flat_map(|link| by_name(&link.classes).map(move |class| (link, class)))
        .map(|(link, class)| class_status(link, class, record, &counted))
        .collect();
    let opaque = match port {
        Some(port) => {
            let ports = host.ports()?;
            opaque_above(port.device.index, ports.iter().map(|port| &port.device))
        }
        None => Vec::new(),
    };
    Ok(LinkStatus {
        device: port.map_or_else(|| record.device.clone(), |port| port.device.name.clone()),
        named: Some(record.device.clone()),
        backend: record.shape.backend(),
        unkept: record.unkept.clone(),
        attached: stands,
        device_state: port.map(|port| DeviceState::from_device(&port.device)),
        without_ip: port.is_some_and(|port| is_without_ip(&port.device)),
        opaque,
        problem,
        conflict,
        generation: record.generation,
        policy: Some(source.name.clone()),
        by_device: false,
        rate_bps: record.rate_bps,
        rate_now_bps: record.rate_bps,
        line: None,
        framing: record.framing.into(),
        segment_frames: port.map(|port| port.device.gso_max_segs),
        lag_max_ns: link.map_or(0, |link| link.lag_max_ns),
        pacing: "timer",
        gap: None,
        background: None,
        queued_packets: classes.iter().map(|class| class.queued_packets).sum(),
        device_buffer: None,
        receive: None,
        tenants: link
            .map(|link| tenants(link, record, &counted))
            .unwrap_or_default(),
        classes,
        flow_totals: counted.flow_totals(),
        departures: DepartureStatus::default(),
        thinning_paused_ms: None,
        radio: None,
        flows: query.with_flows.then(|| counted.flows(record)).flatten(),
    })
}

fn by_name(classes: &[Class]) -> impl Iterator<Item = &Class> {
    let mut classes: Vec<&Class> = classes.iter().collect();
    classes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    classes.into_iter()
}

fn class_status(
    link: &Link,
    class: &Class,
    record: &StockRecord,
    counted: &Counters,
) -> ClassStatus {
    let id = record.ids.id(&class.name).unwrap_or_default();
    let own = counted.of(id);
    let tenant = class.tenant.as_ref().and_then(|name| {
        let mut tenants = link.tenants.iter();
        tenants.find(|tenant| tenant.name == *name)
    });
    let ceilings = [class.ceil_bps, tenant.and_then(|tenant| tenant.ceil_bps)];
    let has_managed_queues = matches!(record.shape, Shape::Tree(_));
    let is_managed = has_managed_queues && class.aqm.kind != AqmKind::Off;
    ClassStatus {
        name: class.name.clone(),
        tenant: class.tenant.clone(),
        share: Share {
            rate_bps: class.rate_bps.unwrap_or(0),
            ceil_bps: ceilings.into_iter().flatten().fold(link.rate_bps, u64::min),
            weight: class.weight_milli as f64 / 1000.0,
            floor_bps: class.floor_bps.unwrap_or(0),
            priority: class.priority.into(),
        },
        per_flow: class.per_flow && matches!(record.shape, Shape::Flow(_)),
        flows: own.flows,
        queue_limit_packets: class.queue_packets,
        aqm: is_managed.then_some(AqmStatus {
            flow_queues: class.aqm.kind == AqmKind::FqCodel,
            target_ns: class.aqm.target_ns,
            interval_ns: class.aqm.interval_ns,
        }),
        queued_packets: own.queued_packets,
        queued_bytes: own.queued_bytes,
        counters: ClassCounters {
            enqueued_packets: own.sent_packets + u64::from(own.queued_packets),
            enqueued_bytes: own.sent_bytes + own.queued_bytes,
            sent_packets: own.sent_packets,
            sent_bytes: own.sent_bytes,
            dropped_packets: own.dropped_packets,
            aqm_dropped_packets: if is_managed {
                own.aqm_dropped_packets
            } else {
                0
            },
            aqm_marked_packets: own.aqm_marked_packets,
            ..ClassCounters::default()
        },
        receive: None,
    }
}

fn tenants(link: &Link, record: &StockRecord, counted: &Counters) -> Vec<TenantStatus> {
    let mut tenants: Vec<_> = link.tenants.iter().collect();
    tenants.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    tenants
        .into_iter()
        .map(|tenant| {
            let id = record.ids.tenant_id(&tenant.name).unwrap_or_default();
            let own = counted.of(id);
            TenantStatus {
                name: tenant.name.clone(),
                share: Share {
                    rate_bps: tenant.rate_bps.unwrap_or(0),
                    ceil_bps: tenant.ceil_bps.unwrap_or(link.rate_bps).min(link.rate_bps),
                    weight: tenant.weight_milli as f64 / 1000.0,
                    floor_bps: tenant.floor_bps.unwrap_or(0),
                    priority: tenant.priority.into(),
                },
                sent_packets: own.sent_packets,
                sent_bytes: own.sent_bytes,
            }
        })
        .collect()
}
