/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Turns within a task, and what is left of its budget. After HiTactix, section 2.2.2: the members
 * of a group share one allocation. The first starts at the beat, each hands the CPU to the next,
 * and the last one's yield ends the period. So members never run at the same time and need no
 * locks among each other. A single thread is a group of one.
 *
 * In a free group a member may choose: it passes its turn to any other member, as often as the
 * budget lasts, or ends the job.
 *
 * If the budget does not suffice for a job, the turn stays: its member goes on in the next
 * period. So members always run in order.
 *
 * Jobs are counted by the clock: job k of a task has its beat in the k-th period (from 1; 0 is
 * none). State of a job is stored with its number, so a new job needs no reset.
 */
#ifndef TAKT_TURNS_H
#define TAKT_TURNS_H

#include "exact.h"

#define TAKT_MEMBERS_MAX 16U	/* of one task */

struct takt_turns_params {
	struct takt_exact period;
	u64 budget_ns;
	u32 member_count;	/* 1..MEMBERS_MAX */
	u32 is_free;		/* members may choose who goes next */
};

/* The member that a turn is passed to, counted from 1, or */
#define TAKT_PASS_END 0U		/* none, the job is done */
#define TAKT_PASS_NEXT 0xFFFFFFFFU	/* the next in order */

struct takt_turns {
	u64 done_job;		/* the last in which all members had their turn */
	u64 spent_job;		/* the job of used_ns */
	u64 used_ns;
	u32 turn;		/* the member that runs, or goes on, next */
	u32 pad;
};

/* The job with this beat. */
TAKT_FN u64 takt_job_at(const struct takt_turns_params *params, u64 beat_ns)
{
	return params->period.num ? takt_exact_count(&params->period, beat_ns) + 1 : 1;
}

/* What is left of a job's budget; 0 also when the job is done. */
TAKT_FN u64 takt_turns_left(const struct takt_turns *turns,
			    const struct takt_turns_params *params, u64 job)
{
	u64 used_ns = turns->spent_job == job ? turns->used_ns : 0;

	/* With another period, job numbers differ: a later done_job says nothing about this one. */
	if (turns->done_job == job || used_ns >= params->budget_ns)
		return 0;
	return params->budget_ns - used_ns;
}

/* A member ran for this long. */
TAKT_FN void takt_turns_charge(struct takt_turns *turns, u64 job, u64 ran_ns)
{
	if (turns->spent_job != job) {
		turns->spent_job = job;
		turns->used_ns = 0;
	}
	turns->used_ns += ran_ns;
}

/* The member whose turn it is has yielded. Is that the end of the job? */
TAKT_FN int takt_turns_yield(struct takt_turns *turns, const struct takt_turns_params *params,
			     u64 job)
{
	turns->turn++;
	if (turns->turn < params->member_count)
		return 0;
	turns->turn = 0;
	turns->done_job = job;
	return 1;
}

/* May a member of this group choose so? */
TAKT_FN int takt_turns_is_choice(const struct takt_turns_params *params, u32 to)
{
	return params->is_free && to <= params->member_count;
}

/*
 * The member whose turn it is passes it on. The chosen one has it if it waits for it (bits of
 * `waiting`, by members from 0), else the next in order that does. Where none waits the chosen one
 * has it when it comes. A choice that is none, or of a group that is not free, is the order. Is
 * that the end of the job?
 */
TAKT_FN int takt_turns_pass(struct takt_turns *turns, const struct takt_turns_params *params,
			    u64 job, u32 to, u32 waiting)
{
	u32 i, at;

	if (!takt_turns_is_choice(params, to))
		return takt_turns_yield(turns, params, job);
	if (to == TAKT_PASS_END) {
		turns->turn = 0;
		turns->done_job = job;
		return 1;
	}
	turns->turn = at = to - 1;
	for (i = 0; i < TAKT_MEMBERS_MAX && i < params->member_count; i++) {
		if (waiting >> (at & 31) & 1) {
			turns->turn = at;
			break;
		}
		at = at + 1 < params->member_count ? at + 1 : 0;
	}
	return 0;
}

#endif
