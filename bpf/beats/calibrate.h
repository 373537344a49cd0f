/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the scheduler's part of a switch to the thread's code: measured on each CPU when the
 * scheduler is loaded, for early alarms. A thread of takt yields and waits for an alarm, as a
 * member does for its slot, and reads the clock when it runs.
 */
#ifndef TAKT_CALIBRATE_H
#define TAKT_CALIBRATE_H

#include "edge.h"

/*
 * It waits after a yield, which is on its own CPU: an alarm cannot be set from another one. Returns
 * 0 if it becomes runnable otherwise, as after a sleep, and is an ordinary thread.
 */
static __always_inline int calibrate_enqueue(struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	struct takt_cpu *c = cpu_of(cpu);
	u64 when_ns = bpf_ktime_get_ns() + CALIBRATE_NS;

	if (!c || c->offline || bpf_get_smp_processor_id() != cpu ||
	    bpf_get_current_task_btf()->pid != p->pid)
		return 0;
	/* Such a slice has running() look at the thread. */
	scx_bpf_dsq_insert(p, QUEUE_CALIBRATE + cpu, beat_slice_ns, enq_flags);
	c->calibrates = 1;
	if (!c->armed_ns || c->armed_ns > when_ns)
		set_alarm(c, cpu, when_ns, when_ns);
	return 1;
}

static __always_inline void calibrate_running(struct takt_thread *thread, const struct takt_cpu *c)
{
	if (!thread->calibrates)
		return;
	thread->switched_from = c->from;
	thread->switched_ns = bpf_ktime_get_ns();
}

/* The calling thread has just read the clock, after it yielded. */
SEC("syscall")
int takt_beats_calibrate(struct takt_calibrate_args *args)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct takt_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct takt_thread *thread = thread_of(p);

	if (!c || !thread)
		return 0;
	if (thread->switched_ns && args->now_ns)
		takt_early_note_return(&c->early, thread->switched_from,
				       args->now_ns - thread->switched_ns);
	thread->switched_ns = 0;
	thread->calibrates = args->now_ns != 0;
	mark(p);
	return 0;
}

#endif
