/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One link: which of its packets goes next, and when.
 *
 * The three questions of every Takt scheduler, answered for packets:
 *   what is eligible   entities whose clocks are due (entity.h), on a link that is free
 *   what goes first    floors, then priority, guarantee, share (node.h)
 *   when to look again the earliest due in the future, or when the link is free
 *
 * Tenants are links within the link: one is chosen among its siblings like any class, and then
 * one of its own entities.
 *
 * The link has a clock of its own at its wire rate, which may change (line_rate.h), or the device
 * decides when it is free (pushback.h). A frame's ideal start is the later of "it was due" and "the
 * link was free"; all clocks count from there, so a frame that is served late costs its entity
 * nothing.
 *
 * The fast path: a packet that finds the link free and without a backlog, and its clocks due, is
 * charged and counted when it is enqueued, and leaves with the next dequeue, before any search.
 * Most packets of a link that is not full go this way.
 *
 * A packet with a departure time in the future is in no queue before then, see departure.h.
 */
#ifndef TAKT_LINK_H
#define TAKT_LINK_H

#include "burst.h"
#include "choose.h"
#include "ecn.h"
#include "migrate.h"
#include "pushback.h"
#include "thin_queue.h"
#include "weigh.h"

/* A kernel's clocks differ by no more than this when a timer fires. */
#define TAKT_TIMER_MARGIN_NS 10000

struct takt_choice {
	u64 wake_ns;	/* when to look again; TIME_NEVER: at once after a packet, else not known */
	u32 packet;	/* its packet slot, or 0 */
	u32 id;
	u32 len;
	u32 armed;	/* the timer is set for wake_ns already */
	u32 drops;	/* 1: this packet is to be dropped; ask again */
	u32 marks;	/* 1: the next packet of its flow is to be marked, see ecn.h */
};

/* A packet arrives. */
struct takt_arrival {
	u32 id;		/* of its entity */
	u32 bytes;	/* as the kernel counts */
	u32 before;	/* the entity by the previous configuration, while packets
			 * from then are queued; with TAKT_PULLS or not; or 0 */
	u32 is_ack;	/* 1: it may be thinned, by `ack` */
	u32 frames;	/* on the wire */
	u32 full_bytes;	/* of each but the last, where the line's framing asks for it; or 0 */
	u32 idle;	/* no backlog but blocked entities, and the fast path is empty */
	u32 task_prio;	/* of the task that sent it, see gate.h */
	u32 local;	/* a socket of this host sent it, which is pushed back */
	u32 ecn;	/* TAKT_ECN_*; not, if the plan marks none */
	u64 stamp_ns;	/* it is not to leave before; 0: no stamp */
	u64 pacing_bps;	/* of its socket, which makes no stamps itself; 0: not limited */
	u64 now_ns;	/* 0: its entity has packets, is not blocked, and not managed, and it has
			 * neither of the two above */
	struct takt_ack ack;
};

/* What an arriving packet takes on the line. */
TAKT_FN u32 takt_arrival_len(const struct takt_plan *plan, const struct takt_arrival *arrival)
{
	return takt_framing_packet(&plan->framing, arrival->bytes, arrival->frames,
				   arrival->full_bytes);
}

/* May the entity's packets take the fast path of an idle link, as far as it does not wait? */
TAKT_FN int takt_has_fast_path(struct takt_link *link, struct takt_entity *entity,
			       const struct takt_class_params *params)
{
	if (entity->node | params->node | entity->waits | entity->throttled ||
	    !params->queue_packets)
		return 0;
	if (takt_is_blocked(&link->order.blocked, params, entity))
		return 0;
	if (entity->priority != params->priority)
		takt_entity_move(&link->order, entity, 0, params->priority);
	return 1;
}

/* Are its clocks due? Then charge them. Precondition: it has a fast path. */
TAKT_FN int takt_takes_fast_path(struct takt_link *link, struct takt_entity *entity,
			 const struct takt_class_params *params, u32 len, u64 now_ns)
{
	u64 clock_ns = takt_clock_of(&link->order, entity, now_ns);

	if (entity->pace.due_ns > clock_ns)
		return 0;
	if (params->ceil_bps) {
		takt_clock_start(&entity->pace, clock_ns);
		takt_clock_advance(&entity->pace, params->ceil_bps, len);
	}
	if (takt_is_borrower(params) && entity->guarantee.due_ns <= clock_ns) {
		takt_clock_start(&entity->guarantee, clock_ns);
		takt_clock_advance(&entity->guarantee, params->rate_bps, len);
	}
	return 1;
}

/* The wire's rate now: the plan's, or the one that was measured. */
TAKT_FN u64 takt_link_rate(const struct takt_link *link, const struct takt_plan *plan, u64 now_ns)
{
	return takt_line_rate_now(&link->line, plan->link.rate_bps, now_ns);
}

/* It takes the fast path: charge and count it here, as it is never chosen. */
TAKT_FN void takt_link_pass(struct takt_link *link, const struct takt_plan *plan,
			    struct takt_entity *entity, u32 id, u32 frames, u32 len, u64 now_ns)
{
	takt_clock_start(&link->clock, now_ns);
	takt_clock_advance(&link->clock, takt_link_rate(link, plan, now_ns), len);
	if (frames > 1)
		takt_count_segment(entity, takt_params(plan, entity, id), len);
	takt_count_passed(entity, len);
	takt_flow_went_idle(&link->flows, id, now_ns);
	link->fast_id = id;
	link->fast_len = len;
}

/*
 * The last packet of a queue must not overtake the packets of `before` (with TAKT_PULLS or not)
 * from earlier configurations.
 */
TAKT_FN void takt_link_order(struct takt_link *link, u32 slot, u32 before)
{
	struct takt_packet *packet = takt_packet(&link->order.slots, slot);

	packet->after = before;
	packet->after_in = takt_queue_old_in(&takt_entity(&link->order, before)->queue,
					     link->generation);
}

/* Queue the packet in this slot, in its entity, whose clocks are the leader's. */
TAKT_FN void takt_link_append(struct takt_link *link, const struct takt_plan *plan, u32 leader,
			      u32 id, u32 slot, u32 len, u64 now_ns)
{
	struct takt_entity *entity = takt_entity(&link->order, id);
	struct takt_packet *packet = takt_packet(&link->order.slots, slot);

	if (packet->queued_us)
		packet->queued_us = takt_codel_stamp(now_ns);
	takt_count_arrival(entity, len);
	takt_queue_push(&entity->queue, &link->order.slots, slot, len, link->generation);
	if (leader != id && entity->turn.class_id != leader)
		takt_flow_begin(&link->order, leader, id, takt_flow(&link->flows, id)->host);
	else if (leader != id)
		takt_flow_resume(&link->order, leader, id);
	takt_flow_queued(&link->order, leader, id, len);
	entity = takt_entity(&link->order, leader);
	if (takt_backlog(entity) == 1) {
		takt_entity_activate(link, plan, leader, now_ns);
		takt_tenant_activate(link, plan, entity->node, now_ns);
	}
}

/*
 * When the packet may leave: 0, at once, or in the future. TIME_NEVER: drop it. Precondition: it
 * has a stamp or a pacing rate.
 */
TAKT_FN_OUT u64 takt_link_departure(struct takt_link *link TAKT_ARG,
				    const struct takt_plan *plan TAKT_ARG,
				    const struct takt_arrival *arrival TAKT_ARG)
{
	struct takt_departures *departures = &link->departures;
	struct takt_flow *flow = takt_flow(&link->flows, arrival->id);
	u64 now_ns = arrival->now_ns, due_ns = 0;

	if (arrival->stamp_ns)
		due_ns = takt_departure_stamped(departures, plan, arrival->stamp_ns, now_ns);
	else if (arrival->id >= TAKT_FLOW_FIRST && !flow->station)
		due_ns = takt_departure_paced(&flow->paced_ns, arrival->pacing_bps, arrival->bytes,
					      now_ns);
	if (due_ns <= now_ns || due_ns == TAKT_TIME_NEVER)
		return due_ns == TAKT_TIME_NEVER ? due_ns : 0;
	if (departures->count >= TAKT_HELD_MAX - 1) {
		departures->no_room_packets++;
		return 0;
	}
	return due_ns;
}

/* Hold the packet in this slot until then. */
TAKT_FN_OUT int takt_link_hold(struct takt_link *link TAKT_ARG, u32 slot, u32 id, u32 len,
			       u64 due_ns)
{
	struct takt_packet *packet = takt_packet(&link->order.slots, slot);

	packet->len = len;
	packet->generation = link->generation;
	takt_entity(&link->order, id)->held_packets++;
	if (due_ns < takt_departures_next_ns(&link->departures) && due_ns < link->wake_ns)
		link->wake_ns = 0;
	return takt_departures_hold(&link->departures, due_ns, slot, id);
}

/*
 * The entity whose earlier packets this one must not overtake; 0: there is none. It stays behind
 * those of its own entity in the same queue.
 */
TAKT_FN u32 takt_arrival_before(const struct takt_arrival *arrival)
{
	return (arrival->before & (TAKT_ENTITIES - 1)) == arrival->id ? 0 : arrival->before;
}

/*
 * A packet of so many bytes on the line waits: the packet slot to keep it in, or 0: drop it.
 * due_ns: its departure time; 0: it has none.
 */
TAKT_FN_OUT u32 takt_link_queue(struct takt_link *link TAKT_ARG,
				const struct takt_plan *plan TAKT_ARG,
				const struct takt_arrival *arrival TAKT_ARG, u32 len, u64 due_ns)
{
	u32 id = arrival->id, before = takt_arrival_before(arrival), slot;
	struct takt_entity *entity = takt_entity(&link->order, id);
	const struct takt_class_params *params = takt_params(plan, entity, id);
	u32 leader = takt_leader(&link->order, params, id);
	struct takt_packet *packet;

	slot = due_ns != TAKT_TIME_NEVER && takt_has_room(&link->order, params, leader, id) ?
			takt_packet_slot_take(&link->order.slots) : 0;
	if (!slot) {
		entity->stats.dropped_packets++;
		entity->stats.dropped_bytes += len;
		return 0;
	}
	takt_link_observe(link, plan, 0);
	link->queued_packets++;
	if (arrival->frames > 1)
		takt_count_segment(entity, params, len);
	packet = takt_packet(&link->order.slots, slot);
	packet->after = 0;
	packet->queued_us = params->target_ns && !(params->spares_local && arrival->local);
	packet->ecn = takt_ecn_of_flow(&entity->codel.l4s, arrival->ecn);
	if (before)
		takt_link_order(link, slot, before);
	if (due_ns) {
		takt_link_hold(link, slot, id, len, due_ns);
		return slot;
	}
	takt_link_append(link, plan, leader, id, slot, len, arrival->now_ns);
	if (arrival->is_ack)
		takt_thin_note(&link->acks, &link->order, &arrival->ack, id, slot);
	return slot;
}

/* A packet arrives: the packet slot to keep it in, or 0: drop it. */
TAKT_FN u32 takt_link_push(struct takt_link *link, const struct takt_plan *plan,
			   const struct takt_arrival *arrival)
{
	u32 id = arrival->id, len = takt_arrival_len(plan, arrival), leader;
	struct takt_entity *entity = takt_entity(&link->order, id);
	const struct takt_class_params *params = takt_params(plan, entity, id);
	u64 now_ns = arrival->now_ns, due_ns = 0;

	takt_link_sender(link, plan, id, arrival->task_prio, now_ns);
	leader = takt_leader(&link->order, params, id);
	if (arrival->stamp_ns | arrival->pacing_bps)
		due_ns = takt_link_departure(link, plan, arrival);
	if (arrival->idle && !due_ns && !takt_arrival_before(arrival) &&
	    link->clock.due_ns <= now_ns &&
	    takt_has_fast_path(link, takt_entity(&link->order, leader), params) &&
	    takt_takes_fast_path(link, takt_entity(&link->order, leader), params, len, now_ns)) {
		takt_link_pass(link, plan, entity, id, arrival->frames, len, now_ns);
		return TAKT_FAST_PATH;
	}
	return takt_link_queue(link, plan, arrival, len, due_ns);
}

/*
 * A pure acknowledgement arrives: the packet slot of the one that it replaces. 0: it is to be
 * pushed, as all packets are that have to wait for their time or for others.
 */
TAKT_FN u32 takt_link_thin(struct takt_link *link, const struct takt_plan *plan,
			   const struct takt_arrival *arrival)
{
	if (arrival->before || arrival->stamp_ns > arrival->now_ns)
		return 0;
	return takt_thin(&link->acks, &link->order, &arrival->ack, arrival->id,
			 takt_arrival_len(plan, arrival));
}

/* A packet is no longer one that is queued from an earlier configuration, if it was. */
TAKT_FN void takt_link_settle(struct takt_link *link, const struct takt_packet *packet)
{
	if (link->old_packets && packet->generation != (u16)link->generation)
		link->old_packets--;
	if (link->old_plan_packets && (u16)(packet->generation - link->plan_since) >> 15)
		link->old_plan_packets--;
}

/*
 * Queue the first held packet if its departure time has come. Returns whether it had. Not within
 * the loop below: the verifier of Linux 6.18 fails (-EFAULT) where registers die at a call in one.
 */
TAKT_FN_OUT int takt_link_depart_first(struct takt_link *link TAKT_ARG,
				       const struct takt_plan *plan TAKT_ARG, u64 now_ns)
{
	const struct takt_departure *first = takt_departure(&link->departures, 0);
	u32 id = first->id, slot = first->slot;
	struct takt_entity *entity = takt_entity(&link->order, id);
	struct takt_packet *packet = takt_packet(&link->order.slots, slot);

	if (takt_departures_next_ns(&link->departures) > now_ns)
		return 0;
	takt_departures_remove_first(&link->departures);
	takt_link_settle(link, packet);
	entity->held_packets--;
	takt_link_append(link, plan, takt_leader(&link->order, takt_params(plan, entity, id), id),
			 id, slot, packet->len, now_ns);
	return 1;
}

/* Queue the packets whose departure time has come, a few at a time. */
TAKT_FN_OUT int takt_link_depart(struct takt_link *link TAKT_ARG,
				 const struct takt_plan *plan TAKT_ARG, u64 now_ns)
{
	u32 i;

	if (!takt_link_depart_first(link, plan, now_ns))
		return 0;
	TAKT_FOR (i, 1, TAKT_PEEKS_MAX) {
		if (!takt_link_depart_first(link, plan, now_ns))
			return 0;
	}
	return 0;
}

/* Release the first entity that the gate has opened for. Returns whether there was one. */
TAKT_FN int takt_link_admit_first(struct takt_link *link, const struct takt_plan *plan, u64 now_ns)
{
	u32 id = takt_blocked_first(&link->order.blocked, &link->order.shelf);

	if (id)
		takt_link_release(link, plan, id, now_ns);
	return id != 0;
}

/* Release the entities that the gate has opened for, a few at a time. */
TAKT_FN_OUT int takt_link_admit(struct takt_link *link TAKT_ARG,
				const struct takt_plan *plan TAKT_ARG, u64 now_ns)
{
	u32 i;

	if (!takt_link_admit_first(link, plan, now_ns))
		return 0;
	TAKT_FOR (i, 1, TAKT_PEEKS_MAX) {
		if (!takt_link_admit_first(link, plan, now_ns))
			return 0;
	}
	return 0;
}

/* None is eligible before ideal_ns: when to look again. */
TAKT_FN u64 takt_link_wake(struct takt_link *link, const struct takt_plan *plan, u64 ideal_ns,
			   u64 now_ns)
{
	u64 soon_ns = TAKT_TIME_NEVER;
	int gaps = takt_fills_gaps(plan);

	link->polls = 0;
	if ((link->order.blocked.by_task.count || link->order.blocked.by_weight) &&
	    !(gaps && ideal_ns != TAKT_TIME_NEVER)) {
		soon_ns = now_ns + (link->order.blocked.by_task.count ?
				    takt_blocked_poll_ns(&link->order.blocked, now_ns) :
				    TAKT_STATION_POLL_NS);
		link->polls = ideal_ns == TAKT_TIME_NEVER;
	}
	/* In gap mode gaps end at this time, and are frequent enough themselves (gap.h). */
	if ((link->plan_hand < TAKT_ENTITIES || link->flows.stations.unsettled) && !gaps) {
		soon_ns = now_ns + TAKT_OVERTAKE_POLL_NS;
		link->polls = 0;
	}
	if (soon_ns < ideal_ns || link->plan_hand < TAKT_ENTITIES)
		link->next_id = 0;
	return takt_min(ideal_ns, soon_ns);
}

/* Does nothing leave before the timer is to come? What is due so soon is asked for without it. */
TAKT_FN int takt_link_is_quiet(const struct takt_link *link, u64 now_ns)
{
	return now_ns + TAKT_TIMER_MARGIN_NS < link->wake_ns;
}

/*
 * All that wait are in this calendar of the root's, and nothing comes between but departures: the
 * next one and its time are known without a search.
 */
TAKT_FN void takt_link_foresee_in(struct takt_link *link, u32 priority, u64 now_ns)
{
	struct takt_node *root = &link->order.node[0];
	u64 behind_ns = root->behind_ns[priority], due_ns;
	u32 id = takt_calendar_first(&root->timed[priority], &link->order.shelf,
				     now_ns - takt_min(behind_ns, now_ns), &due_ns);

	if (!id)
		return;
	due_ns = takt_entry(&link->order.shelf, id)->due_ns + behind_ns;
	if (due_ns < link->clock.due_ns || due_ns > takt_departures_next_ns(&link->departures))
		return;
	link->polls = 0;
	link->next_id = id & (TAKT_ENTITIES - 1);
	link->foreseen = 1;
	link->wake_ns = due_ns;
}

/* A frame was sent. Is the next one known? Then the timer may be set for it. */
TAKT_FN void takt_link_foresee(struct takt_link *link, const struct takt_plan *plan, u64 now_ns,
			       struct takt_choice *choice)
{
	struct takt_node *root = &link->order.node[0];
	u32 bits = root->timed_bits;

	if (!bits || bits & (bits - 1) || root->share_bits |
	    root->floors.count | root->ready.count |
	    link->order.blocked.by_task.count | link->order.blocked.by_weight |
	    link->flows.stations.unsettled | plan->stations ||
	    link->plan_hand < TAKT_ENTITIES || takt_fills_gaps(plan))
		return;
	takt_link_foresee_in(link, takt_lowest_bit(bits) & (TAKT_PRIORITIES - 1), now_ns);
	if (takt_link_is_quiet(link, now_ns))
		choice->wake_ns = link->wake_ns;
}

/* None is sent now: when to look again. Precondition: a choice was made, into link->path. */
TAKT_FN void takt_link_wait(struct takt_link *link, const struct takt_plan *plan, u64 now_ns,
			    struct takt_choice *choice)
{
	const struct takt_path *path = &link->path;
	u64 free_ns = link->clock.due_ns;
	u64 ideal_ns = path->id ? path->above.due_ns : path->above.wake_ns;
	u64 departs_ns = takt_departures_next_ns(&link->departures);

	link->next_id = !path->id && ideal_ns >= free_ns && ideal_ns <= departs_ns ?
				path->above.next : 0;
	link->foreseen = 0;
	ideal_ns = takt_min(ideal_ns, departs_ns);
	ideal_ns = takt_link_wake(link, plan, ideal_ns, now_ns);
	if (ideal_ns != TAKT_TIME_NEVER)
		choice->wake_ns = link->wake_ns = takt_max(ideal_ns, free_ns);
}

/* The source's first packet leaves its queue. Precondition: there is one. */
TAKT_FN void takt_link_take(struct takt_link *link, struct takt_entity *source,
			    struct takt_choice *choice)
{
	struct takt_packet *packet;

	choice->id = link->path.source;
	choice->packet = source->queue.head;
	packet = takt_queue_pop(&source->queue, &link->order.slots);
	choice->len = packet->len;
	takt_flow_left(&link->order, choice->id, packet->len);
	link->queued_packets--;
	takt_link_settle(link, packet);
}

/* Charge the frame to the link, and store in link->frame what it cost. */
TAKT_FN void takt_link_spend(struct takt_link *link, const struct takt_plan *plan,
			     const struct takt_class_params *params,
			     struct takt_entity *source, u32 len, u64 now_ns)
{
	struct takt_path *path = &link->path;
	struct takt_frame *frame = &link->frame;
	struct takt_clock_params wire = {
		.rate_bps = takt_link_rate(link, plan, now_ns),
		.lag_max_ns = plan->link.lag_max_ns,
	};
	u64 free_ns = link->clock.due_ns, ideal_ns, started_ns;

	ideal_ns = takt_max(takt_max(path->leaf.since_ns, path->above.since_ns), free_ns);
	started_ns = takt_max(ideal_ns, now_ns - takt_min(now_ns, wire.lag_max_ns));
	takt_clock_spend(&link->clock, &wire, ideal_ns, now_ns, len);
	frame->now_ns = now_ns;
	frame->free_ns = free_ns;
	if (plan->by_device)
		takt_pushback_took(link, now_ns);
	else
		frame->takes_ns = link->clock.due_ns - started_ns;
	frame->since_ns = 0;
	frame->len = len;
	takt_blocked_note(&link->order.blocked, params->priority, frame->takes_ns);
	takt_count_sent(source, len);
	takt_count_late(source, now_ns - ideal_ns);
}

/*
 * Charge the frame to the tenant. Within the tenant it takes longer than on the link, as the
 * tenant has only a part of that.
 */
TAKT_FN void takt_tenant_spend(struct takt_link *link, const struct takt_plan *plan, u32 len)
{
	struct takt_path *path = &link->path;
	struct takt_frame *frame = &link->frame;
	struct takt_entity *tenant = takt_entity(&link->order, path->tenant);
	u64 rate_bps;

	takt_count_sent(tenant, len);
	frame->since_ns = path->leaf.since_ns;
	takt_node_served(&link->order, plan, path->tenant, &path->above, frame);
	frame->since_ns = 0;
	rate_bps = takt_params(plan, tenant, path->tenant)->rate_bps;
	if (rate_bps)
		frame->takes_ns = takt_max(frame->takes_ns,
					   len * TAKT_NS_PER_BYTE_AT_1BPS / rate_bps);
}

/* Queue the entity again if it is still backlogged. */
TAKT_FN void takt_link_requeue(struct takt_link *link, const struct takt_plan *plan, u32 id,
			       u64 now_ns)
{
	takt_entity_requeue(link, plan, id,
			    takt_has_packets(link, plan, id) ? 0 : TAKT_TIME_NEVER, now_ns);
}

/*
 * Send the chosen packet. Preconditions: link->path names an eligible entity and a source that
 * has a packet, and the link is free.
 */
TAKT_FN void takt_link_send(struct takt_link *link, const struct takt_plan *plan, u64 now_ns,
			    struct takt_choice *choice)
{
	struct takt_path *path = &link->path;
	struct takt_entity *entity = takt_entity(&link->order, path->id);
	struct takt_entity *source = takt_entity(&link->order, path->source);
	const struct takt_class_params *params = takt_params(plan, entity, path->id);

	takt_link_take(link, source, choice);
	takt_link_spend(link, plan, params, source, choice->len, now_ns);
	if (path->tenant)
		takt_tenant_spend(link, plan, choice->len);
	takt_node_served(&link->order, plan, path->id, &path->leaf, &link->frame);
	if (!takt_backlog(entity) || !takt_paced_requeue(&link->order, params, path->id, now_ns))
		takt_link_requeue(link, plan, path->id, now_ns);
	if (path->tenant)
		takt_link_requeue(link, plan, path->tenant, now_ns);
	/* The plan may have moved it to another tenant. */
	if (entity->node)
		takt_tenant_activate(link, plan, entity->node, now_ns);
	if (source->queue.packets)
		return;
	if (path->source != path->id)
		takt_entity_leave(&link->order, path->source, now_ns);
	takt_flow_went_idle(&link->flows, path->source, now_ns);
}

/*
 * Is the chosen packet to be dropped, as its queue stands? Then take it; it costs nothing, unless
 * it has used the line before it came here: then it costs the link, its flow and its host what
 * sending would, and its class nothing. There are packets behind it, so the entity stays where it
 * is. One whose sender understands marks is sent, and a mark is due. Preconditions: as
 * takt_link_send, and the packet was stamped.
 */
TAKT_FN_OUT int takt_link_manage(struct takt_link *link TAKT_ARG,
				 const struct takt_plan *plan TAKT_ARG, u64 now_ns,
				 struct takt_choice *choice TAKT_ARG)
{
	struct takt_entity *source = takt_entity(&link->order, link->path.source);
	const struct takt_class_params *params = takt_params(plan, source, link->path.source);
	const struct takt_packet *packet = takt_packet(&link->order.slots, source->queue.head);
	u64 sojourn_ns, target_ns = params->target_ns, rate_bps;
	int drops;

	if (!params->target_ns)
		return 0;
	if (plan->by_device)
		target_ns = takt_pushback_target(link, target_ns);
	sojourn_ns = takt_codel_sojourn(packet->queued_us, now_ns);
	drops = takt_codel_drops(&source->codel, target_ns, params->interval_ns, sojourn_ns,
				 takt_bytes_beside(&link->order, link->path.source) - packet->len,
				 now_ns);
	if (packet->ecn) {
		rate_bps = takt_link_rate(link, plan, now_ns);
		if (plan->by_device)
			rate_bps = takt_pushback_rate(link, rate_bps);
		choice->marks = takt_ecn_marks(packet->ecn, drops, sojourn_ns, rate_bps);
		source->stats.marked_packets += choice->marks;
		return 0;
	}
	if (!drops)
		return 0;
	takt_link_take(link, source, choice);
	if (plan->incoming) {
		takt_clock_start(&link->clock, now_ns);
		takt_clock_advance(&link->clock, takt_link_rate(link, plan, now_ns), choice->len);
	} else {
		takt_flow_refund(&link->order, choice->id, choice->len);
		if (plan->by_device)
			takt_pushback_took(link, now_ns);
	}
	if (!source->queue.packets)
		takt_codel_empty(&source->codel);
	source->stats.managed_packets++;
	source->stats.managed_bytes += choice->len;
	choice->drops = 1;
	return 1;
}

/* Was the chosen packet stamped when it was queued, as those are that may be dropped? */
TAKT_FN int takt_link_is_stamped(struct takt_link *link)
{
	const struct takt_entity *source = takt_entity(&link->order, link->path.source);

	return takt_packet(&link->order.slots, source->queue.head)->queued_us != 0;
}

/* The link is asked for a packet at now. Precondition: the fast path is empty. */
TAKT_FN void takt_link_pop(struct takt_link *link, const struct takt_plan *plan, u64 now_ns,
			   struct takt_choice *choice)
{
	u64 free_ns;

	if (plan->by_device)
		takt_pushback_asked(link, now_ns);
	free_ns = link->clock.due_ns;
	takt_link_adopt(link, plan);
	choice->packet = 0;
	choice->armed = 0;
	choice->drops = 0;
	choice->marks = 0;
	choice->wake_ns = TAKT_TIME_NEVER;
	if (!link->queued_packets)
		return;
	if (plan->stations | link->flows.stations.unsettled) {
		takt_link_weigh(link, plan, now_ns);
		takt_burst_renew(link, plan, now_ns);
	}
	if (link->order.blocked.by_task.count)
		takt_link_admit(link, plan, now_ns);
	if (takt_departures_next_ns(&link->departures) <= now_ns)
		takt_link_depart(link, plan, now_ns);
	/* A packet was enqueued behind others, or one was sent: the timer is already set. */
	if (takt_link_is_quiet(link, now_ns)) {
		choice->wake_ns = link->wake_ns;
		choice->armed = 1;
		return;
	}

	if (link->plan_hand < TAKT_ENTITIES) {
		takt_link_replace(link, plan, now_ns);
	} else if (free_ns > now_ns && link->order.node[0].share_bits) {
		/* One entity will go as soon as the link is free, whichever it is. */
		link->next_id = 0;
		link->polls = 0;
		choice->wake_ns = link->wake_ns = free_ns;
		return;
	}
	if (!takt_link_next(link, plan, now_ns))
		takt_link_first(link, plan, now_ns);
	if (!link->path.id || free_ns > now_ns) {
		takt_link_wait(link, plan, now_ns, choice);
	} else if (!takt_link_is_stamped(link) || !takt_link_manage(link, plan, now_ns, choice)) {
		takt_link_send(link, plan, now_ns, choice);
		takt_link_foresee(link, plan, now_ns, choice);
	}
}

/* The packet on the fast path was counted as sent, and is discarded. */
TAKT_FN void takt_link_flush_fast_path(struct takt_link *link)
{
	struct takt_entity *entity = takt_entity(&link->order, link->fast_id);

	takt_entity_sum(entity);
	entity->stats.sent_packets--;
	entity->stats.sent_bytes -= link->fast_len;
	entity->stats.flushed_packets++;
	entity->stats.flushed_bytes += link->fast_len;
}

/* Discard one held packet: its packet slot. Precondition: there is one. */
TAKT_FN u32 takt_link_flush_held(struct takt_link *link)
{
	const struct takt_departure *last =
		takt_departure(&link->departures, --link->departures.count);
	struct takt_entity *entity = takt_entity(&link->order, last->id);
	u32 len = takt_packet(&link->order.slots, last->slot)->len;

	takt_packet_slot_free(&link->order.slots, last->slot);
	entity->held_packets--;
	takt_count_arrival(entity, len);
	entity->stats.flushed_packets++;
	entity->stats.flushed_bytes += len;
	link->queued_packets--;
	return last->slot;
}

/*
 * The device goes down: discard one packet of the next entity, if it has any, whatever the clocks
 * say. Returns its packet slot, or 0. Repeat while link->queued_packets.
 */
TAKT_FN_OUT u32 takt_link_flush(struct takt_link *link TAKT_ARG)
{
	u32 id = link->flush_hand & (TAKT_ENTITIES - 1), slot;
	struct takt_entity *entity = takt_entity(&link->order, id);
	struct takt_packet *packet;

	link->wake_ns = 0;
	link->old_packets = 0;
	link->old_plan_packets = 0;
	if (link->departures.count)
		return takt_link_flush_held(link);
	takt_entity_leave(&link->order, id, link->order.blocked.since_ns);
	if (!entity->queue.packets) {
		link->flush_hand++;
		return 0;
	}
	slot = entity->queue.head;
	packet = takt_queue_pop(&entity->queue, &link->order.slots);
	takt_flow_left(&link->order, id, packet->len);
	entity->stats.flushed_packets++;
	entity->stats.flushed_bytes += packet->len;
	link->queued_packets--;
	return slot;
}

#endif
