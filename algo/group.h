/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A group of elements that share something: the link, or a tenant's part of it.
 *
 * The order in which they go:
 *   1. floors that are due, earliest first, whatever the priority;
 *   2. of the best priority with anybody who may go:
 *      guarantees that are due, earliest first;
 *   3. then what is spare, by weight: the smallest start tag first (share.h).
 *
 * When guarantees ask for more than there is (paper 004, section 4 (2)), costs
 * must scale by what the active ones ask over what they get, or those behind
 * would burst when others stop. Here each priority has a clock, which all its
 * elements' clocks follow, and it is that clock which slows down: it waits for
 * the elements as soon as one falls behind by more than is possible while all
 * guarantees can be met. Every cost is scaled at once by that, with nobody
 * counting who is active; and as the earliest due still goes first, shares are
 * in proportion to the rates.
 *
 * How far behind is possible? While the guarantees fit, whoever is due waits
 * at most for one frame of each of the others that are as good or better.
 * Whoever begins to wait while others are late starts level with them: it must
 * neither wait for them longer than one frame each, nor find itself ahead of a
 * clock that is about to be put back.
 *
 * Where an element stands:
 *   timed    until its pace lets it go, or until its guarantee is due;
 *   share    it may go, and is not owed anything now;
 *   gate     instead of either, while a task runs that is more important than its
 *            sender (held.h);
 *   station  instead of any, while its station's weight is 0 (station.h);
 *   floors   if it has a floor, at all times as well.
 */
#ifndef TAKT_GROUP_H
#define TAKT_GROUP_H

#include "calendar.h"
#include "element.h"
#include "held.h"

struct takt_group {
	struct takt_calendar timed[TAKT_PRIORITIES];
	struct takt_calendar share[TAKT_PRIORITIES];
	struct takt_calendar floors;
	u64 behind_ns[TAKT_PRIORITIES];		/* real time less the priority's clock */
	u64 virtual_ns[TAKT_PRIORITIES];	/* start tag of the last that went by share */
	u64 frame_ns;				/* the longest frame of late */
	u32 crowd[TAKT_PRIORITIES];		/* the most timed at once of late, times 4 */
	u32 timed_bits, share_bits;		/* priorities with anybody there */
	u32 waiting;				/* elements */
	u32 pad;
};

/* All that waits on a link, and where. */
struct takt_order {
	struct takt_group group[TAKT_GROUPS];
	struct takt_element element[TAKT_ELEMENTS];
	struct takt_places places;
	struct takt_held held;
	struct takt_shelf shelf;
};

struct takt_pick {
	u64 due_ns;	/* in real time */
	u64 since_ns;	/* it might have gone, in real time */
	u64 wake_ns;	/* nobody may go: when to ask again, or TIME_NEVER */
	u32 by;		/* TAKT_BY_* */
	u32 next;	/* nobody may go: who will be owed something then; 0: not known */
};

TAKT_FN struct takt_group *takt_group(struct takt_order *order, u32 group)
{
	return &order->group[group & (TAKT_GROUPS - 1)];
}

TAKT_FN struct takt_element *takt_element(struct takt_order *order, u32 id)
{
	return &order->element[id & (TAKT_ELEMENTS - 1)];
}

TAKT_FN const struct takt_class_params *takt_params(const struct takt_plan *plan,
						    const struct takt_element *element, u32 id)
{
	if (id >= TAKT_CLASSES)
		id = element->class_id;
	return &plan->class_params[id & (TAKT_CLASSES - 1)];
}

TAKT_FN void takt_enter(struct takt_order *order, struct takt_calendar *calendar, u32 entry,
			u64 due_ns, u64 now_ns)
{
	takt_entry(&order->shelf, entry)->due_ns = due_ns;
	takt_calendar_insert(calendar, &order->shelf, entry, now_ns);
}

/* Take the element from wherever it waits. */
TAKT_FN_OUT int takt_element_leave(struct takt_order *order TAKT_ARG, u32 id, u64 now_ns)
{
	struct takt_element *element = takt_element(order, id);
	struct takt_group *group = takt_group(order, element->group);
	u32 priority = element->priority & (TAKT_PRIORITIES - 1);

	id &= TAKT_ELEMENTS - 1;
	if (element->waits & TAKT_IN_TIMED) {
		takt_calendar_remove(&group->timed[priority], &order->shelf,
				     id + TAKT_ENTRY_TIMED);
		if (!group->timed[priority].count)
			group->timed_bits &= ~(1U << priority);
	}
	if (element->waits & TAKT_IN_SHARE) {
		takt_calendar_remove(&group->share[priority], &order->shelf,
				     id + TAKT_ENTRY_SHARE);
		if (!group->share[priority].count)
			group->share_bits &= ~(1U << priority);
	}
	if (element->waits & TAKT_IN_FLOORS)
		takt_calendar_remove(&group->floors, &order->shelf, id + TAKT_ENTRY_FLOOR);
	if (element->waits & TAKT_IN_GATE)
		takt_let_go(&order->held, &order->shelf, id, now_ns);
	else if (element->waits & TAKT_IN_STATION)
		order->held.by_weight--;
	else if (element->waits && priority == TAKT_BACKGROUND)
		order->held.waiting--;
	if (element->waits & ~TAKT_IN_NO_TURN)
		group->waiting--;
	element->waits = 0;
	return 0;
}

/* Its plan moved it to another priority, whose clock shows another time. */
TAKT_FN void takt_element_move(struct takt_order *order, struct takt_element *element,
			       u32 to_group, u32 to_priority)
{
	struct takt_group *to = takt_group(order, to_group);
	u64 from_ns = takt_group(order, element->group)
			      ->behind_ns[element->priority & (TAKT_PRIORITIES - 1)];
	u64 to_ns = to->behind_ns[to_priority & (TAKT_PRIORITIES - 1)];

	element->pace.due_ns += from_ns;
	element->pace.due_ns -= takt_min(element->pace.due_ns, to_ns);
	element->guarantee.due_ns += from_ns;
	element->guarantee.due_ns -= takt_min(element->guarantee.due_ns, to_ns);
	element->share.due_ns = to->virtual_ns[to_priority & (TAKT_PRIORITIES - 1)];
	element->group = to_group;
	element->priority = to_priority;
}

/* What its priority's clock shows at now. */
TAKT_FN u64 takt_clock_of(struct takt_order *order, const struct takt_element *element,
			  u64 now_ns)
{
	u64 behind_ns = takt_group(order, element->group)
				->behind_ns[element->priority & (TAKT_PRIORITIES - 1)];

	return now_ns - takt_min(behind_ns, now_ns);
}

/*
 * For how long may a guarantee have to wait, while all that are at least as
 * good can be met? For a frame of each of them; and again, while better ones
 * use up what they are owed, for as long as is made up for at most (lag_max).
 * Most of those it waited for may have nothing to send any more, so the crowd
 * counts, which shrinks by one place for four frames: a third is added, so that
 * the last of it still finds all those who went before.
 */
TAKT_FN_OUT u64 takt_wait_bound(const struct takt_group *group TAKT_ARG, u32 priority,
				u64 lag_max_ns)
{
	u64 better = group->floors.count, bound_ns;
	u32 i;

	priority &= TAKT_PRIORITIES - 1;
	for (i = 0; i < TAKT_PRIORITIES && i < priority; i++)
		better += group->timed[i].count;
	bound_ns = (1 + better + group->crowd[priority] / 3) * group->frame_ns;
	return better ? takt_max(bound_ns, lag_max_ns) : bound_ns;
}

/*
 * By what time does somebody start who begins to wait now? Level with the first
 * of its priority, if that is late.
 */
TAKT_FN u64 takt_start_of(struct takt_order *order, const struct takt_element *element,
			  u64 now_ns)
{
	u64 clock_ns = takt_clock_of(order, element, now_ns), due_ns;
	u32 id;

	id = takt_calendar_first(&takt_group(order, element->group)
					  ->timed[element->priority & (TAKT_PRIORITIES - 1)],
				 &order->shelf, clock_ns, &due_ns);
	if (id)
		clock_ns = takt_min(clock_ns, takt_entry(&order->shelf, id)->due_ns);
	return clock_ns;
}

/* The element has packets and waits nowhere: let it wait where it belongs. */
TAKT_FN_OUT int takt_element_wait(struct takt_order *order TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u32 id, u64 now_ns)
{
	struct takt_element *element = takt_element(order, id);
	const struct takt_class_params *params = takt_params(plan, element, id);
	u32 priority = params->priority & (TAKT_PRIORITIES - 1);
	struct takt_group *group = takt_group(order, params->group);
	u64 behind_ns, clock_ns, ready_ns, timed_ns;

	behind_ns = group->behind_ns[priority];
	clock_ns = now_ns - takt_min(behind_ns, now_ns);
	if (element->group != params->group || element->priority != priority) {
		takt_element_move(order, element, params->group, priority);
		/* It is not for this priority to make up for what that one was late. */
		takt_element_start(element, clock_ns, now_ns, group->virtual_ns[priority]);
	}
	if (element->held) {
		element->waits = TAKT_IN_STATION;
		order->held.by_weight++;
		return 0;
	}
	id &= TAKT_ELEMENTS - 1;
	ready_ns = element->ready_ns - takt_min(behind_ns, element->ready_ns);

	timed_ns = params->ceil_bps ? takt_max(element->pace.due_ns, ready_ns) : ready_ns;
	if (takt_is_held(&order->held, params, element)) {
		takt_hold(&order->held, &order->shelf, id, element, now_ns);
		element->waits |= TAKT_IN_GATE;
		timed_ns = TAKT_TIME_NEVER;
	} else if (!takt_is_paced(params) && timed_ns <= clock_ns) {
		/* It may go: by its guarantee whenever that is due, by its share if not. */
		timed_ns = params->rate_bps ? element->guarantee.due_ns : TAKT_TIME_NEVER;
		/* While its pace held it back it had no claim to what was spare. */
		takt_clock_start(&element->share, group->virtual_ns[priority]);
		takt_enter(order, &group->share[priority], id + TAKT_ENTRY_SHARE,
			   element->share.due_ns, group->virtual_ns[priority]);
		group->share_bits |= 1U << priority;
		element->waits |= TAKT_IN_SHARE;
	}
	if (timed_ns != TAKT_TIME_NEVER) {
		takt_enter(order, &group->timed[priority], id + TAKT_ENTRY_TIMED, timed_ns,
			   clock_ns);
		group->timed_bits |= 1U << priority;
		element->waits |= TAKT_IN_TIMED;
	}
	if (params->floor_bps) {
		u64 floor_ns = takt_max(element->floor.due_ns, element->ready_ns);

		if (params->ceil_bps)
			floor_ns = takt_max(floor_ns, element->pace.due_ns + behind_ns);
		takt_enter(order, &group->floors, id + TAKT_ENTRY_FLOOR, floor_ns, now_ns);
		element->waits |= TAKT_IN_FLOORS;
	}
	if (!(element->waits & TAKT_IN_GATE) && priority == TAKT_BACKGROUND)
		order->held.waiting++;
	if (element->waits & ~TAKT_IN_GATE)
		group->waiting++;
	return 0;
}

/*
 * A paced element has been served, and has more: it waits again. The short way
 * for those that only ever wait among the timed; 0 if this is not one.
 */
TAKT_FN int takt_paced_again(struct takt_order *order, const struct takt_class_params *params,
			     u32 id, u64 now_ns)
{
	struct takt_element *element = takt_element(order, id);
	struct takt_calendar *timed;

	if (element->waits != TAKT_IN_TIMED || !takt_is_paced(params) || params->floor_bps ||
	    element->group != params->group || element->priority != params->priority)
		return 0;
	id &= TAKT_ELEMENTS - 1;
	timed = &takt_group(order, element->group)
			 ->timed[element->priority & (TAKT_PRIORITIES - 1)];
	takt_calendar_remove(timed, &order->shelf, id + TAKT_ENTRY_TIMED);
	takt_enter(order, timed, id + TAKT_ENTRY_TIMED, element->pace.due_ns,
		   takt_clock_of(order, element, now_ns));
	return 1;
}

/* Is it owed something? Its entry among the timed has come due. */
TAKT_FN int takt_is_owed(const struct takt_element *element,
			 const struct takt_class_params *params, u64 clock_ns)
{
	return takt_is_paced(params) ||
	       (params->rate_bps && element->guarantee.due_ns <= clock_ns);
}

/*
 * Whose turn is it to take what is spare? Looks no further ahead than it must,
 * as newcomers start at the virtual time of now. 0: ask again at once, so many
 * had to be placed again.
 */
TAKT_FN u32 takt_share_first(struct takt_order *order, struct takt_group *group, u32 priority,
			     u64 *wake_ns)
{
	u32 id = takt_calendar_first(&group->share[priority], &order->shelf,
				     group->virtual_ns[priority], wake_ns);

	if (!id)
		id = takt_calendar_first(&group->share[priority], &order->shelf,
					 TAKT_TIME_NEVER, wake_ns);
	return id & (TAKT_ELEMENTS - 1);
}

/*
 * Who of the group goes first at now? 0: nobody before pick->wake_ns. Whoever
 * is named by TAKT_BY_NOTHING may go, but is owed nothing: let it wait for its
 * share, and ask again.
 */
TAKT_FN_OUT u32 takt_group_first(struct takt_order *order TAKT_ARG,
				 const struct takt_plan *plan TAKT_ARG, u32 at, u64 now_ns,
				 struct takt_pick *pick TAKT_ARG)
{
	struct takt_group *group = takt_group(order, at);
	u32 priorities = group->timed_bits | group->share_bits, id, i;
	struct takt_element *element;

	pick->wake_ns = TAKT_TIME_NEVER;
	pick->next = 0;
	if (group->floors.count) {
		id = takt_calendar_first(&group->floors, &order->shelf, now_ns, &pick->due_ns);
		if (id)
			pick->due_ns = takt_entry(&order->shelf, id)->due_ns;
		if (id && pick->due_ns <= now_ns) {
			pick->since_ns = pick->due_ns;
			pick->by = TAKT_BY_FLOOR;
			return id & (TAKT_ELEMENTS - 1);
		}
		pick->wake_ns = pick->due_ns;
	}
	for (i = 0; i < TAKT_PRIORITIES && priorities; i++) {
		u32 priority = takt_lowest_bit(priorities) & (TAKT_PRIORITIES - 1);
		u64 behind_ns = group->behind_ns[priority];
		u64 clock_ns = now_ns - takt_min(behind_ns, now_ns);

		priorities &= priorities - 1;
		if (group->timed_bits >> priority & 1) {
			id = takt_calendar_first(&group->timed[priority], &order->shelf,
						 clock_ns, &pick->due_ns);
			if (id)
				pick->due_ns = takt_entry(&order->shelf, id)->due_ns;
			if (id && pick->due_ns <= clock_ns) {
				element = takt_element(order, id);
				pick->due_ns += behind_ns;
				pick->since_ns = element->waits & TAKT_IN_SHARE ?
							 element->pace.due_ns + behind_ns :
							 pick->due_ns;
				pick->by = takt_is_owed(element, takt_params(plan, element, id),
							clock_ns) ?
						   TAKT_BY_GUARANTEE :
						   TAKT_BY_NOTHING;
				return id;
			}
			if (pick->due_ns != TAKT_TIME_NEVER &&
			    pick->due_ns + behind_ns < pick->wake_ns) {
				pick->wake_ns = pick->due_ns + behind_ns;
				pick->next = id;
			}
		}
		if (group->share_bits >> priority & 1) {
			id = takt_share_first(order, group, priority, &pick->due_ns);
			if (!id) {
				pick->wake_ns = now_ns;
				return 0;
			}
			pick->due_ns = takt_element(order, id)->pace.due_ns + behind_ns;
			pick->since_ns = pick->due_ns;
			pick->by = TAKT_BY_SHARE;
			return id;
		}
	}
	return 0;
}

/* A frame that leaves. */
struct takt_frame {
	u64 now_ns;
	u64 free_ns;	/* when the link became free */
	u64 takes_ns;	/* where the group shares */
	u64 since_ns;	/* a tenant had nothing to send before */
	u32 len;
	u32 pad;
};

/* The element goes, with this frame: pay. */
TAKT_FN_OUT int takt_group_served(struct takt_order *order TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u32 id,
				  const struct takt_pick *pick TAKT_ARG,
				  const struct takt_frame *frame TAKT_ARG)
{
	struct takt_element *element = takt_element(order, id);
	const struct takt_class_params *params = takt_params(plan, element, id);
	struct takt_group *group = takt_group(order, element->group);
	u32 priority = element->priority & (TAKT_PRIORITIES - 1), crowd;
	u64 busy_ns = takt_min(frame->now_ns, frame->free_ns), bound_ns;
	u64 lag_max_ns = plan->link.lag_max_ns;
	u64 from_ns = frame->since_ns - takt_min(group->behind_ns[priority], frame->since_ns);

	group->frame_ns -= group->frame_ns / 1024;
	group->frame_ns = takt_max(group->frame_ns, frame->takes_ns);
	crowd = group->crowd[priority];
	group->crowd[priority] = takt_max(crowd ? crowd - 1 : 0, 4 * group->timed[priority].count);
	if (pick->by == TAKT_BY_SHARE)
		group->virtual_ns[priority] = element->share.due_ns;
	if (pick->by == TAKT_BY_GUARANTEE && busy_ns > pick->due_ns) {
		bound_ns = takt_wait_bound(group, priority, lag_max_ns);
		if (busy_ns - pick->due_ns > bound_ns)
			group->behind_ns[priority] += busy_ns - pick->due_ns - bound_ns;
		/* What others made it wait is not forgiven as a timer's lateness is. */
		lag_max_ns += bound_ns;
	}
	takt_element_charge(element, params, lag_max_ns, from_ns,
			    takt_clock_of(order, element, frame->now_ns), frame->now_ns,
			    frame->len, pick->by);
	return 0;
}

#endif
