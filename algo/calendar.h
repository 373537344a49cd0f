/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calendar: which of thousands of entries is due first?
 *
 * A ring of buckets, each 2^shift ns wide, with a bit per occupied bucket and a bit per 64 such
 * bits: the first entry is found with a few find-first-set steps, however many there are. Entries
 * of one bucket are kept in due order, so the answer is the earliest entry and not merely a
 * bucket. (Find-first-set queues: Eiffel, NSDI '19. Its buckets are unordered; pacing to the
 * nanosecond needs the order.)
 *
 *   insert   O(1): a bucket is searched from its end, at most TAKT_SCAN_MAX
 *            steps. With more than that many entries due later within the same
 *            bucket, an entry lands too far back by part of that bucket.
 *   first    O(1).
 *   far      Due beyond the ring's horizon: stays in the last bucket and is
 *            inserted again when the ring gets there.
 *   front    The first entry, once it is known, is beside the ring. While it is served and due
 *            again before all others, as the only entry always is, the ring is not touched.
 *
 * "Time" is whatever its entries are due in: nanoseconds of a clock, or the virtual time of a
 * share. A link has many calendars. They share one array of entries and one array of buckets, the
 * shelf.
 *
 * An entry is an index into the array; index 0 means none.
 *
 * Invariant: every entry but the front is in a bucket of [base, base + buckets). An inserted entry
 * is never due before the time of the last look-up (a clock only advances), so base only advances
 * too.
 */
#ifndef TAKT_CALENDAR_H
#define TAKT_CALENDAR_H

#include "abi.h"

#define TAKT_ENTRIES 65536
#define TAKT_SHELF_BUCKETS 524288
#define TAKT_SHELF_WORDS (TAKT_SHELF_BUCKETS / 64)
#define TAKT_CALENDAR_BUCKETS_MAX 16384
#define TAKT_SUMMARIES (TAKT_CALENDAR_BUCKETS_MAX / 64 / 64)
#define TAKT_SCAN_MAX 32
#define TAKT_REINSERT_MAX 64

struct takt_entry {
	u64 due_ns;
	u16 next, prev;	/* within its bucket */
	u16 slot;	/* the bucket it is in, modulo the ring */
	u16 pad;
};

struct takt_shelf {
	struct takt_entry entry[TAKT_ENTRIES];
	u64 word[TAKT_SHELF_WORDS];
	u16 head[TAKT_SHELF_BUCKETS];
	u16 tail[TAKT_SHELF_BUCKETS];
};

struct takt_calendar {
	u64 base;	/* bucket number that the ring starts at */
	u64 summary[TAKT_SUMMARIES];
	u32 count;	/* entries, the front included */
	u32 first;	/* index of its first bucket on the shelf; a multiple of 64 */
	u32 mask;	/* buckets - 1; a power of two from 64 to BUCKETS_MAX, less one */
	u32 shift;
	u32 front;	/* the first entry; 0: not known, or there is none */
	u32 ringed;	/* entries in the ring */
};

/* Position of the lowest set bit; x is not 0. BPF has no such instruction. */
TAKT_FN u32 takt_lowest_bit(u64 x)
{
	static const u8 position[64] = {
		0,  1,  48, 2,  57, 49, 28, 3,  61, 58, 50, 42, 38, 29, 17, 4,
		62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
		63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
		46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6,
	};

	return position[((x & -x) * 0x03f79d71b4cb0a89ULL) >> 58];
}

TAKT_FN struct takt_entry *takt_entry(struct takt_shelf *shelf, u32 id)
{
	return &shelf->entry[id & (TAKT_ENTRIES - 1)];
}

TAKT_FN u16 *takt_bucket_head(struct takt_shelf *shelf,
			      const struct takt_calendar *calendar, u32 slot)
{
	return &shelf->head[(calendar->first + slot) & (TAKT_SHELF_BUCKETS - 1)];
}

TAKT_FN u16 *takt_bucket_tail(struct takt_shelf *shelf,
			      const struct takt_calendar *calendar, u32 slot)
{
	return &shelf->tail[(calendar->first + slot) & (TAKT_SHELF_BUCKETS - 1)];
}

TAKT_FN u64 *takt_bucket_word(struct takt_shelf *shelf,
			      const struct takt_calendar *calendar, u32 word)
{
	return &shelf->word[(calendar->first / 64 + word) & (TAKT_SHELF_WORDS - 1)];
}

TAKT_FN void takt_calendar_mark(struct takt_calendar *calendar, struct takt_shelf *shelf,
				u32 slot)
{
	u32 word = slot / 64;

	*takt_bucket_word(shelf, calendar, word) |= 1ULL << (slot % 64);
	calendar->summary[word / 64 & (TAKT_SUMMARIES - 1)] |= 1ULL << (word % 64);
}

TAKT_FN void takt_calendar_unmark(struct takt_calendar *calendar, struct takt_shelf *shelf,
				  u32 slot)
{
	u32 word = slot / 64;
	u64 *bits = takt_bucket_word(shelf, calendar, word);

	*bits &= ~(1ULL << (slot % 64));
	if (!*bits)
		calendar->summary[word / 64 & (TAKT_SUMMARIES - 1)] &= ~(1ULL << (word % 64));
}

/* Insert the entry into the ring, by its due_ns. If it goes before all others there, at once. */
TAKT_FN_OUT int takt_calendar_place(struct takt_calendar *calendar TAKT_ARG,
				    struct takt_shelf *shelf TAKT_ARG,
				    u32 id, u64 now_ns, u32 is_first)
{
	struct takt_entry *entry = takt_entry(shelf, id), *behind;
	u32 shift = calendar->shift & 63, mask = calendar->mask;
	u64 bucket = entry->due_ns >> shift;
	u32 slot, after, i;

	if (!calendar->ringed)
		calendar->base = takt_min(bucket, now_ns >> shift);
	if (bucket < calendar->base)
		bucket = calendar->base;
	if (bucket - calendar->base > mask)
		bucket = calendar->base + mask;
	slot = bucket & mask;

	after = is_first ? 0 : *takt_bucket_tail(shelf, calendar, slot);
	for (i = 0; i < TAKT_SCAN_MAX && after; i++) {
		behind = takt_entry(shelf, after);
		if (behind->due_ns <= entry->due_ns)
			break;
		after = behind->prev;
	}

	entry->slot = slot;
	entry->prev = after;
	if (after) {
		behind = takt_entry(shelf, after);
		entry->next = behind->next;
		behind->next = id;
	} else {
		entry->next = *takt_bucket_head(shelf, calendar, slot);
		*takt_bucket_head(shelf, calendar, slot) = id;
		takt_calendar_mark(calendar, shelf, slot);
	}
	if (entry->next)
		takt_entry(shelf, entry->next)->prev = id;
	else
		*takt_bucket_tail(shelf, calendar, slot) = id;
	calendar->ringed++;
	return 0;
}

/* Insert the entry by its due_ns. It must not be in a calendar. */
TAKT_FN void takt_calendar_insert(struct takt_calendar *calendar, struct takt_shelf *shelf,
				  u32 id, u64 now_ns)
{
	u32 front = calendar->front;

	id &= TAKT_ENTRIES - 1;
	if (!calendar->count) {
		calendar->front = id;
	} else if (front && takt_entry(shelf, id)->due_ns < takt_entry(shelf, front)->due_ns) {
		calendar->front = id;
		takt_calendar_place(calendar, shelf, front, now_ns, 1);
	} else {
		takt_calendar_place(calendar, shelf, id, now_ns, 0);
	}
	calendar->count++;
}

/* Take the entry out of the ring. */
TAKT_FN_OUT int takt_calendar_unlink(struct takt_calendar *calendar TAKT_ARG,
				     struct takt_shelf *shelf TAKT_ARG, u32 id)
{
	struct takt_entry *entry = takt_entry(shelf, id);
	u32 slot = entry->slot;

	if (entry->prev)
		takt_entry(shelf, entry->prev)->next = entry->next;
	else
		*takt_bucket_head(shelf, calendar, slot) = entry->next;
	if (entry->next)
		takt_entry(shelf, entry->next)->prev = entry->prev;
	else
		*takt_bucket_tail(shelf, calendar, slot) = entry->prev;
	if (!*takt_bucket_head(shelf, calendar, slot))
		takt_calendar_unmark(calendar, shelf, slot);
	calendar->ringed--;
	return 0;
}

/* Remove an entry of the calendar. */
TAKT_FN void takt_calendar_remove(struct takt_calendar *calendar, struct takt_shelf *shelf, u32 id)
{
	if (calendar->front == id)
		calendar->front = 0;
	else
		takt_calendar_unlink(calendar, shelf, id);
	calendar->count--;
}

/*
 * Take the first entry of this bucket out of the ring. Not as above, which would look for its place
 * again.
 */
TAKT_FN void takt_calendar_unlink_first(struct takt_calendar *calendar, struct takt_shelf *shelf,
					u32 slot, u32 id)
{
	u32 next = takt_entry(shelf, id)->next;

	*takt_bucket_head(shelf, calendar, slot) = next;
	if (next) {
		takt_entry(shelf, next)->prev = 0;
	} else {
		*takt_bucket_tail(shelf, calendar, slot) = 0;
		takt_calendar_unmark(calendar, shelf, slot);
	}
	calendar->ringed--;
}

/* The first occupied slot behind this word, in one turn; else `start`. */
TAKT_FN_OUT u32 takt_calendar_scan(const struct takt_calendar *calendar TAKT_ARG,
				   struct takt_shelf *shelf TAKT_ARG, u32 start)
{
	u32 word = start / 64, summary = word / 64 & (TAKT_SUMMARIES - 1), i;
	u64 bits;

	/* Shifting twice keeps a shift by 64 defined. */
	bits = calendar->summary[summary] & (~0ULL << (word % 64) << 1);
	for (i = 0; i < TAKT_SUMMARIES && !bits; i++) {
		summary = (summary + 1) % TAKT_SUMMARIES;
		bits = calendar->summary[summary];
	}
	if (!bits)
		return start;
	word = summary * 64 + takt_lowest_bit(bits);
	bits = *takt_bucket_word(shelf, calendar, word);
	return bits ? word * 64 + takt_lowest_bit(bits) : start;
}

/* The first occupied slot from base on, in one turn. The ring is not empty. */
TAKT_FN u32 takt_calendar_first_slot(const struct takt_calendar *calendar,
				     struct takt_shelf *shelf)
{
	u32 start = calendar->base & calendar->mask;
	u64 bits = *takt_bucket_word(shelf, calendar, start / 64) & (~0ULL << (start % 64));

	return bits ? (start & ~63U) + takt_lowest_bit(bits) :
		      takt_calendar_scan(calendar, shelf, start);
}

/*
 * If only far entries are left, they are all in this bucket: skip as many whole turns of the ring
 * as pass before `here` and before the first of them is due.
 */
TAKT_FN_OUT int takt_calendar_turn(struct takt_calendar *calendar TAKT_ARG,
				   struct takt_shelf *shelf TAKT_ARG, u32 slot, u64 here)
{
	u32 word = slot / 64, i;
	u64 others = *takt_bucket_word(shelf, calendar, word) ^ 1ULL << (slot % 64);
	u64 bucket = calendar->base + ((slot - calendar->base) & calendar->mask), due;

	for (i = 0; i < TAKT_SUMMARIES; i++)
		others |= calendar->summary[i] ^ (i == word / 64 ? 1ULL << (word % 64) : 0);
	if (others)
		return 0;
	due = takt_entry(shelf, *takt_bucket_head(shelf, calendar, slot))->due_ns >>
	      (calendar->shift & 63);
	due = takt_min(due, takt_max(here, bucket));
	calendar->base = bucket + ((due - bucket) & ~(u64)calendar->mask);
	return 0;
}

/*
 * Take the first entry of a ring that is not empty, if it is due in its bucket's turn of the ring.
 * If not, 0: with *wake_ns if no entry can be due before, or TIME_NEVER if the entry was moved to
 * its own bucket: then look again.
 */
TAKT_FN u32 takt_calendar_take(struct takt_calendar *calendar, struct takt_shelf *shelf,
			       u64 now_ns, u64 *wake_ns)
{
	u32 shift = calendar->shift & 63, mask = calendar->mask;
	u32 slot = takt_calendar_first_slot(calendar, shelf) & mask;
	u32 id = *takt_bucket_head(shelf, calendar, slot);
	u64 here = now_ns >> shift, bucket = calendar->base + ((slot - calendar->base) & mask);

	*wake_ns = TAKT_TIME_NEVER;

	/* Later inserts may name any time from now on: base must not pass it. */
	calendar->base = takt_min(bucket, takt_max(here, calendar->base));

	if (takt_entry(shelf, id)->due_ns >> shift <= bucket) {
		takt_calendar_unlink_first(calendar, shelf, slot, id);
		return id;
	}
	if (bucket > here) {
		*wake_ns = bucket << shift;
		return 0;
	}
	takt_calendar_turn(calendar, shelf, slot, here);
	takt_calendar_unlink_first(calendar, shelf, slot, id);
	takt_calendar_place(calendar, shelf, id, now_ns, 0);
	return 0;
}

/* Make the ring's first entry the front. As takt_calendar_first, for a ring that is not empty. */
TAKT_FN_OUT u32 takt_calendar_advance(struct takt_calendar *calendar TAKT_ARG,
				      struct takt_shelf *shelf TAKT_ARG,
				      u64 now_ns, u64 *wake_ns TAKT_ARG)
{
	u32 id, i;

	id = takt_calendar_take(calendar, shelf, now_ns, wake_ns);
	if (!id && *wake_ns == TAKT_TIME_NEVER) {
		TAKT_FOR (i, 1, TAKT_REINSERT_MAX) {
			id = takt_calendar_take(calendar, shelf, now_ns, wake_ns);
			if (id || *wake_ns != TAKT_TIME_NEVER)
				break;
		}
		if (!id && *wake_ns == TAKT_TIME_NEVER)
			*wake_ns = now_ns;
	}
	if (id)
		calendar->front = id;
	return id;
}

/*
 * The first entry, or 0 when the calendar is empty or (far entries only) none can be due before
 * *wake_ns, when to ask again. With now TIME_NEVER far entries are searched as well: for virtual
 * time, which does not pass by itself.
 */
TAKT_FN u32 takt_calendar_first(struct takt_calendar *calendar, struct takt_shelf *shelf,
				u64 now_ns, u64 *wake_ns)
{
	*wake_ns = TAKT_TIME_NEVER;
	if (calendar->front || !calendar->count)
		return calendar->front;
	return takt_calendar_advance(calendar, shelf, now_ns, wake_ns);
}

#endif
