/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Gap mode: the link's clock is the number of bytes put on the wire. After PSPacer, section 4
 * (1).
 *
 * The position is the time at which everything sent so far has left a wire of the link's rate:
 * link->clock. It replaces the time. A packet due after it is preceded by gap frames that take up
 * exactly the missing bytes, so spacing on the wire is exact to the byte and depends on no timer.
 * A gap frame is an 802.3x PAUSE frame with pause time 0: it occupies the wire, and the device at
 * the other end discards it.
 *
 *   too near   Less than half of the shortest frame is missing: the packet goes
 *              at once. If less than a whole one is missing, the shortest frame
 *              makes the packet late. Both errors are below half of the shortest
 *              frame and do not accumulate: a class's clock counts from when it
 *              was due, and the position from what was sent.
 *   too far    The position runs ahead of the time by what the device is to
 *              hold, and no further; then the timer says when to go on.
 *   idle       Without a backlog no gaps are sent, and the position starts
 *              again at the time.
 *   behind     The position stays behind the time by more than the link may lag:
 *              the processor cannot fill the wire, or the device stopped. The timer
 *              paces for a second, and no rate is lost.
 *
 * Filling the whole wire costs a processor more than the packets do. With TAKT_PACING_TIMER_GAP the
 * timer is set a little earlier than a packet is due, by how late it was lately, and gap frames
 * fill only the rest: spacing is as exact as the clock is read, and no longer as the timer is.
 *
 * Frames cannot be made here: the helper in user space stores templates, one list for each
 * length. If the right one is missing, the link paces by the timer until there are enough again.
 *
 * Which lengths? Any exact one that is in stock. If it is not, a coarse one (a multiple of
 * TAKT_GAP_STEP) and a fine one together make up every sum, so a stock of TAKT_GAP_STEP fine
 * lengths, a few coarse ones and the longest always suffices. Exact lengths that were missing are
 * counted, and the helper stocks them.
 */
#ifndef TAKT_GAP_H
#define TAKT_GAP_H

#include "abi.h"
#include "byteclock.h"
#include "link.h"
#include "plan.h"

#define TAKT_GAP_ETHERTYPE 0x8808
#define TAKT_GAP_LEN_MIN 60		/* Ethernet's shortest frame, without its check sequence */
#define TAKT_GAP_LENS 16384		/* lengths are below this */
#define TAKT_GAP_STEP 128		/* fine lengths: LEN_MIN .. LEN_MIN + STEP - 1 */
/* Two shortest frames must not be longer than the longest fine one. */
#define TAKT_GAP_OVERHEAD_MAX (TAKT_GAP_STEP - TAKT_GAP_LEN_MIN)
/* The longest frame must leave room for all fine lengths. */
#define TAKT_GAP_LONGEST_MIN (TAKT_GAP_LEN_MIN + TAKT_GAP_STEP)
#define TAKT_GAP_SLOTS 8192		/* templates at once; slot 0 is none */
#define TAKT_GAP_FLUSH_MAX (TAKT_GAP_LENS + TAKT_GAP_SLOTS)

/* A fallback ends when this many of the missing length are in stock. */
#define TAKT_GAP_PLENTY 16

/* What the device is to hold beyond two of the longest frames: how late a timer may be. */
#define TAKT_GAP_LEAD_NS 50000

/* After the processor fell behind, the timer paces for so long. */
#define TAKT_GAP_HOLD_OFF_NS 1000000000ULL

/* The timer is this much earlier than it was late lately. */
#define TAKT_GAP_EARLY_NS 5000
/* A late timer is forgotten by this part at each timer that was less late. */
#define TAKT_GAP_FORGETS 16

/* One length of gap frames. */
struct takt_gap_length {
	u16 head;		/* its templates */
	u16 stale;		/* those of a helper that ended; they are replaced first */
	u16 stocked;
	u16 helper;		/* the number of the helper of those that are not stale */
	u32 spent;		/* counts on and wraps, like missed */
	u32 missed;		/* would have been sent, and was not in stock */
};

struct takt_gap {
	/* Written by user space. */
	u32 secret;		/* the mark of templates; other frames are refused */
	u32 longest;		/* longest gap frame, as the kernel counts it */
	u32 helper;		/* its number: grows with each helper */
	u32 enough;		/* templates of all lengths that end a fallback; 0: no helper */
	/* Written here. */
	u32 flowing;		/* 0: the timer paces */
	u32 lacking;		/* the missing length that ended gap mode */
	u32 stocked;		/* templates, of all lengths */
	u32 stale;
	u32 free_head;		/* free slots */
	u32 fresh;		/* slots used at least once */
	u32 flushing;		/* the length that is flushed next */
	u32 pauses;		/* the wire is left idle: the position starts again at the time */
	u32 late_ns;		/* how late the timer was lately */
	u32 pad;
	u64 wakes_ns;		/* what it was set for; 0: no timer that is measured */
	u64 resumes_ns;		/* until then the timer paces, as the processor fell behind */
	u64 behind;		/* fallbacks for that reason */
	u64 frames, bytes;	/* gap frames sent, in bytes on the wire */
	u64 missed;		/* exact lengths that were not in stock, made up of two frames */
	u64 fallbacks;		/* changes from gap mode to the timer */
	u64 refused;		/* templates that could not be stored */
	struct takt_clock position;	/* of the wire, when a frame was asked for */
	struct takt_gap_length lengths[TAKT_GAP_LENS];
	u16 next[TAKT_GAP_SLOTS];
};

TAKT_FN struct takt_gap_length *takt_gap_length(struct takt_gap *gap, u32 len)
{
	return &gap->lengths[len & (TAKT_GAP_LENS - 1)];
}

/* Does the link's clock follow the wire's position now? */
TAKT_FN int takt_gap_flows(const struct takt_gap *gap, const struct takt_plan *plan)
{
	return takt_fills_gaps(plan) && gap->flowing;
}

/*
 * The first template of a new helper makes the previous helper's stale: that helper no longer
 * learns when they are spent, so it would not replace them.
 */
TAKT_FN void takt_gap_renew(struct takt_gap *gap, struct takt_gap_length *length)
{
	if (length->helper == (u16)gap->helper)
		return;
	length->helper = gap->helper;
	if (length->stale)
		return;		/* two helpers ago; those between stay in use */
	length->stale = length->head;
	gap->stale += length->stocked;
	gap->stocked -= length->stocked;
	length->head = 0;
	length->stocked = 0;
}

/*
 * A template of len bytes has come. Returns the slot to keep it in, or 0: drop it. It replaces a
 * stale template of its length if there is one.
 */
TAKT_FN u32 takt_gap_store(struct takt_gap *gap, const struct takt_plan *plan, u32 len)
{
	struct takt_gap_length *length = takt_gap_length(gap, len);
	u32 slot;

	if (!takt_fills_gaps(plan) || len < TAKT_GAP_LEN_MIN || len >= TAKT_GAP_LENS) {
		gap->refused++;
		return 0;
	}
	takt_gap_renew(gap, length);
	slot = length->stale & (TAKT_GAP_SLOTS - 1);
	if (slot) {
		length->stale = gap->next[slot];
		gap->stale--;
	} else if (gap->free_head & (TAKT_GAP_SLOTS - 1)) {
		slot = gap->free_head & (TAKT_GAP_SLOTS - 1);
		gap->free_head = gap->next[slot];
	} else if (gap->fresh < TAKT_GAP_SLOTS - 1) {
		slot = ++gap->fresh & (TAKT_GAP_SLOTS - 1);
	} else {
		gap->refused++;
		return 0;
	}
	gap->next[slot] = length->head;
	length->head = slot;
	length->stocked++;
	gap->stocked++;
	return slot;
}

/* Take a template of this length out of the stock; its slot, or 0. */
TAKT_FN u32 takt_gap_take(struct takt_gap *gap, u32 len)
{
	struct takt_gap_length *length = takt_gap_length(gap, len);
	u32 slot = length->head & (TAKT_GAP_SLOTS - 1);

	if (!slot)
		return 0;
	length->head = gap->next[slot];
	length->stocked--;
	gap->stocked--;
	gap->next[slot] = gap->free_head;
	gap->free_head = slot;
	return slot;
}

/*
 * Bytes that a wire of this rate carries from the clock's time until due_ns, to the nearest.
 * Beyond `most`, any larger value.
 */
TAKT_FN u64 takt_gap_missing(const struct takt_clock *clock, u64 rate_bps, u64 due_ns, u64 most)
{
	u64 bits_ns = most * TAKT_NS_PER_BYTE_AT_1BPS, missing_ns, rem;

	if (due_ns <= clock->due_ns)
		return 0;
	missing_ns = due_ns - clock->due_ns;
	if (!rate_bps || missing_ns > bits_ns / rate_bps)
		return most + 1;
	bits_ns = missing_ns * rate_bps;
	rem = takt_min(clock->rem, bits_ns);
	return (bits_ns - rem + TAKT_NS_PER_BYTE_AT_1BPS / 2) / TAKT_NS_PER_BYTE_AT_1BPS;
}

/*
 * The length of the next gap frame when this many wire bytes are missing: what remains after it
 * is nothing or at least the shortest frame. If that length is not in stock, no other will do. 0:
 * so little is missing that the packet itself goes.
 */
TAKT_FN u32 takt_gap_choose(struct takt_gap *gap, u32 overhead_bytes, u64 missing)
{
	u64 shortest = TAKT_GAP_LEN_MIN + overhead_bytes;
	u64 longest = (u64)gap->longest + overhead_bytes;
	struct takt_gap_length *length;
	u64 exact;

	if (2 * missing < shortest)
		return 0;
	if (missing <= shortest)
		return TAKT_GAP_LEN_MIN;
	if (missing == longest || missing >= longest + shortest)
		return gap->longest;
	if (missing < longest) {
		exact = missing - overhead_bytes;
		length = takt_gap_length(gap, exact);
		if (length->head)
			return exact;
		length->missed++;
		gap->missed++;
		if (missing < shortest + TAKT_GAP_STEP)
			return exact;
	}
	return TAKT_GAP_LEN_MIN +
	       (u32)(missing - 2 * shortest) / TAKT_GAP_STEP * TAKT_GAP_STEP;
}

/*
 * A packet arrives. In gap mode the time is the wire's position, from which its class's clock
 * starts: *now_ns becomes that. Returns whether it may take the fast path. `idle`: nothing at all
 * is queued.
 */
TAKT_FN u32 takt_gap_arrival(struct takt_link *link, const struct takt_gap *gap,
			     const struct takt_plan *plan, u32 idle, u64 *now_ns)
{
	if (!takt_gap_flows(gap, plan))
		return idle;
	if (idle) {
		takt_clock_start(&link->clock, *now_ns);
		idle = link->clock.due_ns <= *now_ns;
	}
	*now_ns = gap->pauses ? takt_max(*now_ns, link->clock.due_ns) : link->clock.due_ns;
	return idle;
}

/* If there are enough templates, the position replaces the time. */
TAKT_FN void takt_gap_start(struct takt_link *link, struct takt_gap *gap, u64 now_ns)
{
	u32 lacking = gap->lacking ? gap->lacking : gap->longest;

	if (!gap->enough || gap->stocked < gap->enough || now_ns < gap->resumes_ns ||
	    takt_gap_length(gap, lacking)->stocked < TAKT_GAP_PLENTY)
		return;
	gap->flowing = 1;
	gap->lacking = 0;
	gap->pauses = 0;
	gap->wakes_ns = 0;
	gap->late_ns = TAKT_GAP_LEAD_NS;
	link->wake_ns = 0;
	takt_clock_start(&link->clock, now_ns);
}

TAKT_FN void takt_gap_end(struct takt_link *link, struct takt_gap *gap, u32 lacking)
{
	gap->flowing = 0;
	gap->lacking = lacking;
	gap->fallbacks++;
	link->wake_ns = 0;
}

/* The processor cannot fill the wire: what it does not reach would be taken from the classes. */
TAKT_FN void takt_gap_fell_behind(struct takt_link *link, struct takt_gap *gap, u64 now_ns)
{
	takt_gap_end(link, gap, 0);
	gap->behind++;
	gap->resumes_ns = now_ns + TAKT_GAP_HOLD_OFF_NS;
	takt_clock_start(&link->clock, now_ns);
}

/* The timer was set for a time before a packet is due: how late did it come? */
TAKT_FN void takt_gap_note_wake(struct takt_gap *gap, u64 now_ns)
{
	u32 late_ns;

	if (!gap->wakes_ns || now_ns < gap->wakes_ns)
		return;
	late_ns = (u32)takt_min(now_ns - gap->wakes_ns, TAKT_GAP_LEAD_NS);
	if (late_ns > gap->late_ns)
		gap->late_ns = late_ns;
	else
		gap->late_ns -= (gap->late_ns - late_ns) / TAKT_GAP_FORGETS;
	gap->wakes_ns = 0;
}

/*
 * The time that this many wire bytes take, rounded down to a nanosecond. The frames here are too
 * short for it to overflow.
 */
TAKT_FN u64 takt_gap_wire_ns(u64 rate_bps, u64 bytes)
{
	return rate_bps ? bytes * TAKT_NS_PER_BYTE_AT_1BPS / rate_bps : 0;
}

/*
 * The time up to which packets may be sent: the wire's position, if the link's pacing is
 * TAKT_PACING_GAP and there are frames to fill gaps with. TIME_NEVER: the position is so far
 * ahead of now that the device has to catch up, see choice->wake_ns.
 */
TAKT_FN_OUT u64 takt_gap_position(struct takt_link *link TAKT_ARG, struct takt_gap *gap TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u64 now_ns,
				  struct takt_choice *choice TAKT_ARG)
{
	u64 rate_bps = plan->link.rate_bps, lag_max_ns = plan->link.lag_max_ns, lead_ns;
	u64 longest = (u64)gap->longest + plan->framing.overhead_bytes;
	u64 shortest = TAKT_GAP_LEN_MIN + plan->framing.overhead_bytes;

	if (!gap->flowing)
		takt_gap_start(link, gap, now_ns);
	if (!gap->flowing)
		return now_ns;
	takt_gap_note_wake(gap, now_ns);
	if (gap->pauses) {
		takt_clock_start(&link->clock, now_ns);
	} else if (link->clock.due_ns + lag_max_ns < now_ns) {
		takt_gap_fell_behind(link, gap, now_ns);
		return now_ns;
	}
	gap->pauses = 0;
	gap->position = link->clock;
	lead_ns = takt_gap_wire_ns(rate_bps, 2 * longest) + TAKT_GAP_LEAD_NS;
	if (link->clock.due_ns > now_ns + lead_ns) {
		choice->packet = 0;
		choice->armed = 0;
		choice->drops = 0;
		choice->wake_ns = link->clock.due_ns - lead_ns / 2;
		return TAKT_TIME_NEVER;
	}
	/* A packet due within half of the shortest frame goes now. */
	return link->clock.due_ns + takt_gap_wire_ns(rate_bps, shortest) / 2;
}

/*
 * When the timer is to come for a packet that is due then; 0: so little is missing that gap frames
 * cost less. Not while a plan migrates, which goes on with every gap.
 */
TAKT_FN u64 takt_gap_wakes_ns(const struct takt_link *link, struct takt_gap *gap,
			      const struct takt_plan *plan, u64 due_ns)
{
	u64 shortest = TAKT_GAP_LEN_MIN + plan->framing.overhead_bytes;
	u64 longest = (u64)gap->longest + plan->framing.overhead_bytes;
	u64 early_ns = TAKT_GAP_EARLY_NS + takt_gap_wire_ns(plan->link.rate_bps, shortest);
	u64 saves_ns = takt_gap_wire_ns(plan->link.rate_bps, longest);

	/* A timer costs as much as a frame. */
	if (plan->pacing != TAKT_PACING_TIMER_GAP || link->plan_hand < TAKT_ENTITIES ||
	    due_ns < link->clock.due_ns + early_ns + saves_ns)
		return 0;
	early_ns += gap->late_ns;
	if (due_ns < link->clock.due_ns + early_ns + saves_ns) {
		/* What was learned long ago must not keep the timer out. */
		gap->late_ns -= gap->late_ns / TAKT_GAP_FORGETS;
		return 0;
	}
	return due_ns - early_ns;
}

/* Charge the chosen packet, or, if none is due at the wire's position, fill the gap. */
TAKT_FN_OUT int takt_gap_fill(struct takt_link *link TAKT_ARG, struct takt_gap *gap TAKT_ARG,
			      const struct takt_plan *plan TAKT_ARG,
			      struct takt_choice *choice TAKT_ARG)
{
	u64 longest = (u64)gap->longest + plan->framing.overhead_bytes;
	u64 shortest = TAKT_GAP_LEN_MIN + plan->framing.overhead_bytes;
	u64 rate_bps = plan->link.rate_bps, wakes_ns;
	u32 len, slot;

	choice->armed = 0;
	if (choice->packet) {
		/* The class counts from when it was due, the position from what is sent. */
		link->clock = gap->position;
		takt_clock_advance(&link->clock, rate_bps, choice->len);
		return 0;
	}
	if (link->plan_hand < TAKT_ENTITIES)
		link->wake_ns = 0;	/* migration goes on with every gap */
	if (choice->wake_ns == TAKT_TIME_NEVER || link->polls) {
		gap->pauses = 1;
		return 0;
	}
	wakes_ns = takt_gap_wakes_ns(link, gap, plan, choice->wake_ns);
	if (wakes_ns) {
		gap->pauses = 1;
		link->next_id = 0;	/* it is not due then */
		choice->wake_ns = link->wake_ns = gap->wakes_ns = wakes_ns;
		return 0;
	}
	len = takt_gap_choose(gap, plan->framing.overhead_bytes,
			      takt_gap_missing(&gap->position, rate_bps, choice->wake_ns,
					       longest + shortest));
	if (!len)
		len = TAKT_GAP_LEN_MIN;	/* rounding; the packet is not due yet */
	slot = takt_gap_take(gap, len);
	if (!slot) {
		takt_gap_end(link, gap, len);
		return 0;
	}
	takt_gap_length(gap, len)->spent++;
	choice->packet = TAKT_PACKETS + slot;
	choice->len = len + plan->framing.overhead_bytes;
	gap->frames++;
	gap->bytes += choice->len;
	takt_clock_advance(&link->clock, rate_bps, choice->len);
	return 0;
}

/*
 * The link is asked for a frame at now, in any pacing mode; the fast path is empty. A packet slot
 * of TAKT_PACKETS and above is a gap frame's.
 */
TAKT_FN void takt_gap_dequeue(struct takt_link *link, struct takt_gap *gap,
			      const struct takt_plan *plan, u64 now_ns,
			      struct takt_choice *choice)
{
	if (takt_fills_gaps(plan))
		now_ns = takt_gap_position(link, gap, plan, now_ns, choice);
	if (now_ns == TAKT_TIME_NEVER)
		return;
	takt_link_pop(link, plan, now_ns, choice);
	if (!choice->drops && takt_gap_flows(gap, plan))
		takt_gap_fill(link, gap, plan, choice);
}

/*
 * The device goes down: remove one template; its slot, or 0 if the next call finds one. Repeat
 * while gap->stocked or gap->stale, at most TAKT_GAP_FLUSH_MAX times.
 */
TAKT_FN u32 takt_gap_flush(struct takt_gap *gap)
{
	struct takt_gap_length *length = takt_gap_length(gap, gap->flushing);
	u32 slot = takt_gap_take(gap, gap->flushing);

	gap->flowing = 0;
	if (slot)
		return slot;
	slot = length->stale & (TAKT_GAP_SLOTS - 1);
	if (!slot) {
		gap->flushing++;
		return 0;
	}
	length->stale = gap->next[slot];
	gap->stale--;
	gap->next[slot] = gap->free_head;
	gap->free_head = slot;
	return slot;
}

#endif
