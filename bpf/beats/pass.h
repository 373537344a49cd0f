/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Free hand-off: which member of its group a thread passes its turn to. After HiTactix, section
 * 2.2.2: a thread hands the rest of the group's time to any other thread of the group.
 *
 * sched_yield() has no arguments, and the kernel does not look at the registers that would hold
 * them. So a member writes its choice there, behind a number that marks it. A thread can choose
 * only for itself, and no memory is shared.
 */
#ifndef TAKT_PASS_H
#define TAKT_PASS_H

#include "state.h"

/* "takthand" */
#define PASS_MARK 0x74616B7468616E64ULL

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs___x86 {
	unsigned long di, si;
};

struct pt_regs___arm64 {
	u64 regs[31];
};

#pragma clang attribute pop

/* What the calling member asked of sched_yield(): TAKT_PASS_*, or a member of its group from 1. */
static __always_inline u32 asked_pass(struct task_struct *caller,
				      const struct takt_member *member, const struct takt_cpu *c)
{
	const struct takt_task_params *params = params_of(member->task, c->half);
	const struct pt_regs___arm64 *arm64;
	const struct pt_regs___x86 *x86;
	u64 mark = 0, to = 0;

	if (!params || !params->turns.is_free)
		return TAKT_PASS_NEXT;
	x86 = (const void *)bpf_task_pt_regs(caller);
	arm64 = (const void *)x86;
	if (bpf_core_field_exists(x86->di)) {
		mark = x86->di;
		to = x86->si;
	} else if (bpf_core_field_exists(arm64->regs)) {
		mark = arm64->regs[0];
		to = arm64->regs[1];
	}
	return mark == PASS_MARK && to <= TAKT_MEMBERS_MAX ? (u32)to : TAKT_PASS_NEXT;
}

static __always_inline int waits(const struct takt_task_params *params, u32 ordinal)
{
	return scx_bpf_dsq_nr_queued(QUEUE_MEMBER + params->first_member + ordinal) > 0;
}

/* The members that wait for their turn; the chosen one alone if it does. */
static __always_inline u32 waiting_members(const struct takt_task_params *params, u32 to)
{
	u32 waiting = 0, i;

	if (to == TAKT_PASS_END)
		return 0;
	if (waits(params, to - 1))
		return 1U << ((to - 1) & 31);
	bpf_for(i, 0, TAKT_MEMBERS_MAX) {
		if (i >= params->turns.member_count)
			break;
		if (waits(params, i))
			waiting |= 1U << (i & 31);
	}
	return waiting;
}

/* The member whose turn it is passes it on. Is that the end of the job? */
static __always_inline int pass_turn(struct takt_task *task, const struct takt_task_params *params,
				     u64 job, u32 to)
{
	int is_choice = takt_turns_is_choice(&params->turns, to);
	u32 waiting = is_choice ? waiting_members(params, to) : 0;

	if (takt_turns_pass(&task->turns, &params->turns, job, to, waiting))
		return 1;
	if (is_choice) {
		task->stats.passed++;
		task->stats.skipped += task->turns.turn != to - 1;
	}
	return 0;
}

#endif
