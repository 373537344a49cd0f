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

/*
 * The general way, for any packet, in two functions: each has the registers and its part of the
 * stack to itself, and so has what goes short ways. First the packet's entity, into port->arrival.
 * 0: drop it.
 */
static __noinline u32 takt_link_find(const struct sk_buff *skb, struct takt_port *port,
				     const struct takt_plan *plan)
{
	struct takt_arrival *arrival = &port->arrival;

	arrival->before = 0;
	arrival->is_ack = 0;
	arrival->id = plan->receives ? handed_over(skb, plan) : entity_of(skb, port, plan);
	return arrival->id;
}

/* A packet arrives for its entity: the packet slot to keep it in, or 0: drop it. */
static __always_inline u32 arrive(const struct sk_buff *skb, const struct Qdisc *sch,
				  struct takt_port *port, const struct takt_plan *plan)
{
	struct takt_arrival *arrival = &port->arrival;
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

/* Likewise, and what follows from it. */
static __noinline u32 takt_link_arrive(const struct sk_buff *skb, const struct Qdisc *sch,
				       struct takt_port *port, const struct takt_plan *plan)
{
	u32 slot = arrive(skb, sch, port, plan);

	if (plan->fast_by_connection)
		takt_link_open_short(port, plan);
	/* The second: a plan came into force while a dequeue still read the one before. */
	if (!port->link.wake_ns || port->link.queued_generation != (u32)plan->generation)
		wake_up(link_index(sch));
	return slot;
}

static __always_inline int drop(struct sk_buff *skb, struct Qdisc *sch,
				struct bpf_sk_buff_ptr *to_free)
{
	sch->qstats.drops++;
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/* The packet takes the fast path. It leaves with the next dequeue: it is no backlog. */
static __always_inline int let_pass(struct sk_buff *skb, struct Qdisc *sch,
				    struct bpf_sk_buff_ptr *to_free)
{
	struct takt_fast *fast = find_fast(link_index(sch));

	if (!fast)
		return drop(skb, sch, to_free);
	sch->q.qlen++;
	keep_fast(fast, skb);
	return NET_XMIT_SUCCESS;
}

/* The packet waits in this packet slot. What was there has been thinned. */
static __always_inline int let_wait(struct sk_buff *skb, struct Qdisc *sch,
				    struct bpf_sk_buff_ptr *to_free, u32 slot)
{
	/* The store has every packet slot. */
	struct takt_store *store = slot ? find_store(link_index(sch), slot) : NULL;
	struct sk_buff *thinned;

	if (!store)
		return drop(skb, sch, to_free);
	sch->q.qlen++;
	sch->qstats.backlog += accounted_bytes(skb);
	thinned = bpf_kptr_xchg(&store->skb, skb);
	if (thinned) {
		sch->q.qlen--;
		sch->qstats.backlog -= accounted_bytes(thinned);
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(thinned, to_free);
	}
	return NET_XMIT_SUCCESS;
}

/* A frame that the helper sends for the link itself. */
static __noinline int takt_link_store_template(struct sk_buff *skb, struct Qdisc *sch,
					       struct bpf_sk_buff_ptr *to_free,
					       struct takt_port *port)
{
	u32 slot = template_slot(skb, port, plan_of(port));
	struct takt_store *store = slot ? find_store(link_index(sch), slot) : NULL;

	if (!store) {
		bpf_qdisc_skb_drop(skb, to_free);
		return NET_XMIT_DROP;
	}
	keep(store, skb);
	return NET_XMIT_SUCCESS;
}

SEC("struct_ops")
int BPF_PROG(takt_link_enqueue, struct sk_buff *skb, struct Qdisc *sch,
	     struct bpf_sk_buff_ptr *to_free)
{
	struct takt_port *port = find_port(link_index(sch));
	const struct takt_plan *plan;
	u32 slot;

	if (!port)
		return drop(skb, sch, to_free);
	slot = known_slot(skb, sch, port);
	if (slot == TAKT_FAST_PATH)
		return let_pass(skb, sch, to_free);
	if (!slot) {
		if (is_template(skb, port))
			return takt_link_store_template(skb, sch, to_free, port);
		plan = plan_of(port);
		if (!takt_link_find(skb, port, plan))
			return drop(skb, sch, to_free);
		slot = takt_link_arrive(skb, sch, port, plan);
		if (slot == TAKT_FAST_PATH)
			return let_pass(skb, sch, to_free);
	}
	return let_wait(skb, sch, to_free, slot);
}

/* The packet in this packet slot leaves by a short way: the next one's time is known. */
static __always_inline struct sk_buff *pop_short(struct Qdisc *sch, struct takt_link *link,
						 struct takt_fast *fast, u32 slot, u64 now_ns)
{
	fast->quiet_ns = link->wake_ns;
	if (takt_link_is_quiet(link, now_ns))
		bpf_qdisc_watchdog_schedule(sch, link->wake_ns, link->terms.slack_ns);
	return take(link_index(sch), slot);
}

SEC("struct_ops")
struct sk_buff *BPF_PROG(takt_link_dequeue, struct Qdisc *sch)
{
	u32 index = link_index(sch), slot;
	struct takt_fast *fast;
	struct takt_choice *choice;
	const struct takt_plan *plan;
	struct takt_port *port;
	struct sk_buff *skb;
	u64 now_ns;

	if (!sch->q.qlen)
		return NULL;
	fast = find_fast(index);
	if (!fast)
		return NULL;
	skb = take_fast(fast);
	if (skb)
		goto passes;
	now_ns = bpf_ktime_get_ns();
	if (now_ns + TAKT_TIMER_MARGIN_NS < fast->quiet_ns)
		return NULL;
	port = find_port(index);
	if (!port)
		return NULL;
	slot = takt_short_pop(&port->link, now_ns);
	if (slot) {
		skb = pop_short(sch, &port->link, fast, slot, now_ns);
		if (!skb)
			return NULL;
		goto waited;
	}
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
	skb = take(index, choice->packet);
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
waited:
	sch->qstats.backlog -= accounted_bytes(skb);
passes:
	sch->q.qlen--;
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
	u32 index = link_index(sch), i;
	struct takt_fast *fast = find_fast(index);
	struct takt_port *port = find_port(index);
	struct sk_buff *skb;

	if (!port || !fast)
		return;
	skb = take_fast(fast);
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
		/* Whole before the next: see takt_link_open_short. */
		__sync_fetch_and_xor(&port->active, 1);
		port->link.short_in = 0;
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
