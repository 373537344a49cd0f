/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which ordinary thread of a CPU has waited longest. The kernel lists the threads of its extensible
 * class that are runnable on a CPU, by since when: it ends a scheduler that lets one wait for too
 * long (timeout_ms).
 */
#ifndef TAKT_WAITING_H
#define TAKT_WAITING_H

#include "throttle.h"

#define LOOKED_AT_MAX 64U	/* threads of a CPU */
#define TID_BITS 22

/* How long ago this was, in the kernel's ticks; 0 where their period is not known. */
static __always_inline u64 waits_since_ns(u64 jiffies)
{
	u64 now = bpf_jiffies64();

	/* A host has not been up for 2^42 ticks. */
	return ((now - jiffies) & ((1ULL << (64 - TID_BITS)) - 1)) * tick_period_ns;
}

/* Members wait for their slots, throttled threads for their group's: none of them starves. */
static __always_inline int is_ordinary(int tid)
{
	struct task_struct *p = bpf_task_from_pid(tid);
	const struct takt_thread *thread;
	int is = 0;

	if (!p)
		return 0;
	thread = thread_of(p);
	is = thread && !reservation_of(thread, p) && !must_wait(p);
	bpf_task_release(p);
	return is;
}

static __always_inline u64 runnable_node_at(void)
{
	return __builtin_preserve_field_info(((struct task_struct *)0)->scx.runnable_node,
					     BPF_FIELD_BYTE_OFFSET);
}

/* Since when the first of all threads that wait for this CPU does, members included; or now. */
static __always_inline u64 first_waiting(const struct rq *rq)
{
	const struct list_head *head = &rq->scx.runnable_list, *node = BPF_CORE_READ(head, next);
	const struct task_struct *p = (void *)node - runnable_node_at();

	return node && node != head ? BPF_CORE_READ(p, scx.runnable_at) : bpf_jiffies64();
}

/* Which ordinary thread has waited longest for this CPU, and since when; 0: none waits. */
static __always_inline u64 longest_waiting(const struct rq *rq)
{
	u64 node_at = runnable_node_at();
	const struct list_head *head = &rq->scx.runnable_list, *node;
	u32 i;

	node = BPF_CORE_READ(head, next);
	bpf_for(i, 0, LOOKED_AT_MAX) {
		const struct task_struct *p = (void *)node - node_at;
		int tid;

		if (!node || node == head)
			break;
		tid = BPF_CORE_READ(p, pid);
		if (is_ordinary(tid))
			return BPF_CORE_READ(p, scx.runnable_at) << TID_BITS | tid;
		node = BPF_CORE_READ(node, next);
	}
	return 0;
}

#endif
