// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The qdisc `takt`: algo/link.h between the kernel's enqueue and dequeue.
 *
 * Every device has its own state, plan and store, found by the qdisc's handle
 * (7a00: is the first link, 7a01: the second, …), so devices share nothing and
 * each is guarded by its own qdisc lock. A plan is replaced as a whole, in one
 * step, under running traffic; queues and clocks live in the state and stay.
 *
 * Non-goals: splitting GSO packets (a BPF qdisc cannot), being a child of
 * another qdisc (several locks would share one state).
 */
#include "kernel.h"
#include "arrival.h"
#include "handover.h"
#include "packet.h"
#include "ports_map.h"
#include "running.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Where packets are while they wait; the index is their place in takt_link. */
struct takt_store {
	struct sk_buff __kptr *skb;
};

/* Shape of the map that user space makes for each link, as port_map is. */
struct store_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_STORE_PLACES);
	__type(key, u32);
	__type(value, struct takt_store);
} store_shape SEC(".maps");

/* Tells user space which layout was loaded, and lends it these types' BTF. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} takt_abi SEC(".maps");

/* The express place of every link. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TAKT_LINKS);
	__type(key, u32);
	__type(value, struct takt_store);
} takt_express SEC(".maps");

PER_LINK(takt_stores, store_map);

/*
 * By way of a cast, as wherever a pointer is followed and only read: the verifier
 * searches all of the kernel's types by name before it lets a trusted one be.
 */
static __always_inline const struct net_device *device_of(const struct Qdisc *sch)
{
	return bpf_core_cast(sch, struct Qdisc)->dev_queue->dev;
}

static u32 link_index(const struct Qdisc *sch)
{
	return (sch->handle >> 16) - TAKT_HANDLE_MAJOR;
}

static __always_inline struct takt_store *find_store(u32 index, u32 place)
{
	void *inner;

	if (place == TAKT_EXPRESS)
		return bpf_map_lookup_elem(&takt_express, &index);
	inner = bpf_map_lookup_elem(&takt_stores, &index);
	return inner ? bpf_map_lookup_elem(inner, &place) : NULL;
}

static __always_inline u32 accounted_bytes(const struct sk_buff *skb)
{
	return ((const struct qdisc_skb_cb *)skb->cb)->pkt_len;
}

/*
 * How many frames this packet becomes on the wire. The kernel accounts more
 * than a packet's length exactly when it will be cut into several.
 */
static __always_inline u32 frames_of(const struct sk_buff *skb, u32 bytes)
{
	const struct skb_shared_info *shared;

	if (bytes == skb->len)
		return 1;
	shared = bpf_core_cast(skb->head + skb->end, struct skb_shared_info);
	return shared->gso_size && shared->gso_segs ? shared->gso_segs : 1;
}

/*
 * Nobody waits, but for those whom the gate or their station's weight holds, and
 * the express place is empty.
 */
static __always_inline u32 nobody_waits(const struct Qdisc *sch, const struct takt_port *port,
					const struct takt_plan *plan)
{
	/* A weight that has changed is looked at when the link is asked for a packet. */
	if (plan->stations && takt_stations_unsettled(&port->link.flows.stations))
		return 0;
	return !sch->q.qlen || (sch->q.qlen == port->link.queued_packets &&
				!port->link.order.group[0].waiting);
}

/* An element that joins those who wait already has its place. */
static __always_inline int wants_time(const struct takt_element *element)
{
	return !element->queue.packets || element->waits & TAKT_IN_GATE;
}

/* A frame that user space has sent for the link's stock of gap frames. */
static __always_inline u32 is_template(const struct sk_buff *skb, const struct takt_port *port)
{
	return skb->protocol == __builtin_bswap16(TAKT_GAP_ETHERTYPE) && port->gap.secret &&
	       skb->mark == port->gap.secret;
}

static __always_inline const struct takt_handover *handover_of(const struct sk_buff *skb)
{
	return (const void *)((const struct qdisc_skb_cb *)skb->cb)->data;
}

/*
 * The class that bpf/receive found for an incoming packet; 0 if the packet is
 * none. A class that takes nothing in has just left the plan.
 */
static __always_inline u32 handed_over(const struct sk_buff *skb, const struct takt_plan *plan)
{
	const struct takt_handover *handover = handover_of(skb);
	u32 id = handover->class_id & (TAKT_CLASSES - 1);

	if (handover->mark != TAKT_HANDOVER_MARK)
		return 0;
	return plan->class_params[id].queue_packets ? id : plan->rules.default_class;
}

/* How important the task is that sent the packet, or will receive it. */
static __always_inline u32 task_prio_of(const struct sk_buff *skb, struct takt_port *port,
					const struct takt_plan *plan, u32 id)
{
	if (!plan->receives)
		return note_tasks(skb, port, plan, id);
	note_running(port, plan);
	return handover_of(skb)->task_prio & 255;
}

SEC("struct_ops")
int BPF_PROG(takt_enqueue, struct sk_buff *skb, struct Qdisc *sch,
	     struct bpf_sk_buff_ptr *to_free)
{
	u32 index = link_index(sch), id = 0, connected, place;
	struct takt_port *port = find_port(index);
	const struct takt_socket *sender = NULL;
	struct takt_newcomer *newcomer;
	struct takt_arrival arrival;
	const struct takt_plan *plan;
	struct takt_store *store;
	struct sk_buff *old;
	u32 moved = 0, uid, by;

	if (!port)
		goto drop;
	plan = plan_of(port);
	if (is_template(skb, port)) {
		if (skb->len != TAKT_BELL_BYTES) {
			place = takt_gap_store(&port->gap, plan, skb->len);
		} else {
			place = runs_alone() ? TAKT_STORE_BELL - TAKT_PACKETS : 0;
			port->bell = place != 0;
			port->opener = bpf_get_current_task_btf()->pid;
		}
		store = place ? find_store(index, TAKT_PACKETS + place) : NULL;
		if (!store)
			goto refuse;
		/* It is no traffic: nobody waits for it. */
		old = bpf_kptr_xchg(&store->skb, skb);
		if (old)
			bpf_kfree_skb(old);
		return NET_XMIT_SUCCESS;
	}
	newcomer = &port->newcomer;
	arrival.before = 0;
	if (plan->receives) {
		id = handed_over(skb, plan);
		if (!id)
			goto drop;
		goto classified;
	}
	newcomer->identity = 0;
	newcomer->cookie = 0;
	takt_link_meet(&port->link, plan, 0);
	newcomer->era = port->link.era;
	newcomer->class_id = 0;
	connection_of(skb, port, newcomer);
	connected = newcomer->identity && plan->sticky;
	if (connected) {
		id = takt_connection_find(&port->link.connections, &port->link.flows,
					  newcomer->identity, newcomer->era);
		if (id)
			goto classified;
	}
	__builtin_memset(&newcomer->key, 0, sizeof(newcomer->key));
	by = plan->stations;
	if (!by && port->link.old_plan_packets)
		by = port->plans[(port->active & 1) ^ 1].stations;
	/* The plan before may ask for more than this one. */
	read_key(skb, &newcomer->key,
		 plan->rules.need_addresses | plan->flows | plan->registered |
			 (by & TAKT_STATIONS_IP) | port->link.old_plan_packets);
	if (plan->rules.need_who || port->link.old_plan_packets)
		sender = owner_of(bpf_core_cast(skb, struct sk_buff)->sk);
	uid = user_of(sender);
	newcomer->key.who = who_is(sender, plan);
	if (plan->registered)
		moved = ask_registration(port, plan, newcomer, uid);
	if (by)
		read_station(skb, by, newcomer);
	if (plan->flows)
		id = flow_of(port, plan, newcomer);
	else
		id = takt_classify(&plan->rules, &newcomer->key);
	if (plan->stations)
		id = station_of(port, plan, newcomer, id);
	if (moved) {
		arrival.before = element_unlike(port, plan, &newcomer->key, newcomer->identity, id);
	} else if (port->link.old_plan_packets) {
		newcomer->key.who = who_is(sender, &port->plans[(port->active & 1) ^ 1]);
		arrival.before = element_before(port, &newcomer->key, newcomer->identity, uid);
	}
	/* Who must not overtake has to say so for every packet until then. */
	if (connected && (!arrival.before || arrival.before == id)) {
		struct takt_connection *connection =
			takt_connection(&port->link.connections, newcomer->identity);

		connection->identity = newcomer->identity;
		connection->era = newcomer->era;
		connection->id = id;
	}
classified:
	arrival.id = id;
	arrival.bytes = accounted_bytes(skb);
	arrival.frames = frames_of(skb, arrival.bytes);
	arrival.task_prio = task_prio_of(skb, port, plan, id);
	arrival.now_ns = wants_time(takt_element(&port->link.order, id)) ?
				 bpf_ktime_get_ns() : 0;
	arrival.idle = takt_gap_arrival(&port->link, &port->gap, plan,
					nobody_waits(sch, port, plan), &arrival.now_ns);
	place = takt_link_enqueue(&port->link, plan, &arrival);
	if (!place)
		goto drop;
	store = find_store(index, place);
	if (!store)
		goto drop;	/* cannot be: the store holds every place */
	old = bpf_kptr_xchg(&store->skb, skb);
	if (old)
		bpf_kfree_skb(old);
	sch->q.qlen++;
	sch->qstats.backlog += arrival.bytes;
	return NET_XMIT_SUCCESS;
drop:
	sch->qstats.drops++;
refuse:
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/* Free the packet in a place, if there is one. */
static int discard(u32 index, u32 place)
{
	struct takt_store *store = find_store(index, place);
	struct sk_buff *skb = store ? bpf_kptr_xchg(&store->skb, NULL) : NULL;

	if (!skb)
		return 0;
	bpf_kfree_skb(skb);
	return 1;
}

/* Call whoever listens for the bell. */
static __always_inline void ring(u32 index, struct takt_port *port)
{
	port->bell = 0;
	discard(index, TAKT_STORE_BELL);
}

SEC("struct_ops")
struct sk_buff *BPF_PROG(takt_dequeue, struct Qdisc *sch)
{
	u32 index = link_index(sch);
	struct takt_choice *choice;
	const struct takt_plan *plan;
	struct takt_store *store;
	struct takt_port *port;
	struct sk_buff *skb;
	u64 now_ns;

	if (!sch->q.qlen)
		return NULL;
	port = find_port(index);
	if (!port)
		return NULL;
	if (sch->q.qlen != port->link.queued_packets) {
		store = find_store(index, TAKT_EXPRESS);
		if (!store)
			return NULL;
		skb = bpf_kptr_xchg(&store->skb, NULL);
		if (skb)
			goto send;
	}
	plan = plan_of(port);
	choice = &port->choice;
	note_running(port, plan);
	now_ns = bpf_ktime_get_ns();
	takt_gap_dequeue(&port->link, &port->gap, plan, now_ns, choice);
	if (!choice->packet) {
		if (port->bell && takt_held_long(&port->link.order.held, now_ns))
			ring(index, port);
		if (!choice->armed && choice->wake_ns != TAKT_TIME_NEVER)
			bpf_qdisc_watchdog_schedule(sch, choice->wake_ns, 0);
		return NULL;
	}
	store = find_store(index, choice->packet);
	if (!store)
		return NULL;
	skb = bpf_kptr_xchg(&store->skb, NULL);
	if (!skb)
		return NULL;
	if (choice->packet >= TAKT_PACKETS) {
		bpf_qdisc_bstats_update(sch, skb);
		return skb;
	}
send:
	sch->q.qlen--;
	sch->qstats.backlog -= accounted_bytes(skb);
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

/*
 * Only the device that a plan was made for may carry it, and only at its root:
 * anything else would share one state under several locks.
 */
SEC("struct_ops")
int BPF_PROG(takt_init, struct Qdisc *sch, struct nlattr *opt,
	     struct netlink_ext_ack *extack)
{
	struct takt_port *port = find_port(link_index(sch));
	const struct net_device *dev = device_of(sch);

	if (!port || sch->parent != TC_H_ROOT)
		return -EINVAL;
	if (port->link.ifindex != (u32)dev->ifindex ||
	    port->link.netns_cookie != dev->nd_net.net->net_cookie)
		return -EINVAL;
	port->link.attached = 1;
	port->device = (u64)dev;
	port->stands = 1;
	return 0;
}

static void flush(struct Qdisc *sch)
{
	u32 index = link_index(sch), i;
	struct takt_port *port = find_port(index);

	if (!port)
		return;
	if (discard(index, TAKT_EXPRESS))
		takt_link_flush_express(&port->link);
	bpf_for(i, 0, 2 * TAKT_ELEMENTS + TAKT_PACKETS) {
		u32 place;

		if (!port->link.queued_packets)
			break;
		place = takt_link_flush(&port->link);
		if (place)
			discard(index, place);
	}
	ring(index, port);
	bpf_for(i, 0, TAKT_GAP_FLUSH_MAX) {
		u32 place;

		if (!port->gap.stocked && !port->gap.stale)
			break;
		place = takt_gap_flush(&port->gap);
		if (place)
			discard(index, TAKT_PACKETS + place);
	}
}

SEC("struct_ops")
void BPF_PROG(takt_reset, struct Qdisc *sch)
{
	flush(sch);
}

SEC("struct_ops")
void BPF_PROG(takt_destroy, struct Qdisc *sch)
{
	struct takt_port *port = find_port(link_index(sch));

	if (port)
		port->stands = 0;
	flush(sch);
	/* Its namespace may be gone, too: let any takt clear this link away. */
	if (port && device_of(sch)->reg_state != NETREG_REGISTERED)
		port->link.gone = 1;
}

/*
 * Put new plans in force: of all the named links, in one system call, so that
 * even a SIGKILL comes before the first or after the last.
 */
SEC("syscall")
int takt_commit(struct takt_commit_args *args)
{
	u64 links = args->links;
	u32 i;

	bpf_for(i, 0, TAKT_LINKS) {
		struct takt_port *port = links >> i & 1 ? find_port(i) : NULL;

		if (port)
			port->active ^= 1;
	}
	return 0;
}

SEC(".struct_ops.link")
struct Qdisc_ops takt = {
	.enqueue = (void *)takt_enqueue,
	.dequeue = (void *)takt_dequeue,
	.init = (void *)takt_init,
	.reset = (void *)takt_reset,
	.destroy = (void *)takt_destroy,
	.id = "takt",
};
