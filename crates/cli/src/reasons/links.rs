//! Why a packet waits or is lost, by the counters of `takt status`.

super::reasons! {
DROPPED = "takt::status::dropped" ["dropped", "dropped_packets", "dropped_packets_ps", "dropped_bytes"]: "
Packets that found the queue of their class, flow or station full (queue_packets), or the link's
store of 65,534. A sender without congestion control, such as UDP, fills any queue; a longer one
only adds delay. Of datagrams to taktd: the kernel dropped them, because more arrived than taktd
reads.
";
AQM_DROPPED = "takt::status::aqm_dropped" ["aqm_dropped_packets", "aqm_dropped_bytes", "aqm"]: "
Packets that CoDel dropped because of a standing queue: its delay was at or above `target` for an
`interval`. They count as dropped, too, and no longer as enqueued. TCP takes the loss as a sign to
send less, which keeps the queue short; a few in a thousand are usual. aqm = \"off\" in the class
turns it off, and the queue grows to queue_packets.
";
AQM_MARKED = "takt::status::aqm_marked" ["aqm_marked_packets", "marked_packets_ps", "ecn"]: "
Packets that CoDel would have dropped, or that an L4S sender's queue delayed for more than a
millisecond. They were sent, and for each a later packet of the same flow carries the mark \"congestion
experienced\" (ECN), which its sender takes as it takes a loss. The link has ecn = true.
";
THINNED = "takt::status::thinned" ["thinned_packets", "thinning_paused_ms", "thinned_bytes", "access_point"]: "
Pure acknowledgements of TCP that were queued when a newer one of their flow arrived, which says all
that they said: it took their place. The qdisc counts them as dropped; they are no loss. The link is on the
device of a [crowd] with access_point = true.
";
LINE = "takt::status::line" ["rate_min_bps", "rate_max_bps", "reason", "added_delay_ns", "its queue adds"]: "
The rate that a line that changes has now (rate = { min, base, max }), why, and the delay that its
queue adds, as reflectors tell. `base`: taktd is not running, or has just started. `held`: nothing
calls for a change. `raised`: it is used up, and delay does not grow. `lowered`: delay has grown.
`draining`: it is below what the line carries until its queue is empty. `idle`, `unheard`: it is on
its way to the base, as little is sent, or as no reflector answers.
";
FLUSHED = "takt::status::flushed" ["flushed", "flushed_packets", "flushed_bytes"]: "
Packets that were discarded because the device went down or was removed. The kernel empties every
queueing discipline then.
";
HELD = "takt::status::held" ["held", "throttled", "held_packets", "holds", "held_by_tasks_ns", "held_by_link_ns", "waits_for"]: "
Held is not dropped. Packets of a class in the background wait for one of two things: `task more
important`, the processor runs a task with a better priority than the one that sent them; `link
busy`, others have packets for the link. They leave within a millisecond after the task has stopped.
Packets for a station with weight 0 are throttled until its weight rises. Either way the queue grows
up to queue_packets, and later packets are dropped.
";
MORE_IMPORTANT = "takt::status::more_important" ["task more important"]: "
Background packets wait because a task with a better priority runs on the processor. See `takt
explain held`; with gate = \"open\" the class waits only for the link.
";
LINK_BUSY = "takt::status::link_busy" ["link busy"]: "
Background packets wait because other classes have packets for the link, and background goes last.
`floor` guarantees the class a minimum.
";
LATE = "takt::status::late" ["late", "worst late", "late_max_ns"]: "
The longest time between a frame's due time and its departure. A frame waits for the previous one,
for better priorities, and for a timer. The average rate is kept: the class catches up, up to
lag_max.
";
SEGMENTS = "takt::status::segments" ["segments", "segment_frames"]: "
How many frames a packet of the device may have (`gso_max_segs`), by the link's `packets` and `burst`,
or lower if it was lower before takt. Each packet is paced as a whole and leaves at once.
";
GSO = "takt::status::gso" ["gso_packets"]: "
Packets of several frames, which the stack made as one to save work (TSO, GSO, GRO, UDP_SEGMENT). Each
is paced as a whole, by what all of its frames take on the wire, and leaves at once. `packets` and
`burst` of the link say how long they may be.
";
LONG = "takt::status::long" ["longer than burst allows", "long_packets"]: "
Packets of several frames that were longer than the bursts of link and class allow (with packets =
\"mtu\": all). Others wait that long. TCP of this host obeys the limits; UDP_SEGMENT and forwarded
traffic that was merged on arrival (GRO) do not, and connections over IPv6 from before `takt apply`
may not. To have no merged packets: `ethtool -K DEV gro off` on the device that they come from.
";
NO_ROOM = "takt::status::no_room" ["no_room_packets"]: "
Packets of flows that found none of the 12,288 slots of the link: they shared their class's own queue
and clock. Slots come free when flows end or rest.
";
BEYOND_HORIZON = "takt::status::beyond_horizon" ["beyond_horizon_packets"]: "
Packets whose departure time (SO_TXTIME, a tc program's tstamp) was further ahead than the link's
horizon. They were dropped, or with beyond_horizon = \"cap\" left at the horizon's end. Many of them
mean that the sender uses another clock: the qdisc uses CLOCK_MONOTONIC, and converts CLOCK_TAI if
the socket named it in SO_TXTIME.
";
UNDELAYED = "takt::status::undelayed" ["undelayed_packets"]: "
Packets with a departure time that left without regard to it, since the link held 16,383 others.
";
FORGOTTEN = "takt::status::forgotten" ["forgotten"]: "
Flows whose slot was given to others: their socket was closed, or they were idle for ten seconds and
another flow came. A forgotten flow gets a new slot with its next packet; none of its packets were
lost.
";
GAP_MISSED = "takt::status::gap_missed" ["gap_missed"]: "
Gaps that were filled with two gap frames because none of the exact length was available. Spacing is
still exact.
";
FALLBACKS = "takt::status::fallbacks" ["fallbacks", "timer (gap feeder behind)"]: "
Times that the link used the timer instead for a while: mostly because it ran out of gap frames, until
new ones were available. The helper did not get enough CPU time: give it more, or lower the rate. If
the processor could not fill the wire, processor_behind counts it as well.
";
PROCESSOR_BEHIND = "takt::status::processor_behind" ["processor_behind", "timer (processor behind)"]: "
Times that the processor could not fill the wire with gap frames in time, or the device took no frames
for longer than lag_max. The link then uses the timer for a second, so that no class loses rate. A gap
frame costs about as much as a packet. Write pacing = \"timer+gap\", which fills only the last
microseconds before a packet, or \"timer\".
";
REFUSED = "takt::status::refused" ["refused"]: "
Templates of gap frames that were offered by the helper and found the stock full. They cost nothing.
";
NOT_SENDING = "takt::status::not_sending" ["device_state", "has no carrier", "is down"]: "
The device is down (`ip link set DEVICE up`), has no carrier, or has joined no network. The kernel
drops packets before takt sees them, so takt's counters do not change. The policy stays, and is in
force again as soon as the device sends. A link with pacing = \"gap\" goes by the timer until its
stock of gap frames is full again.
";
DEVICE_GONE = "takt::status::device_gone" ["the device is gone"]: "
A device that carried a policy does not exist any more. Its counters are kept until `takt revert`, or
until `takt apply` of a policy without it.
";
NOT_SERVED = "takt::status::not_served" ["the device is back and not served"]: "
The device of a link is gone, and another one now has its name, on which takt cannot carry out the
policy: it is of a kind without Ethernet headers, or carries another program's qdisc. The message
says which. taktd manages it as soon as that has changed; `takt revert` forgets the link.
";
WITHOUT_IP = "takt::status::without_ip" ["without_ip"]: "
The device's packets are not IP: it is a CAN bus, an IEEE 802.15.4 radio or of a similar kind. Takt
reads none of their headers, so no match applies and all are in the default class, with its rate.
CoDel (aqm) is off there: it drops packets to slow senders down, and these do not react to loss.
";
OPAQUE = "takt::status::opaque" ["opaque"]: "
Devices above the link's that encapsulate what they send through it: MACsec encrypts, and tunnels
add outer headers. The link classifies by the outer headers; MACsec packets are all in the default
class. A link on the device above, such as macsec0 or gre1, reads the packets.
";
RECORD_LOST = "takt::status::record_lost" ["lost"]: "
Takt's record of this link or of the tasks is gone from /run/takt or from the kernel's maps. The
policy stays in force, but names and the previous state are lost. `takt apply` writes a new record.
";
HELPER_GONE = "takt::status::helper_gone" ["feeder_running", "opener_running"]: "
The helper process is not running. Links with pacing = \"gap\" pace by the timer, and packets that
the background's gate blocks wait for the processor that blocked them. `takt apply` starts it again.
";
RECEIVE_BROKEN = "takt::status::receive_broken" ["works"]: "
Incoming background traffic should go through an ifb that takt created. It is gone, down or changed,
or the program that redirects packets there was detached. Packets pass without scheduling. `takt
apply` restores it.
";
}
