/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A member of a task: how it comes to the CPU in its slot and turn, and what it is otherwise. */
#ifndef TAKT_MEMBER_H
#define TAKT_MEMBER_H

#include "edge.h"
#include "hotplug.h"
#include "pass.h"
#include "throttle.h"

#define SIGXCPU 24

/* Is it the member's turn, and its slot open on this CPU? */
static __always_inline int may_go(const struct takt_task *task, const struct takt_member *member,
				  const struct takt_cpu *c, u64 now_ns)
{
	const struct takt_task_params *params = params_of(member->task, c->half);
	struct takt_span span;
	u64 job;

	read_span(c, &span);
	if (!params || span.task != member->task || !takt_span_is_open(&span, now_ns) ||
	    task->stopped || task->turns.turn != member->ordinal)
		return 0;
	job = takt_job_at(&params->turns, span.beat_ns);
	return takt_turns_left(&task->turns, &params->turns, job) != 0;
}

static __always_inline void overrun(struct task_struct *p, const struct takt_thread *thread,
				    struct takt_task *task, const struct takt_task_params *params)
{
	task->stats.overruns++;
	/* A thread that has never yielded may still be starting. */
	if (!thread->settled)
		return;
	if (params->overrun == TAKT_OVERRUN_SIGNAL && bpf_ksym_exists(bpf_send_signal_task))
		bpf_send_signal_task(p, SIGXCPU, PIDTYPE_PID, 0);
	if (params->overrun == TAKT_OVERRUN_STOP_GROUP) {
		task->stopped = 1;
		free_everywhere();
	}
}

/* The slot ended with the job undone. The job may have another, maybe on another CPU. */
static __always_inline void slot_ended(struct task_struct *p, struct takt_thread *thread,
				       struct takt_task *task,
				       const struct takt_task_params *params)
{
	u64 start_ns = takt_exact_edge_ns(&params->turns.period, thread->job - 1);

	if (thread->slot_end_ns + SAME_EDGE_NS < start_ns + params->end_ns &&
	    takt_turns_left(&task->turns, &params->turns, thread->job) != 0)
		thread->parked = 1;
	else
		overrun(p, thread, task, params);
}

/* The thread that preempted it is gone. Its slot may have ended meanwhile. */
static __always_inline void note_theft(struct task_struct *p, struct takt_thread *thread,
				       struct takt_task *task,
				       const struct takt_task_params *params, u64 now_ns)
{
	task->stats.stolen_higher_ns += takt_min(now_ns, thread->slot_end_ns) - thread->stopped_ns;
	thread->stopped_ns = 0;
	if (now_ns >= thread->slot_end_ns)
		slot_ended(p, thread, task, params);
}

/*
 * A thread that sleeps by its own clock wakes when no slot is open: its job is not lost, but it has
 * nothing of its slot.
 */
static __always_inline void note_outside(struct takt_task *task,
					 const struct takt_task_params *params, u64 now_ns)
{
	u64 job = takt_job_at(&params->turns, now_ns);

	task->absent = 0;
	task->stats.outside++;
	task->outside_at_ns = now_ns - takt_exact_edge_ns(&params->turns.period, job - 1);
}

/* Returns 0 if it is to be treated as an ordinary thread. */
static __always_inline int member_enqueue(struct task_struct *p, struct takt_thread *thread,
					  const struct takt_member *member, u64 enq_flags)
{
	struct takt_task *task = task_of(member->task);
	const struct takt_task_params *params;
	u32 cpu = scx_bpf_task_cpu(p), at = thread->reservation - 1;
	struct takt_cpu *c = cpu_of(cpu), *home;
	u64 now_ns;
	int is_kept;

	if (!task || !c)
		return 0;
	/* A beat that stops is queued at once, while it still is the current thread. */
	now_ns = c->stopped_ns && p->pid == bpf_get_current_task_btf()->pid ? c->stopped_ns :
									      beat_clock_ns(c);
	params = params_of(member->task, c->half);
	if (!params)
		return 0;
	if (thread->stopped_ns && now_ns >= thread->slot_end_ns)
		note_theft(p, thread, task, params, now_ns);
	if (task->stopped || !may_be_on(p, params->home_cpu))
		return 0;
	is_kept = !task->stalled && (params->turns.member_count < 2 || all_here(params));
	if (thread->parked && is_kept) {
		scx_bpf_dsq_insert(p, QUEUE_MEMBER + at, beat_slice_ns, enq_flags);
		return 1;
	}
	if (may_go(task, member, c, now_ns)) {
		/* A member that was preempted goes on after the thread that preempted it. */
		if (enq_flags & SCX_ENQ_WAKEUP && c->tier < TIER_BEAT)
			enq_flags |= SCX_ENQ_PREEMPT;
		task->admitted_job = task->job;
		task->away_since_ns = 0;
		c->returning = 1;
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, beat_slice_ns, enq_flags);
		return 1;
	}
	/* It waits for its turn, or has no time outside of its slots. */
	if (is_kept && (task->turns.turn != member->ordinal ||
			params->overrun == TAKT_OVERRUN_WAIT)) {
		scx_bpf_dsq_insert(p, QUEUE_MEMBER + at, beat_slice_ns, enq_flags);
		return 1;
	}
	thread->parked = 0;
	if (task->absent && enq_flags & SCX_ENQ_WAKEUP)
		note_outside(task, params, now_ns);
	fair_enqueue(p, QUEUE_STRAY + params->home_cpu, enq_flags);
	home = cpu_of(params->home_cpu);
	if (home)
		home->strays = 1;
	if (params->home_cpu != cpu || enq_flags & SCX_ENQ_WAKEUP)
		scx_bpf_kick_cpu(params->home_cpu, SCX_KICK_IDLE);
	return 1;
}

static __always_inline void note_start(struct takt_task *task, const struct takt_cpu *c,
				       const struct takt_task_params *params)
{
	u64 late_ns = c->ready_ns > c->released_ns ? c->ready_ns - c->released_ns : 0;
	struct takt_task_stats *stats = &task->stats;
	u32 bucket = takt_bucket(late_ns);

	task->started_job = c->job;
	stats->started++;
	stats->lateness_sum_ns += late_ns;
	stats->lateness_max_ns = takt_max(stats->lateness_max_ns, late_ns);
	/* The compiler knows the range and drops the mask that proves it to the verifier. */
	barrier_var(bucket);
	stats->lateness[bucket & (TAKT_BUCKETS - 1)]++;
	/* A thread that comes within its slot by a clock of its own is not late. */
	if (params->lead_max_ns && c->waited)
		takt_lead_note(&task->lead, late_ns);
}

/*
 * It has been switched to. What this took is noted when it stops: its code waits. A member that
 * goes on with a job was not late.
 */
static __always_inline void arrive(struct takt_cpu *c)
{
	const struct takt_task *task = task_of(c->task);
	u64 now_ns;

	if (!c->comes && task && task->started_job == c->job)
		return;
	c->released_ns = c->span.release_ns;
	now_ns = bpf_ktime_get_ns();
	c->came_from = c->from;
	c->took_ns = c->comes ? now_ns - c->woken_ns : 0;
	c->ready_ns = now_ns + c->early.return_ns[c->from & (TAKT_FROMS - 1)];
	c->comes = 0;
}

static __always_inline void note_arrival(struct takt_cpu *c, struct takt_task *task,
					 const struct takt_task_params *params)
{
	if (c->took_ns)
		takt_early_note_switch(&c->early, c->came_from, c->took_ns);
	if (task->started_job != c->job)
		note_start(task, c, params);
	c->ready_ns = 0;
}

/* It comes to the CPU, as a beat or as an ordinary thread. Returns its tier. */
static __always_inline u32 member_running(struct task_struct *p, struct takt_thread *thread,
					  const struct takt_member *member, struct takt_cpu *c,
					  u32 cpu, u64 now_ns)
{
	struct takt_task *task = task_of(member->task);
	const struct takt_task_params *params;
	u64 left_ns;

	params = params_of(member->task, c->half);
	if (!task || !params)
		return TIER_ORDINARY;
	if (thread->stopped_ns)
		note_theft(p, thread, task, params, now_ns);
	if (!may_go(task, member, c, now_ns)) {
		/* It was admitted, and its slot ended before it came: it waits on. */
		if (is_beat_slice(p)) {
			p->scx.slice = 0;
			cut(cpu);
		} else {
			thread->parked = 0;
		}
		return TIER_ORDINARY;
	}
	c->waited = thread->parked;
	thread->parked = c->returning = 0;
	p->scx.slice = beat_slice_ns;
	c->task = member->task;
	c->job = takt_job_at(&params->turns, c->span.beat_ns);
	left_ns = takt_turns_left(&task->turns, &params->turns, c->job);
	c->end_ns = takt_min(c->span.end_ns, now_ns + left_ns);
	thread->job = c->job;
	thread->slot_end_ns = c->span.end_ns;
	task->stalled = task->absent = 0;
	if (c->end_ns < c->armed_ns)
		set_alarm(c, cpu, c->end_ns, c->end_ns);
	return TIER_BEAT;
}

/*
 * A thread that a realtime thread preempted waits in the CPU's own queue with what is left of its
 * slice, and a preempted member was queued there behind it. It must not use the member's slot.
 */
static __always_inline int is_before_a_member(const struct takt_cpu *c)
{
	return c->returning && scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL) > 0;
}

static __always_inline void member_stopping(struct task_struct *p, struct takt_thread *thread,
					    struct takt_cpu *c, u64 ran_ns, u64 now_ns,
					    int runnable)
{
	const struct takt_task_params *params = params_of(c->task, c->half);
	struct takt_task *task = task_of(c->task);

	if (!task || !params)
		return;
	if (c->ready_ns)
		note_arrival(c, task, params);
	takt_turns_charge(&task->turns, c->job, ran_ns);
	limit_charge(p, ran_ns);
	task->stats.used_ns += ran_ns;
	task->stats.used_max_ns = takt_max(task->stats.used_max_ns, task->turns.used_ns);
	if (!runnable || thread->parked)
		return;
	if (now_ns < c->end_ns) {
		thread->stopped_ns = now_ns;
		return;
	}
	task->stats.cut_late_max_ns = takt_max(task->stats.cut_late_max_ns, now_ns - c->end_ns);
	slot_ended(p, thread, task, params);
}

/*
 * An early alarm let it start before its slot opens. A thread that reads the clock, and yields
 * since its time has not come, has done nothing yet.
 */
static __always_inline int is_early(const struct takt_cpu *c, u32 pass)
{
	return pass == TAKT_PASS_NEXT && c->tier == TIER_BEAT && c->ready_ns &&
	       takt_early_is_premature(c->ready_ns, c->released_ns, bpf_ktime_get_ns());
}

/* The member has yielded: its work for this job is done, or for this turn of several. */
static __always_inline void member_yield(struct takt_thread *thread,
					 const struct takt_member *member, struct takt_cpu *c,
					 u32 to)
{
	const struct takt_task_params *params = params_of(member->task, c->half);
	struct takt_task *task = task_of(member->task);

	thread->settled = 1;
	if (!task || !params || task->stopped)
		return;
	thread->parked = 1;
	/* Before its first job there is nothing to finish. */
	if (task->turns.turn != member->ordinal || !thread->job)
		return;
	if (!pass_turn(task, params, thread->job, to))
		return;
	task->stats.completed++;
	/* The rest of the slot is free. */
	if (c->tier == TIER_BEAT)
		c->open = 0;
}

static __always_inline void ordinary_charge(struct task_struct *p, u64 ran_ns)
{
	fair_charge(p, ran_ns);
	limit_charge(p, ran_ns);
}

/* It ran as an ordinary thread when its slot opened: from here on it is a beat. */
static __always_inline int goes_on(struct task_struct *prev, u32 at, struct takt_cpu *c, u32 cpu,
				   u64 now_ns)
{
	struct takt_thread *thread = thread_of(prev);
	const struct takt_member *member;

	if (!thread || thread->reservation != at + 1 || thread->parked ||
	    !(prev->scx.flags & SCX_TASK_QUEUED))
		return 0;
	member = reservation_of(thread, prev);
	if (!member)
		return 0;
	if (c->tier == TIER_ORDINARY)
		ordinary_charge(prev, prev->se.exec_start - c->since_clock_ns);
	else if (c->tier == TIER_BEAT)
		member_stopping(prev, thread, c, now_ns - c->since_ns, now_ns, 1);
	c->tier = member_running(prev, thread, member, c, cpu, now_ns);
	c->since_ns = now_ns;
	c->since_clock_ns = prev->se.exec_start;
	if (c->tier == TIER_BEAT)
		arrive(c);
	return c->tier == TIER_BEAT;
}

/* Admit the member whose turn it is by now. */
static __always_inline int member_dispatch(struct takt_cpu *c, u32 cpu, struct task_struct *prev,
					   u64 now_ns)
{
	const struct takt_span *span = &c->span;
	const struct takt_task_params *params;
	struct takt_task *task;
	u32 at;

	if (!takt_span_is_open(span, now_ns))
		return 0;
	task = task_of(span->task);
	params = params_of(span->task, c->half);
	if (!task || !params || task->stopped || !takt_turns_left(&task->turns, &params->turns,
					      takt_job_at(&params->turns, span->beat_ns)))
		return 0;
	at = params->first_member + task->turns.turn;
	if (scx_bpf_dsq_move_to_local(QUEUE_MEMBER + at))
		return 1;
	return prev && goes_on(prev, at, c, cpu, now_ns);
}

/* Does this member's thread wait for a turn that will not come? */
static __always_inline int waits_in_vain(u32 at, const struct takt_beats *host)
{
	const struct takt_member *member = member_of(at);
	const struct takt_task_params *params;
	const struct takt_task *task;
	const struct takt_cpu *home;

	if (!member || !member->expected || !member->tid)
		return 1;
	task = task_of(member->task);
	params = params_of(member->task, host->generation);
	home = params ? cpu_of(params->home_cpu) : 0;
	if (!task || !home || home->offline || task->stopped || task->stalled)
		return 1;
	return !all_here(params);
}

/* Threads that wait for a turn that will not come become ordinary ones. */
static __always_inline void free_waiting(void)
{
	const struct takt_beats *host = beats();
	struct task_struct *p;
	u32 at;

	bpf_for(at, 0, TAKT_MEMBERS) {
		if (!host || at >= host->member_count)
			break;
		if (!waits_in_vain(at, host))
			continue;
		bpf_for_each(scx_dsq, p, QUEUE_MEMBER + at, 0) {
			struct takt_thread *thread = thread_of(p);

			if (thread)
				thread->parked = 0;
			scx_bpf_dsq_move_set_slice(THIS_WALK, slice_ns);
			scx_bpf_dsq_move_vtime(THIS_WALK, p, ordinary_queue(p), 0);
		}
	}
	bpf_for(at, 0, host ? host->cpu_count : 0) {
		const struct takt_cpu *c = cpu_of(at);

		if (!c || !c->offline)
			continue;
		bpf_for_each(scx_dsq, p, QUEUE_STRAY + at, 0)
			scx_bpf_dsq_move_vtime(THIS_WALK, p, ordinary_queue(p), 0);
	}
	if (host)
		bring_all_home(host);
}

#endif
