/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One link: classes with byte clocks, and the order among them.
 *
 * The three questions of every Takt scheduler, answered for packets:
 *   what may go now    a class whose byte clock is due, on a link that is free
 *   what goes first    the best priority, then the earliest due
 *   when to look again the earliest due in the future, or when the link is free
 *
 * Taking the earliest due (and not the first of a list sorted by rate) is what
 * keeps low rates alive when the link is short: nobody waits for ever, because
 * whoever waits becomes the earliest.
 *
 * The link has a clock of its own at its wire rate. A frame's ideal start is
 * the later of "its class was due" and "the link was free"; both clocks count
 * from there, so being served late costs neither of them anything.
 *
 * A packet that finds nobody queued, its class due and the link free takes the
 * express place: it is charged and counted as it arrives, and leaves with the
 * next dequeue, before anything else is looked at. Most packets of a link that
 * is not full go this way.
 *
 * Packets themselves stay outside: here a packet is a number, its place in a
 * plain array, and a class's queue is a chain of such numbers.
 */
#ifndef TAKT_LINK_H
#define TAKT_LINK_H

#include "abi.h"
#include "byteclock.h"
#include "calendar.h"
#include "plan.h"

#define TAKT_PACKETS 65536		/* places 1..65534; 0 is none */
#define TAKT_EXPRESS (TAKT_PACKETS - 1)	/* the place of a packet that need not wait */

/* No two of a kernel's clocks differ by more than this when a timer fires. */
#define TAKT_TIMER_MARGIN_NS 10000

/*
 * Counters of a class. At any time
 *   enqueued = sent + flushed + queued,  offered = enqueued + dropped.
 * A packet in the express place counts as sent.
 */
struct takt_class_stats {
	u64 enqueued_packets, enqueued_bytes;
	u64 sent_packets, sent_bytes;
	u64 dropped_packets, dropped_bytes;	/* its queue, or the link's store, was full */
	u64 flushed_packets, flushed_bytes;	/* discarded when the device went down */
	u64 late_max_ns;			/* worst delay behind the ideal start */
	u64 gso_packets;			/* segmented frames paced as one burst */
};

struct takt_class {
	struct takt_clock clock;
	u32 head, tail;		/* its packets */
	u32 queued_packets;
	u32 priority;		/* of the calendar it waits in */
	u64 queued_bytes;
	struct takt_class_stats stats;
};

struct takt_packet {
	u32 next;
	u32 len;		/* accounted bytes */
};

struct takt_link {
	struct takt_clock clock;
	u32 queued_packets;	/* without the one in the express place */
	u32 express_class;	/* of the packet that took the express place last */
	u32 express_len;
	u32 free_head;		/* places given back */
	u32 fresh;		/* places used at least once */
	u32 priorities;		/* bit per priority with a waiting class */
	/* Whom this state belongs to; the qdisc refuses any other device. */
	u32 ifindex;
	u32 gone;		/* the device was unregistered */
	u32 attached;		/* the qdisc was, at least once */
	u32 pad;
	u64 netns_cookie;
	u64 wake_ns;		/* when the timer looks again; 0: unknown */
	struct takt_entries entries;
	struct takt_class classes[TAKT_CLASSES];
	struct takt_packet packets[TAKT_PACKETS];
	struct takt_calendar calendars[TAKT_PRIORITIES];
};

struct takt_choice {
	u64 wake_ns;		/* packet 0: when to look again, or TIME_NEVER */
	u32 packet;		/* its place, or 0 */
	u32 class_id;
	u32 len;
	u32 armed;		/* the timer is set for wake_ns already */
};

TAKT_FN struct takt_class *takt_class(struct takt_link *link, u32 id)
{
	return &link->classes[id & (TAKT_CLASSES - 1)];
}

TAKT_FN struct takt_packet *takt_packet(struct takt_link *link, u32 place)
{
	return &link->packets[place & (TAKT_PACKETS - 1)];
}

TAKT_FN struct takt_calendar *takt_calendar(struct takt_link *link, u32 priority)
{
	return &link->calendars[priority & (TAKT_PRIORITIES - 1)];
}

TAKT_FN u32 takt_place_take(struct takt_link *link)
{
	u32 place = link->free_head;

	if (place) {
		link->free_head = takt_packet(link, place)->next;
		return place;
	}
	if (link->fresh >= TAKT_EXPRESS - 1)
		return 0;
	return ++link->fresh;
}

TAKT_FN void takt_place_give(struct takt_link *link, u32 place)
{
	takt_packet(link, place)->next = link->free_head;
	link->free_head = place;
}

TAKT_FN void takt_count_arrival(struct takt_class *class, u32 len, u32 frames)
{
	class->stats.enqueued_packets++;
	class->stats.enqueued_bytes += len;
	if (frames > 1)
		class->stats.gso_packets++;
}

TAKT_FN void takt_count_sent(struct takt_class *class, u32 len)
{
	class->stats.sent_packets++;
	class->stats.sent_bytes += len;
}

/* The class has packets and is in no calendar: let it wait for its clock. */
TAKT_FN void takt_class_wait(struct takt_link *link, struct takt_class *class,
			     u32 id, u32 priority, u64 now_ns)
{
	link->wake_ns = 0;
	class->priority = priority & (TAKT_PRIORITIES - 1);
	takt_entry(&link->entries, id)->due_ns = class->clock.due_ns;
	takt_calendar_insert(takt_calendar(link, priority), &link->entries, id, now_ns);
	link->priorities |= 1U << class->priority;
}

TAKT_FN void takt_class_leave(struct takt_link *link, struct takt_class *class, u32 id)
{
	struct takt_calendar *calendar = takt_calendar(link, class->priority);

	takt_calendar_remove(calendar, &link->entries, id);
	if (!calendar->count)
		link->priorities &= ~(1U << (class->priority & (TAKT_PRIORITIES - 1)));
}

/*
 * A packet of `bytes` (as the kernel counts) in `frames` frames arrives for
 * class id; `idle` says that nothing is queued, not even in the express place.
 * Returns the place to keep it in, or 0: drop it.
 */
TAKT_FN u32 takt_link_enqueue(struct takt_link *link, const struct takt_plan *plan,
			      u32 id, u32 bytes, u32 frames, u32 idle, u64 now_ns)
{
	const struct takt_class_params *params = &plan->class_params[id & (TAKT_CLASSES - 1)];
	struct takt_class *class = takt_class(link, id);
	struct takt_packet *packet;
	u32 place, len = bytes + frames * plan->overhead_bytes;

	if (idle && params->queue_packets &&
	    takt_max(class->clock.due_ns, link->clock.due_ns) <= now_ns) {
		takt_clock_start(&class->clock, now_ns);
		takt_clock_advance(&class->clock, params->ceil_bps, len);
		takt_clock_start(&link->clock, now_ns);
		takt_clock_advance(&link->clock, plan->link.rate_bps, len);
		takt_count_arrival(class, len, frames);
		takt_count_sent(class, len);
		link->express_class = id;
		link->express_len = len;
		return TAKT_EXPRESS;
	}

	place = class->queued_packets < params->queue_packets ? takt_place_take(link) : 0;
	if (!place) {
		class->stats.dropped_packets++;
		class->stats.dropped_bytes += len;
		return 0;
	}
	takt_count_arrival(class, len, frames);
	packet = takt_packet(link, place);
	packet->next = 0;
	packet->len = len;
	class->queued_bytes += len;
	link->queued_packets++;
	if (class->queued_packets++) {
		takt_packet(link, class->tail)->next = place;
		class->tail = place;
		return place;
	}
	class->head = class->tail = place;
	takt_clock_start(&class->clock, now_ns);
	takt_class_wait(link, class, id, params->priority, now_ns);
	return place;
}

/* Unchain the class's first packet and give its place back. */
TAKT_FN void takt_class_pop(struct takt_link *link, struct takt_class *class,
			    struct takt_choice *choice)
{
	struct takt_packet *packet = takt_packet(link, class->head);

	choice->packet = class->head;
	choice->len = packet->len;
	class->head = packet->next;
	class->queued_packets--;
	class->queued_bytes -= packet->len;
	link->queued_packets--;
	takt_place_give(link, choice->packet);
}

/*
 * Which class is first, and when may it go? A due class of a better priority
 * hides all others; otherwise the soonest is named. 0: nobody waits, or whoever
 * does is so far ahead that the calendar wants to be asked again at *due_ns.
 */
TAKT_FN u32 takt_link_first(struct takt_link *link, u64 now_ns, u64 *due_ns)
{
	u32 first = 0, priorities = link->priorities, i;

	*due_ns = TAKT_TIME_NEVER;
	for (i = 0; i < TAKT_PRIORITIES && priorities; i++) {
		u32 priority = takt_lowest_bit(priorities), id;
		u64 at_ns;

		priorities &= priorities - 1;
		id = takt_calendar_first(takt_calendar(link, priority), &link->entries,
					 now_ns, &at_ns);
		if (id)
			at_ns = takt_entry(&link->entries, id)->due_ns;
		if (at_ns < *due_ns) {
			*due_ns = at_ns;
			first = id;
		}
		if (at_ns <= now_ns)
			break;
	}
	return first;
}

/* The link is asked for a packet at now; the express place is empty. */
TAKT_FN void takt_link_dequeue(struct takt_link *link, const struct takt_plan *plan,
			       u64 now_ns, struct takt_choice *choice)
{
	const struct takt_class_params *params;
	struct takt_clock_params pace;
	struct takt_class *class;
	u64 due_ns, ideal_ns;
	u32 id;

	choice->packet = 0;
	choice->wake_ns = link->wake_ns;
	/* Asked because a packet joined those who wait: the timer will see to it. */
	choice->armed = now_ns + TAKT_TIMER_MARGIN_NS < link->wake_ns;
	if (choice->armed)
		return;

	choice->wake_ns = TAKT_TIME_NEVER;
	id = takt_link_first(link, now_ns, &due_ns);
	ideal_ns = takt_max(due_ns, link->clock.due_ns);
	if (!id || ideal_ns > now_ns) {
		if (due_ns != TAKT_TIME_NEVER)
			choice->wake_ns = link->wake_ns = ideal_ns;
		return;
	}

	class = takt_class(link, id);
	params = &plan->class_params[id & (TAKT_CLASSES - 1)];
	choice->class_id = id;
	takt_class_leave(link, class, id);
	takt_class_pop(link, class, choice);

	pace.rate_bps = params->ceil_bps;
	pace.lag_max_ns = plan->link.lag_max_ns;
	takt_clock_spend(&class->clock, &pace, 0, now_ns, choice->len);
	takt_clock_spend(&link->clock, &plan->link, ideal_ns, now_ns, choice->len);

	takt_count_sent(class, choice->len);
	if (now_ns - ideal_ns > class->stats.late_max_ns)
		class->stats.late_max_ns = now_ns - ideal_ns;
	if (class->queued_packets)
		takt_class_wait(link, class, id, params->priority, now_ns);
}

/* The packet in the express place was counted as sent, and is discarded. */
TAKT_FN void takt_link_flush_express(struct takt_link *link)
{
	struct takt_class *class = takt_class(link, link->express_class);

	class->stats.sent_packets--;
	class->stats.sent_bytes -= link->express_len;
	class->stats.flushed_packets++;
	class->stats.flushed_bytes += link->express_len;
}

/*
 * The device goes down: give up one packet, whatever the clocks say. Repeat
 * while link->queued_packets.
 */
TAKT_FN void takt_link_flush(struct takt_link *link, struct takt_choice *choice)
{
	struct takt_calendar *calendar =
		takt_calendar(link, takt_lowest_bit(link->priorities));
	u32 id = calendar->head[takt_calendar_scan(calendar) & (TAKT_BUCKETS - 1)];
	struct takt_class *class = takt_class(link, id);

	choice->packet = 0;
	choice->wake_ns = TAKT_TIME_NEVER;
	link->wake_ns = 0;
	if (!id)
		return;
	choice->class_id = id;
	takt_class_pop(link, class, choice);
	class->stats.flushed_packets++;
	class->stats.flushed_bytes += choice->len;
	if (!class->queued_packets)
		takt_class_leave(link, class, id);
}

#endif
