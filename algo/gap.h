/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Gap mode: the link's clock is the number of bytes put on the wire. After
 * paper 004 (PSPacer), section 4 (1).
 *
 * The position is the moment at which everything sent so far has left a wire
 * of the link's rate: link->clock. It takes the place of the time. Who is due
 * after it is preceded by gap frames that take up exactly the bytes missing, so
 * that spacing on the wire is exact to the byte and no timer has a part in it.
 * A gap frame is an 802.3x PAUSE frame with pause time 0, which occupies the
 * wire and which whoever is at its other end throws away.
 *
 *   too near   What is missing is less than half of the shortest frame: the
 *              packet goes at once. If it is less than a whole one, the
 *              shortest frame makes the packet late. Both errors are below half
 *              of the shortest frame and no later packet inherits them, for a
 *              class's clock counts from when it was due, and the position from
 *              what was sent.
 *   too far    The position runs ahead of the time by what the device is to
 *              hold, and no further; then the timer says when to go on.
 *   idle       When nobody waits, no gaps are sent, and the position starts
 *              again at the time.
 *
 * Frames cannot be made here: user space stores templates, one list for each
 * length. Should the right one be missing, the link paces by the timer until
 * there are plenty again.
 *
 * Which lengths? Any exact one that is in stock. If it is not, a coarse one of
 * TAKT_GAP_STEP steps and a fine one together make up every sum, so a stock of
 * TAKT_GAP_STEP fine lengths, a few coarse ones and the longest is never wrong;
 * the exact lengths that were missed are counted, for user space to learn.
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
#define TAKT_GAP_PLACES 8192		/* templates at once; place 0 is none */
#define TAKT_GAP_FLUSH_MAX (TAKT_GAP_LENS + TAKT_GAP_PLACES)

/* So many of the length that was lacking end a fallback, and no fewer. */
#define TAKT_GAP_PLENTY 16

/* What the device is to hold beyond two of the longest frames: how late a timer may be. */
#define TAKT_GAP_LEAD_NS 50000

/* One length of gap frames. */
struct takt_gap_length {
	u16 head;		/* its templates */
	u16 stale;		/* those of a feeder that is gone; they are replaced first */
	u16 stocked;
	u16 epoch;		/* of those that are not stale */
	u32 spent;		/* counts on and wraps, like missed */
	u32 missed;		/* would have been the one to send, and was not there */
};

struct takt_gap {
	/* Written by user space. */
	u32 secret;		/* the mark of templates; nobody else's frames are taken */
	u32 longest;		/* longest gap frame, as the kernel counts it */
	u32 epoch;		/* another with each feeder */
	u32 enough;		/* templates of all lengths that end a fallback; 0: nobody feeds */
	/* Written here. */
	u32 flowing;		/* 0: the timer paces */
	u32 lacking;		/* the length that ended gap mode */
	u32 stocked;		/* templates, of all lengths */
	u32 stale;
	u32 free_head;		/* places given back */
	u32 fresh;		/* places used at least once */
	u32 flushing;		/* the length that is given up next */
	u64 frames, bytes;	/* gap frames sent, in bytes on the wire */
	u64 missed;		/* exact lengths that were not there, made up of two */
	u64 fallbacks;		/* times that the link went over to the timer */
	u64 refused;		/* templates that could not be stored */
	struct takt_clock position;	/* of the wire, when a frame was asked for */
	struct takt_gap_length lengths[TAKT_GAP_LENS];
	u16 next[TAKT_GAP_PLACES];
};

TAKT_FN struct takt_gap_length *takt_gap_length(struct takt_gap *gap, u32 len)
{
	return &gap->lengths[len & (TAKT_GAP_LENS - 1)];
}

/* Does this link's state stand on the wire's position now? */
TAKT_FN int takt_gap_flows(const struct takt_gap *gap, const struct takt_plan *plan)
{
	return plan->pacing == TAKT_PACING_GAP && gap->flowing;
}

/*
 * The first template of a new feeder makes those of the one before it stale:
 * nobody is told when they are spent, so nobody would replace them in time.
 */
TAKT_FN void takt_gap_renew(struct takt_gap *gap, struct takt_gap_length *length)
{
	if (length->epoch == (u16)gap->epoch)
		return;
	length->epoch = gap->epoch;
	if (length->stale)
		return;		/* two feeders ago; those between stay in use */
	length->stale = length->head;
	gap->stale += length->stocked;
	gap->stocked -= length->stocked;
	length->head = 0;
	length->stocked = 0;
}

/*
 * A template of len bytes has come. The place to keep it in, whose stale one, if
 * there is one, it replaces; or 0: drop it.
 */
TAKT_FN u32 takt_gap_store(struct takt_gap *gap, const struct takt_plan *plan, u32 len)
{
	struct takt_gap_length *length = takt_gap_length(gap, len);
	u32 place;

	if (plan->pacing != TAKT_PACING_GAP || len < TAKT_GAP_LEN_MIN || len >= TAKT_GAP_LENS) {
		gap->refused++;
		return 0;
	}
	takt_gap_renew(gap, length);
	place = length->stale & (TAKT_GAP_PLACES - 1);
	if (place) {
		length->stale = gap->next[place];
		gap->stale--;
	} else if (gap->free_head & (TAKT_GAP_PLACES - 1)) {
		place = gap->free_head & (TAKT_GAP_PLACES - 1);
		gap->free_head = gap->next[place];
	} else if (gap->fresh < TAKT_GAP_PLACES - 1) {
		place = ++gap->fresh & (TAKT_GAP_PLACES - 1);
	} else {
		gap->refused++;
		return 0;
	}
	gap->next[place] = length->head;
	length->head = place;
	length->stocked++;
	gap->stocked++;
	return place;
}

/* Take a template of this length out of the stock; its place, or 0. */
TAKT_FN u32 takt_gap_take(struct takt_gap *gap, u32 len)
{
	struct takt_gap_length *length = takt_gap_length(gap, len);
	u32 place = length->head & (TAKT_GAP_PLACES - 1);

	if (!place)
		return 0;
	length->head = gap->next[place];
	length->stocked--;
	gap->stocked--;
	gap->next[place] = gap->free_head;
	gap->free_head = place;
	return place;
}

/*
 * Bytes that a wire of this rate carries from the clock's moment until due_ns,
 * to the nearest; of more than most, only that it is more.
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
 * The length of the next gap frame when so many wire bytes are missing:
 * what remains after it is nothing or at least the shortest frame. The length
 * may not be in stock: then nothing will do. 0: so little is missing that the
 * packet itself should go.
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
 * A packet arrives. Where gaps are sent, the time is the wire's position, from
 * which its class's clock starts: *now_ns becomes that. Returns whether it may
 * take the express place: `idle` says that nothing at all is queued.
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
	*now_ns = link->clock.due_ns;
	return idle;
}

/* There are plenty of templates: let the position take the place of the time. */
TAKT_FN void takt_gap_begin(struct takt_link *link, struct takt_gap *gap, u64 now_ns)
{
	u32 lacking = gap->lacking ? gap->lacking : gap->longest;

	if (!gap->enough || gap->stocked < gap->enough ||
	    takt_gap_length(gap, lacking)->stocked < TAKT_GAP_PLENTY)
		return;
	gap->flowing = 1;
	gap->lacking = 0;
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

/*
 * The time that so many wire bytes take, to the next lower nanosecond. The
 * frames here are far too short for it to overflow.
 */
TAKT_FN u64 takt_gap_wire_ns(u64 rate_bps, u64 bytes)
{
	return rate_bps ? bytes * TAKT_NS_PER_BYTE_AT_1BPS / rate_bps : 0;
}

/*
 * Until when may be sent now? The wire's position, if the link's pacing is
 * TAKT_PACING_GAP and there are frames to fill gaps with; TIME_NEVER: it is so
 * far ahead of now that the device has to be given time, see choice->wake_ns.
 */
TAKT_FN_OUT u64 takt_gap_position(struct takt_link *link TAKT_ARG, struct takt_gap *gap TAKT_ARG,
				  const struct takt_plan *plan TAKT_ARG, u64 now_ns,
				  struct takt_choice *choice TAKT_ARG)
{
	u64 rate_bps = plan->link.rate_bps, lag_max_ns = plan->link.lag_max_ns, lead_ns;
	u64 longest = (u64)gap->longest + plan->overhead_bytes;
	u64 shortest = TAKT_GAP_LEN_MIN + plan->overhead_bytes;

	if (!gap->flowing)
		takt_gap_begin(link, gap, now_ns);
	if (!gap->flowing)
		return now_ns;
	takt_clock_start(&link->clock, now_ns > lag_max_ns ? now_ns - lag_max_ns : 0);
	gap->position = link->clock;
	lead_ns = takt_gap_wire_ns(rate_bps, 2 * longest) + TAKT_GAP_LEAD_NS;
	if (link->clock.due_ns > now_ns + lead_ns) {
		choice->packet = 0;
		choice->armed = 0;
		choice->wake_ns = link->clock.due_ns - lead_ns / 2;
		return TAKT_TIME_NEVER;
	}
	/* Whoever is due within half of the shortest frame goes now. */
	return link->clock.due_ns + takt_gap_wire_ns(rate_bps, shortest) / 2;
}

/* The link has chosen, or nobody is due at the wire's position: fill the gap. */
TAKT_FN_OUT int takt_gap_fill(struct takt_link *link TAKT_ARG, struct takt_gap *gap TAKT_ARG,
			      const struct takt_plan *plan TAKT_ARG,
			      struct takt_choice *choice TAKT_ARG)
{
	u64 longest = (u64)gap->longest + plan->overhead_bytes;
	u64 shortest = TAKT_GAP_LEN_MIN + plan->overhead_bytes;
	u64 rate_bps = plan->link.rate_bps;
	u32 len, place;

	choice->armed = 0;
	if (choice->packet) {
		/* The class counts from when it was due, the position from what is sent. */
		link->clock = gap->position;
		takt_clock_advance(&link->clock, rate_bps, choice->len);
		return 0;
	}
	if (link->plan_hand < TAKT_ELEMENTS)
		link->wake_ns = 0;	/* its plan is still coming: every gap is a look */
	if (choice->wake_ns == TAKT_TIME_NEVER || link->polls)
		return 0;
	len = takt_gap_choose(gap, plan->overhead_bytes,
			      takt_gap_missing(&gap->position, rate_bps, choice->wake_ns,
					       longest + shortest));
	if (!len)
		len = TAKT_GAP_LEN_MIN;	/* rounding; the packet is not due yet */
	place = takt_gap_take(gap, len);
	if (!place) {
		takt_gap_end(link, gap, len);
		return 0;
	}
	takt_gap_length(gap, len)->spent++;
	choice->packet = TAKT_PACKETS + place;
	choice->len = len + plan->overhead_bytes;
	gap->frames++;
	gap->bytes += choice->len;
	takt_clock_advance(&link->clock, rate_bps, choice->len);
	return 0;
}

/*
 * The link is asked for a frame at now, whatever its pacing is; the express place
 * is empty. A place of TAKT_PACKETS and above is that of a gap frame.
 */
TAKT_FN void takt_gap_dequeue(struct takt_link *link, struct takt_gap *gap,
			      const struct takt_plan *plan, u64 now_ns,
			      struct takt_choice *choice)
{
	if (plan->pacing == TAKT_PACING_GAP)
		now_ns = takt_gap_position(link, gap, plan, now_ns, choice);
	if (now_ns == TAKT_TIME_NEVER)
		return;
	takt_link_pop(link, plan, now_ns, choice);
	if (takt_gap_flows(gap, plan))
		takt_gap_fill(link, gap, plan, choice);
}

/*
 * The device goes down: give up one template; its place, or 0 if the next call
 * finds one. Repeat while gap->stocked or
 * gap->stale, at most TAKT_GAP_FLUSH_MAX times.
 */
TAKT_FN u32 takt_gap_flush(struct takt_gap *gap)
{
	struct takt_gap_length *length = takt_gap_length(gap, gap->flushing);
	u32 place = takt_gap_take(gap, gap->flushing);

	gap->flowing = 0;
	if (place)
		return place;
	place = length->stale & (TAKT_GAP_PLACES - 1);
	if (!place) {
		gap->flushing++;
		return 0;
	}
	length->stale = gap->next[place];
	gap->stale--;
	gap->next[place] = gap->free_head;
	gap->free_head = place;
	return place;
}

#endif
