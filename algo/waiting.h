/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A link's state, and who of it waits: how elements and their tenants begin to
 * wait, wait anew, are let go by the gate, and follow another plan. Who of them
 * goes is in link.h.
 */
#ifndef TAKT_WAITING_H
#define TAKT_WAITING_H

#include "flows.h"
#include "group.h"

/* Elements looked at with each packet, once the plan has changed. */
#define TAKT_REPLACED_AT_ONCE 64

/* What was chosen: a class or flow, and the tenant above it, if there is one. */
struct takt_path {
	struct takt_pick leaf, above;
	u32 id, tenant;
	u32 source;	/* whose packet leaves in its turn: itself, or whom it pulls from */
	u32 pad;
};

struct takt_link {
	struct takt_clock clock;
	u32 queued_packets;	/* without the one in the express place */
	u32 express_id;		/* of the packet that took the express place last */
	u32 express_len;
	u32 generation;		/* the plan that packets were queued by last */
	u32 era;		/* counts changes of plan or registrations, as packets met them */
	u32 old_packets;	/* still queued from before this era */
	u32 plan_era;		/* the era that the plan came with */
	u32 old_plan_packets;	/* still queued from before that one */
	u64 registered_ns;	/* the latest registration that a packet met ... */
	u64 settled_ns;		/* ... and the latest before which nothing is queued any more */
	/* Whom this state belongs to; the qdisc refuses any other device. */
	u32 ifindex;
	u32 gone;		/* the device was unregistered */
	u32 attached;		/* the qdisc was, at least once */
	u32 flush_hand;		/* whom a flush looks at next */
	u32 planned;		/* the plan that elements wait by ... */
	u32 plan_hand;		/* ... up to this one; from here on by an older one */
	u64 netns_cookie;
	u64 wake_ns;		/* when the timer looks again; 0: unknown */
	u32 next_id;		/* whom it is set for, if that is as good as chosen */
	u32 polls;		/* only those whom the gate holds are there to wake for */
	u64 secret;		/* nobody outside can tell which flows share a number */
	struct takt_path path;	/* of the choice under way; a BPF stack is small */
	struct takt_frame frame;	/* likewise */
	struct takt_connections connections;
	struct takt_flows flows;
	struct takt_order order;
};

/* An empty calendar of so many buckets, on the next free part of the shelf. */
TAKT_FN void takt_calendar_lay_out(struct takt_calendar *calendar, u32 buckets, u32 shift,
				   u32 *first)
{
	calendar->first = *first;
	calendar->mask = buckets - 1;
	calendar->shift = shift;
	*first += buckets;
}

/*
 * Lay out an all-zero link. The link itself gets fine calendars that see a
 * second ahead; tenants, of which there may be many, coarse ones.
 */
TAKT_FN void takt_link_init(struct takt_link *link)
{
	u32 first = 0, i, j;

	for (i = 0; i < TAKT_GROUPS; i++) {
		struct takt_group *group = &link->order.group[i];

		for (j = 0; j < TAKT_PRIORITIES; j++) {
			takt_calendar_lay_out(&group->timed[j], i ? 256 : 16384, i ? 18 : 16,
					      &first);
			takt_calendar_lay_out(&group->share[j], i ? 128 : 4096, i ? 18 : 16,
					      &first);
		}
		takt_calendar_lay_out(&group->floors, i ? 64 : 4096, i ? 20 : 18, &first);
	}
	takt_calendar_lay_out(&link->order.held.by_task, TAKT_HELD_BUCKETS, 0, &first);
}

/*
 * A packet meets this plan, and a registration of this moment (0: none). If
 * either is news, an era begins: whatever is queued was put there by other rules.
 */
TAKT_FN void takt_link_meet(struct takt_link *link, const struct takt_plan *plan,
			    u64 registered_ns)
{
	u32 replaced = link->generation != (u32)plan->generation;

	if (!replaced && registered_ns <= link->registered_ns)
		return;
	link->era++;
	if (!link->old_packets)
		link->settled_ns = link->registered_ns;
	link->old_packets = link->queued_packets;
	link->registered_ns = takt_max(link->registered_ns, registered_ns);
	if (!replaced)
		return;
	link->generation = plan->generation;
	link->plan_era = link->era;
	link->old_plan_packets = link->queued_packets;
}

/* May packets be queued from before a registration of this moment? */
TAKT_FN int takt_link_unsettled(const struct takt_link *link, u64 registered_ns)
{
	return link->old_packets && registered_ns > link->settled_ns;
}

/* The element has something to send again: its clocks start, and it waits. */
TAKT_FN_OUT int takt_element_begin(struct takt_link *link TAKT_ARG,
				   const struct takt_plan *plan TAKT_ARG, u32 id, u64 now_ns)
{
	struct takt_element *element = takt_element(&link->order, id);
	const struct takt_class_params *params = takt_params(plan, element, id);
	u64 clock_ns;

	takt_element_leave(&link->order, id, now_ns);
	if (element->group != params->group || element->priority != params->priority)
		takt_element_move(&link->order, element, params->group, params->priority);
	/* If all wait for later, nobody is late. */
	if (link->wake_ns <= now_ns || link->clock.due_ns > now_ns)
		clock_ns = takt_start_of(&link->order, element, now_ns);
	else
		clock_ns = takt_clock_of(&link->order, element, now_ns);
	link->wake_ns = 0;
	element->ready_ns = 0;
	takt_element_start(element, clock_ns, now_ns,
			   takt_group(&link->order, element->group)
				   ->virtual_ns[element->priority & (TAKT_PRIORITIES - 1)]);
	takt_element_wait(&link->order, plan, id, now_ns);
	return 0;
}

/* Is the element the one that goes for this group? */
TAKT_FN int takt_goes_for(const struct takt_plan *plan, u32 id, u32 group)
{
	u32 tenant = plan->tenant[group & (TAKT_GROUPS - 1)];

	/* A group that no plan knows any more is led by whom it has. */
	return !tenant || tenant == id;
}

/*
 * Has the element anything to send? Packets of its own, or a group with
 * somebody in it. (Its own first: a tenant has some only if its id was a
 * class's in the plan before.)
 */
TAKT_FN int takt_has_packets(struct takt_link *link, const struct takt_plan *plan, u32 id)
{
	struct takt_element *element = takt_element(&link->order, id);
	u32 heads = element->heads;

	return element->queue.packets ||
	       (heads && takt_group(&link->order, heads)->waiting &&
		takt_goes_for(plan, id, heads));
}

/*
 * Does it wait only for others, not for something of its own to be due? (When it
 * began to, its priority's clock may have been ahead of where it is now.)
 */
TAKT_FN int takt_is_ready(struct takt_order *order, u32 id, u64 now_ns)
{
	const struct takt_element *element = takt_element(order, id);

	id &= TAKT_ELEMENTS - 1;
	return !element->ready_ns ||
	       takt_entry(&order->shelf, id + TAKT_ENTRY_TIMED)->due_ns <=
		       takt_clock_of(order, element, now_ns);
}

/* An element waits in this group: its tenant, if it has one, has to as well. */
TAKT_FN void takt_tenant_begin(struct takt_link *link, const struct takt_plan *plan, u32 group,
			       u64 now_ns)
{
	u32 id = plan->tenant[group & (TAKT_GROUPS - 1)];
	struct takt_element *tenant = takt_element(&link->order, id);

	/* All that the group has may be held by the gate. */
	if (!group || !id || !takt_group(&link->order, group)->waiting)
		return;
	if (tenant->waits && tenant->heads == group && takt_is_ready(&link->order, id, now_ns))
		return;
	tenant->heads = group;
	takt_element_begin(link, plan, id, now_ns);
}

/* The element waits anew: nothing of it may go before ready_ns. */
TAKT_FN_OUT int takt_element_again(struct takt_link *link TAKT_ARG,
				   const struct takt_plan *plan TAKT_ARG, u32 id, u64 ready_ns,
				   u64 now_ns)
{
	takt_element(&link->order, id)->ready_ns = ready_ns;
	takt_element_leave(&link->order, id, now_ns);
	if (ready_ns != TAKT_TIME_NEVER)
		takt_element_wait(&link->order, plan, id, now_ns);
	return 0;
}

/* The element, if it waits, does so as and where the plan says now. */
TAKT_FN int takt_element_follow(struct takt_link *link, const struct takt_plan *plan, u32 id,
				u64 now_ns)
{
	struct takt_element *element = takt_element(&link->order, id);

	if (!element->waits)
		return 0;
	takt_element_again(link, plan, id & (TAKT_ELEMENTS - 1), element->ready_ns, now_ns);
	takt_tenant_begin(link, plan, element->group, now_ns);
	return 0;
}

/*
 * Whoever the gate has held waits where others do. What it kept from them is not
 * made up for: the link would send several frames at once, and the next of the
 * others would wait for them.
 */
TAKT_FN_OUT int takt_link_release(struct takt_link *link TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u32 id, u64 now_ns)
{
	struct takt_element *element = takt_element(&link->order, id);
	u64 virtual_ns = takt_group(&link->order, element->group)
				 ->virtual_ns[element->priority & (TAKT_PRIORITIES - 1)];

	link->wake_ns = 0;
	takt_element_start(element, takt_clock_of(&link->order, element, now_ns), now_ns,
			   virtual_ns);
	return takt_element_follow(link, plan, id, now_ns);
}

/*
 * Note how important the sender is. If its element is held, that may change for
 * how long.
 */
TAKT_FN void takt_link_sender(struct takt_link *link, const struct takt_plan *plan, u32 id,
			      u32 task_prio, u64 now_ns)
{
	struct takt_element *element = takt_element(&link->order, id);

	if (!task_prio || element->task_prio == task_prio)
		return;
	element->task_prio = task_prio;
	if (element->waits & TAKT_IN_GATE)
		takt_link_release(link, plan, id, now_ns);
}

/*
 * The plan has changed: go through all elements, a few at a time, and let those
 * that wait do so as and where the new one says.
 */
TAKT_FN_OUT int takt_link_replace(struct takt_link *link TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u64 now_ns)
{
	u32 i;

	TAKT_FOR (i, 0, TAKT_REPLACED_AT_ONCE)
		takt_element_follow(link, plan, link->plan_hand + i, now_ns);
	link->plan_hand += TAKT_REPLACED_AT_ONCE;
	return 0;
}

/*
 * A flow belongs to this class now: its packets go along, and those that wait
 * do so as and where the class says.
 */
TAKT_FN_OUT int takt_link_follow(struct takt_link *link TAKT_ARG,
				 const struct takt_plan *plan TAKT_ARG, u32 id, u32 class_id,
				 u64 now_ns)
{
	struct takt_element *element = takt_element(&link->order, id);
	u32 moves = element->class_id != class_id;

	takt_flow_follow(&link->flows, &link->order, id, class_id, link->era);
	if (!moves || !element->waits)
		return 0;
	link->wake_ns = 0;
	return takt_element_follow(link, plan, id, now_ns);
}

#endif
