// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The qdisc `takt`: algo/link.h between the kernel's enqueue and dequeue.
 *
 * Every device has its own state, plan and store, found by the qdisc's handle (7a00: is the first
 * link, 7a01: the second, …), so devices share nothing and each is guarded by its own qdisc lock.
 * A plan is replaced as a whole, in one step, under running traffic; queues and clocks are in the
 * state and stay.
 *
 * Non-goals: splitting GSO packets (a BPF qdisc cannot), being a child of another qdisc (several
 * locks would share one state).
 */
#include "kernel.h"
#include "arrival.h"
#include "departs.h"
#include "handover.h"
#include "known.h"
#include "marking.h"
#include "templates.h"
#include "thinning.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Cast, like every pointer that is only read through: for a trusted pointer the verifier searches
 * all of the kernel's types by name.
 */
static __always_inline const struct net_device *device_of(const struct Qdisc *sch)
{
	return bpf_core_cast(sch, struct Qdisc)->dev_queue->dev;
}

static u32 link_index(const struct Qdisc *sch)
{
	return (sch->handle >> 16) - TAKT_HANDLE_MAJOR;
}

/* QUEUE_STATE_DRV_XOFF, QUEUE_STATE_STACK_XOFF: by the driver, or by the limit of its bytes. */
#define TAKT_QUEUE_STOPPED 3

/* Has the device enough? Of a device with several queues, the first one tells. */
static __always_inline int is_stopped(const struct Qdisc *sch)
{
	const struct netdev_queue *queue = bpf_core_cast(sch, struct Qdisc)->dev_queue;

	return (bpf_core_cast(queue, struct netdev_queue)->state & TAKT_QUEUE_STOPPED) != 0;
}

/*
 * Only entities that are blocked, or throttled by their station's weight, have packets queued,
 * and the fast path is empty.
 */
static __always_inline u32 is_idle(const struct Qdisc *sch, const struct takt_port *port,
				   const struct takt_plan *plan)
{
	/* A changed weight is applied when the link is asked for a packet. */
	if (plan->stations && takt_stations_unsettled(&port->link.flows.stations))
		return 0;
	/* What goes before others may come while the device has enough. */
	if (plan->by_device && is_stopped(sch))
		return 0;
	return !sch->q.qlen || (sch->q.qlen == port->link.queued_packets &&
				!port->link.order.node[0].backlogged);
}

/*
 * The time matters only if the entity becomes backlogged, is blocked, or its queue is managed, or
 * if the packet may have to wait for its departure time.
 */
static __always_inline int wants_time(const struct takt_plan *plan,
				      const struct takt_entity *entity,
				      const struct takt_arrival *arrival)
{
	return !entity->queue.packets || entity->waits & TAKT_IN_GATE ||
	       takt_params(plan, entity, arrival->id)->target_ns ||
	       arrival->stamp_ns | arrival->pacing_bps;
}

/*
 * The class that bpf/receive found for an incoming packet; 0 if it is no such packet. A class
 * whose queue takes no packets has just left the plan.
 */
static __always_inline u32 handed_over(const struct sk_buff *skb, const struct takt_plan *plan)
{
	const struct takt_handover *handover = handover_of(skb);
	u32 id = handover->class_id & (TAKT_CLASSES - 1);

	if (handover->mark != TAKT_HANDOVER_MARK)
		return 0;
	return plan->class_params[id].queue_packets ? id : plan->rules.default_class;
}

/* The priority of the task that sent the packet, or will receive it. */
static __always_inline u32 task_prio_of(const struct sk_buff *skb, struct takt_port *port,
					const struct takt_plan *plan, u32 id)
{
	if (!plan->receives)
		return note_tasks(skb, port, plan, id);
	note_running(port, plan);
	return handover_of(skb)->task_prio & 255;
}

/* A packet arrives for its entity: the packet slot to keep it in, or 0: drop it. */
static __always_inline u32 arrive(const struct sk_buff *skb, const struct Qdisc *sch,
				  struct takt_port *port, const struct takt_plan *plan,
				  struct takt_arrival *arrival)
{
	u32 slot;

	arrival->bytes = accounted_bytes(skb);
	arrival->frames = frames_of(skb, arrival->bytes);
	arrival->full_bytes = full_bytes_of(skb, &plan->framing, arrival->bytes, arrival->frames);
	arrival->task_prio = task_prio_of(skb, port, plan, arrival->id);
	arrival->ecn = TAKT_ECN_NOT;
	takt_link_read_sender(skb, plan, arrival);
	arrival->now_ns = wants_time(plan, takt_entity(&port->link.order, arrival->id), arrival) ?
				  bpf_ktime_get_ns() : 0;
	arrival->idle = takt_gap_arrival(&port->link, &port->gap, plan,
					 is_idle(sch, port, plan), &arrival->now_ns);
	if (plan->reads) {
		if (plan->reads & TAKT_READS_ECN)
			arrival->ecn = read_ecn(skb);
		if (plan->reads & TAKT_READS_ACKS && read_ack(skb, port)) {
			arrival->is_ack = 1;
			slot = thinning_pauses(&port->link.acks) ?
				       0 : takt_link_thin(&port->link, plan, arrival);
			if (slot)
				return slot;
		}
	}
	return takt_link_push(&port->link, plan, arrival);
}

SEC("struct_ops")
int BPF_PROG(takt_link_enqueue, struct sk_buff *skb, struct Qdisc *sch,
	     struct bpf_sk_buff_ptr *to_free)
{
	u32 index = link_index(sch), slot, bytes;
	struct takt_port *port = find_port(index);
	struct takt_fast *fast;
	const struct takt_plan *plan;
	struct takt_arrival *arrival;
	struct takt_store *store;
	struct sk_buff *thinned;

	if (!port)
		goto drop;
	plan = plan_of(port);
	fast = find_fast(index);
	if (!fast)
		goto drop;
	slot = known_slot(skb, port, plan, !sch->q.qlen, &bytes);
	if (slot == TAKT_FAST_PATH)
		goto passes;
	if (slot)
		goto waits;
	if (is_template(skb, port)) {
		slot = template_slot(skb, port, plan);
		store = slot ? find_store(index, slot) : NULL;
		if (!store)
			goto refuse;
		keep(store, skb);
		return NET_XMIT_SUCCESS;
	}
	arrival = &port->arrival;
	arrival->before = 0;
	arrival->is_ack = 0;
	if (plan->receives) {
		arrival->id = handed_over(skb, plan);
		if (!arrival->id)
			goto drop;
	} else {
		arrival->id = entity_of(skb, port, plan);
	}
	slot = arrive(skb, sch, port, plan, arrival);
	bytes = arrival->bytes;
	/* The second: a plan came into force while a dequeue still read the one before. */
	if (!port->link.wake_ns || port->link.queued_generation != (u32)plan->generation)
		fast->quiet_ns = 0;
	if (slot == TAKT_FAST_PATH)
		goto passes;
waits:
	/* The store has every packet slot. */
	store = slot ? find_store(index, slot) : NULL;
	if (!store)
		goto drop;
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	thinned = bpf_kptr_xchg(&store->skb, skb);
	if (thinned) {
		sch->q.qlen--;
		sch->qstats.backlog -= accounted_bytes(thinned);
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(thinned, to_free);
	}
	return NET_XMIT_SUCCESS;
passes:
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	keep_fast(fast, skb, bytes);
	return NET_XMIT_SUCCESS;
drop:
	sch->qstats.drops++;
refuse:
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

SEC("struct_ops")
struct sk_buff *BPF_PROG(takt_link_dequeue, struct Qdisc *sch)
{
	u32 index = link_index(sch), bytes;
	struct takt_fast *fast;
	struct takt_choice *choice;
	const struct takt_plan *plan;
	struct takt_store *store;
	struct takt_port *port;
	struct sk_buff *skb;
	u64 now_ns;

	if (!sch->q.qlen)
		return NULL;
	fast = find_fast(index);
	if (!fast)
		return NULL;
	skb = take_fast(fast, &bytes);
	if (skb)
		goto send;
	now_ns = bpf_ktime_get_ns();
	if (now_ns + TAKT_TIMER_MARGIN_NS < fast->quiet_ns)
		return NULL;
	port = find_port(index);
	if (!port)
		return NULL;
	plan = plan_of(port);
	choice = &port->choice;
	note_running(port, plan);
	takt_gap_dequeue(&port->link, &port->gap, plan, now_ns, choice);
	if (!choice->armed && choice->wake_ns != TAKT_TIME_NEVER)
		bpf_qdisc_watchdog_schedule(sch, choice->wake_ns, plan->slack_ns);
	/* Only packets that arrive bring another packet's turn forward. */
	if (plan->fast_by_connection)
		fast->quiet_ns = port->link.wake_ns;
	if (!choice->packet) {
		if (port->bell && takt_blocked_long(&port->link.order.blocked, now_ns))
			ring(index, port);
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
	if (choice->drops) {
		/* One a call, so that a call is bounded; the timer asks again at once. */
		sch->q.qlen--;
		sch->qstats.backlog -= accounted_bytes(skb);
		sch->qstats.drops++;
		bpf_kfree_skb(skb);
		bpf_qdisc_watchdog_schedule(sch, now_ns, 0);
		return NULL;
	}
	if (choice->marks)
		note_mark(skb, port);
	bytes = accounted_bytes(skb);
send:
	sch->q.qlen--;
	sch->qstats.backlog -= bytes;
	bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

/*
 * Only the device that a plan was made for may have it, and only at its root: anything else would
 * share one state under several locks.
 */
SEC("struct_ops")
int BPF_PROG(takt_link_init, struct Qdisc *sch, struct nlattr *opt,
	     struct netlink_ext_ack *extack)
{
	struct takt_port *port = find_port(link_index(sch));
	const struct net_device *dev = device_of(sch);

	if (!port || sch->parent != TC_H_ROOT)
		return -EINVAL;
	if (port->link.ifindex != (u32)dev->ifindex ||
	    port->link.netns_cookie != dev->nd_net.net->net_cookie)
		return -EINVAL;
	/* Linux 6.19 drops packets of a burst from several CPUs that is longer than that. */
	sch->limit = TAKT_PACKETS;
	port->link.was_attached = 1;
	port->device = (u64)dev;
	port->attached = 1;
	return 0;
}

static void takt_link_clear(struct Qdisc *sch)
{
	u32 index = link_index(sch), i, bytes;
	struct takt_fast *fast = find_fast(index);
	struct takt_port *port = find_port(index);
	struct sk_buff *skb;

	if (!port || !fast)
		return;
	skb = take_fast(fast, &bytes);
	if (skb) {
		bpf_kfree_skb(skb);
		takt_link_flush_fast_path(&port->link);
	}
	bpf_for(i, 0, 2 * TAKT_ENTITIES + TAKT_PACKETS) {
		u32 slot;

		if (!port->link.queued_packets)
			break;
		slot = takt_link_flush(&port->link);
		if (slot)
			discard(index, slot);
	}
	ring(index, port);
	bpf_for(i, 0, TAKT_GAP_FLUSH_MAX) {
		u32 slot;

		if (!port->gap.stocked && !port->gap.stale)
			break;
		slot = takt_gap_flush(&port->gap);
		if (slot)
			discard(index, TAKT_PACKETS + slot);
	}
}

SEC("struct_ops")
void BPF_PROG(takt_link_reset, struct Qdisc *sch)
{
	takt_link_clear(sch);
}

SEC("struct_ops")
void BPF_PROG(takt_link_destroy, struct Qdisc *sch)
{
	struct takt_port *port = find_port(link_index(sch));

	if (port)
		port->attached = 0;
	takt_link_clear(sch);
	/* Its namespace may be gone, too: then any takt may clear this link away. */
	if (port && device_of(sch)->reg_state != NETREG_REGISTERED)
		port->link.gone = 1;
}

/*
 * Put the new plans of all these links in force in one system call, so that a SIGKILL takes
 * effect before the first or after the last.
 */
SEC("syscall")
int takt_link_commit(struct takt_commit_args *args)
{
	u64 links = args->links;
	u32 i;

	bpf_for(i, 0, TAKT_LINKS) {
		struct takt_port *port = links >> i & 1 ? find_port(i) : NULL;
		struct takt_fast *fast = find_fast(i);

		if (!port || !fast)
			continue;
		port->active ^= 1;
		fast->quiet_ns = 0;
	}
	return 0;
}

SEC(".struct_ops.link")
struct Qdisc_ops takt_link_ops = {
	.enqueue = (void *)takt_link_enqueue,
	.dequeue = (void *)takt_link_dequeue,
	.init = (void *)takt_link_init,
	.reset = (void *)takt_link_reset,
	.destroy = (void *)takt_link_destroy,
	.id = "takt",
};
