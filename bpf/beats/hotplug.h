/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CPUs that go offline, and come back.
 *
 * A CPU on its way out no longer asks for a thread to run. It runs the threads in its own queue;
 * the kernel passes on each of them that is not bound to the CPU. Then the CPU waits until no
 * runnable thread counts as its own, which it checks only when it switches. So
 *   - a thread that becomes runnable there goes into the CPU's own queue;
 *   - a thread that counts as the CPU's and waits elsewhere is brought there
 *     (free_waiting);
 *   - if another CPU has taken the last of them before, this one must be made to
 *     check.
 */
#ifndef TAKT_HOTPLUG_H
#define TAKT_HOTPLUG_H

#include "state.h"

/* The number of CPUs that are offline, or on their way out. */
static u32 offline_cpus;

static __always_inline int is_leaving(u32 cpu)
{
	const struct takt_cpu *c = cpu_of(cpu);

	return c && c->offline;
}

/* Called for every thread that becomes runnable; mostly no CPU is offline. */
static __always_inline int is_on_leaving(const struct task_struct *p)
{
	return offline_cpus && is_leaving(scx_bpf_task_cpu(p));
}

/* Its timer moves to another CPU and does nothing there. */
static __always_inline void cpu_leaves(u32 cpu)
{
	const struct takt_beats *host = beats();
	struct takt_cpu *c = cpu_of(cpu);
	u32 other;

	if (c && !c->offline) {
		c->offline = 1;
		__sync_fetch_and_add(&offline_cpus, 1);
	}
	free_everywhere();
	bpf_for(other, 0, host ? host->cpu_count : 0)
		scx_bpf_kick_cpu(other, SCX_KICK_IDLE);
}

/* Its first dispatch sets its alarm. */
static __always_inline void cpu_comes(u32 cpu)
{
	struct takt_cpu *c = cpu_of(cpu);

	if (c && c->offline) {
		c->armed_ns = 0;
		c->offline = 0;
		__sync_fetch_and_sub(&offline_cpus, 1);
	}
}

/* Of all control groups: throttle.h. */
static void bring_throttled_home(void);

static __noinline int takt_beats_bring_home(u64 queue)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, queue, 0) {
		if (!is_on_leaving(p))
			continue;
		scx_bpf_dsq_move_set_slice(THIS_WALK, slice_ns);
		scx_bpf_dsq_move(THIS_WALK, p, SCX_DSQ_LOCAL_ON | scx_bpf_task_cpu(p), 0);
	}
	return 0;
}

/*
 * Every CPU does so once after one has gone. Threads that it took from that CPU before, it took
 * before that CPU checks for the last time.
 */
static __always_inline void bring_all_home(const struct takt_beats *host)
{
	u32 at;

	if (!offline_cpus)
		return;
	takt_beats_bring_home(QUEUE_NETWORK);
	bpf_for(at, 0, host->llc_count)
		takt_beats_bring_home(QUEUE_ORDINARY + at);
	bpf_for(at, 0, host->member_count)
		takt_beats_bring_home(QUEUE_MEMBER + at);
	bpf_for(at, 0, host->cpu_count)
		takt_beats_bring_home(QUEUE_STRAY + at);
	bpf_for(at, 0, host->cpu_count)
		takt_beats_bring_home(QUEUE_KERNEL + at);
	bring_throttled_home();
	bpf_for(at, 0, host->cpu_count) {
		if (is_leaving(at))
			scx_bpf_kick_cpu(at, SCX_KICK_IDLE);
	}
}

#endif
