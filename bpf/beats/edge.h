/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Edges: each CPU has one alarm, set for the next edge of its table or the end of the running
 * thread's budget. It fires on its own CPU, at the end of an interrupt, so nothing of the
 * scheduler runs there meanwhile.
 *
 * The next thread is put at the head of the CPU's own queue right here: the return from the
 * interrupt switches to it, with no wake-up and no second interrupt.
 */
#ifndef TAKT_EDGE_H
#define TAKT_EDGE_H

#include "fair.h"
#include "reservation.h"

/* After this long without the thread whose turn it is, its group no longer waits for it. */
#define AWAY_MAX_NS 5000000000ULL
/* An edge that is counted from a frame and from a period may differ so much, with fractions. */
#define SAME_EDGE_NS 2ULL
/* Less is not worth another alarm. */
#define EXTEND_LEAST_NS 10000ULL
/* From a yield of a thread that calibrates to its alarm. */
#define CALIBRATE_NS 50000ULL

/*
 * The time of beats: from an early alarm on it is that of the alarm's edge. Whatever runs between
 * the two decides as at the edge.
 */
static __always_inline u64 beat_clock_ns(const struct takt_cpu *c)
{
	return takt_max(bpf_ktime_get_ns(), c->looked_ns);
}

static __always_inline void set_alarm(struct takt_cpu *c, u32 cpu, u64 when_ns, u64 edge_ns)
{
	struct takt_alarm *alarm = bpf_map_lookup_elem(&takt_beats_alarms, &cpu);

	if (!alarm)
		return;
	c->armed_ns = when_ns;
	c->edge_ns = edge_ns;
	if (when_ns != TAKT_TIME_NEVER)
		bpf_timer_start(&alarm->timer, when_ns, BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN);
}

/* Preempt the thread that runs here, at once. */
static __always_inline void cut(u32 cpu)
{
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

static __always_inline int is_armed(const struct takt_cpu *c)
{
	return c->armed_ns && c->armed_ns != TAKT_TIME_NEVER;
}

/* Is the alarm pending? It is a softirq, which the kernel may leave for later. */
static __always_inline int is_overdue(const struct takt_cpu *c)
{
	return is_armed(c) && bpf_ktime_get_ns() >= c->armed_ns;
}

/* Have an interrupt, at whose end pending softirqs run. */
static __always_inline void call_alarm(u32 cpu)
{
	scx_bpf_kick_cpu(cpu, 0);
}

/* This kernel preempts by a move to the own CPU's queue: from 6.19 and its stable relatives on. */
static volatile u32 moves_preempt;

/* A second preemption costs an interrupt, so only where a move was no first one. */
static __always_inline void ensure_preempted(u32 cpu, u64 slice_before_ns)
{
	const struct task_struct *running = bpf_get_current_task_btf();

	if (running->flags & PF_IDLE) {
		if (!moves_preempt)
			cut(cpu);
	} else if (running->scx.slice) {
		cut(cpu);
	} else if (slice_before_ns) {
		moves_preempt = 1;
	}
}

/* The kernel ends a scheduler that sends a thread to a CPU that it may not use. */
static __always_inline int may_come(const struct task_struct *p, u32 cpu)
{
	return (u32)scx_bpf_task_cpu(p) == cpu ||
	       (may_be_on(p, cpu) && !p->migration_disabled);
}

/* Move the thread that waits in such a queue to this CPU. */
static __always_inline int bring(u64 queue, u32 cpu)
{
	struct task_struct *p;
	int moved = 0;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, queue, 0) {
		if (may_come(p, cpu))
			moved = scx_bpf_dsq_move(THIS_WALK, p, SCX_DSQ_LOCAL_ON | cpu,
						 SCX_ENQ_PREEMPT);
		break;
	}
	bpf_rcu_read_unlock();
	return moved;
}

/* Move a member here that waited outside of its slot, which is now open. */
static __always_inline int bring_stray(u32 home_cpu, u32 tid, u32 cpu)
{
	struct task_struct *p;
	int moved = 0;

	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, QUEUE_STRAY + home_cpu, 0) {
		if ((u32)p->pid != tid)
			continue;
		if (!may_come(p, cpu))
			break;
		scx_bpf_dsq_move_set_slice(THIS_WALK, beat_slice_ns);
		moved = scx_bpf_dsq_move(THIS_WALK, p, SCX_DSQ_LOCAL_ON | cpu,
					 SCX_ENQ_PREEMPT);
		break;
	}
	bpf_rcu_read_unlock();
	return moved;
}

static __always_inline int write_page(u32 at, const struct takt_task *task,
				      const struct takt_task_params *params,
				      const struct takt_span *span)
{
	struct takt_job_page *page = bpf_map_lookup_elem(&takt_beats_jobs, &at);

	if (!page)
		return 0;
	__sync_fetch_and_add(&page->sequence, 1);
	page->job = task->job;
	page->beat_ns = span->beat_ns;
	page->deadline_ns = span->end_ns;
	page->period_ns = takt_exact_whole_ns(&params->turns.period);
	page->budget_ns = params->turns.budget_ns;
	page->overruns = task->stats.overruns;
	__sync_fetch_and_add(&page->sequence, 1);
	return 1;
}

/* Write a task's new job into the pages of its members. */
static __always_inline void write_pages(const struct takt_task *task,
					const struct takt_task_params *params,
					const struct takt_span *span)
{
	u32 i;

	if (!write_page(params->first_member, task, params, span) ||
	    params->turns.member_count < 2)
		return;
	bpf_for(i, 1, TAKT_MEMBERS_MAX) {
		if (i >= params->turns.member_count ||
		    !write_page(params->first_member + i, task, params, span))
			break;
	}
}

/* A job begins. It counts only if a thread holds the next member. */
static __always_inline void release(struct takt_task *task, const struct takt_task_params *params,
				    const struct takt_span *span, u64 job)
{
	const struct takt_member *next = member_of(params->first_member + task->turns.turn);

	task->job = job;
	/* A thread that comes within its slots, by a clock of its own, has lost no job. */
	task->stats.missed += task->absent;
	task->absent = 0;
	if (next && next->tid)
		task->stats.releases++;
	write_pages(task, params, span);
}

/* The number of the span's job, which begins unless it has begun. */
static __always_inline u64 begin_job(struct takt_task *task, const struct takt_task_params *params,
				     const struct takt_span *span)
{
	u64 job = takt_job_at(&params->turns, span->beat_ns);

	if (task->job != job)
		release(task, params, span, job);
	return job;
}

/* The thread whose turn it is did not come. */
static __always_inline void note_absence(struct takt_task *task, struct takt_cpu *c, u64 now_ns)
{
	task->absent = 1;
	if (!task->away_since_ns) {
		task->away_since_ns = now_ns;
	} else if (now_ns - task->away_since_ns > AWAY_MAX_NS && !task->stalled) {
		task->stalled = 1;
		free_everywhere();
	}
}

/* A slot is open: admit the member whose turn it is. */
static __always_inline void admit(struct takt_cpu *c, u32 cpu, u64 now_ns)
{
	const struct takt_span *span = &c->span;
	struct takt_task *task = task_of(span->task);
	const struct takt_task_params *params;
	const struct takt_member *member;
	u64 job, slice_before_ns = bpf_get_current_task_btf()->scx.slice;
	u32 at;

	params = params_of(span->task, c->half);
	if (!task || !params)
		return;
	job = begin_job(task, params, span);
	if (c->tier == TIER_BEAT && c->task == span->task && c->job == job)
		return;
	if (task->stopped || !takt_turns_left(&task->turns, &params->turns, job)) {
		if (c->tier == TIER_BEAT)
			cut(cpu);
		return;
	}
	at = params->first_member + task->turns.turn;
	member = member_of(at);
	if (bring(QUEUE_MEMBER + at, cpu) ||
	    (member && bring_stray(params->home_cpu, member->tid, cpu))) {
		task->admitted_job = job;
		task->away_since_ns = 0;
		c->comes = 1;
		ensure_preempted(cpu, slice_before_ns);
		return;
	}
	/* It may run already, as an ordinary thread or because it woke at the edge. */
	if (member && member->tid == (u32)bpf_get_current_task_btf()->pid && c->tier != TIER_NONE) {
		task->away_since_ns = 0;
		cut(cpu);
		return;
	}
	if (member && member->tid && task->admitted_job != job)
		note_absence(task, c, now_ns);
	if (c->tier == TIER_BEAT)
		cut(cpu);
}

/* Switch to new tables of user space, at a frame's edge only. */
static __always_inline void follow_generation(struct takt_cpu *c, u32 cpu, u64 now_ns)
{
	const struct takt_table *table = table_of(cpu, c->half);
	const struct takt_beats *host = beats();

	if (!host || !table || c->generation == host->generation)
		return;
	if (table->slot_count && takt_frame_start(table, now_ns) <= c->looked_ns)
		return;
	c->generation = host->generation;
	c->half = host->generation & 1;
	c->stats.swaps++;
}

/* A lead that calibrates itself is mostly shorter than what is reserved for it. */
static __always_inline void adapt_release(const struct takt_cpu *c, struct takt_span *span)
{
	const struct takt_task_params *params;
	const struct takt_task *task;

	if (span->task == TAKT_NO_TASK || span->beat_ns == span->release_ns)
		return;
	params = params_of(span->task, c->half);
	task = task_of(span->task);
	if (params && task && params->lead_max_ns)
		span->release_ns = span->beat_ns - takt_lead_ns(&task->lead, params->lead_max_ns);
}

/* Does another slot open as soon as the present one ends? */
static __always_inline int is_followed(const struct takt_cpu *c, const struct takt_table *table)
{
	const struct takt_task_params *params;
	const struct takt_slot *next;

	if (!takt_slot_is_followed(table, c->span.hint))
		return 0;
	next = takt_slot_after(table, c->span.hint);
	if (next->beat_ns == next->release_ns)
		return 1;
	params = params_of(next->task, c->half);
	return params && !params->lead_max_ns;
}

/* When the alarm of an edge is set: before it, if a slot opens there. */
static __always_inline u64 alarm_of(struct takt_cpu *c, const struct takt_table *table, u64 edge_ns)
{
	if (c->span.task == TAKT_NO_TASK)
		return edge_ns;
	if (c->open ? edge_ns != c->span.end_ns || !is_followed(c, table) :
		      edge_ns != c->span.release_ns)
		return edge_ns;
	c->aim_ns = takt_early_aim_ns(edge_ns, c->tick_ns, tick_period_ns);
	return takt_min(edge_ns, c->aim_ns - takt_early_ns(&c->early, c->open));
}

/* Read the table, and set the alarm for its next edge. */
static __always_inline void look(struct takt_cpu *c, u32 cpu, u64 now_ns)
{
	const struct takt_beats *host = beats();
	const struct takt_table *table;
	u64 edge_ns, alarm_ns;

	follow_generation(c, cpu, now_ns);
	table = table_of(cpu, c->half);
	c->looked_ns = now_ns;
	c->open = 0;
	if (!table || !host) {
		set_alarm(c, cpu, TAKT_TIME_NEVER, TAKT_TIME_NEVER);
		return;
	}
	__sync_fetch_and_add(&c->sequence, 1);
	takt_table_lookup(table, now_ns, &c->span);
	adapt_release(c, &c->span);
	__sync_fetch_and_add(&c->sequence, 1);

	c->open = takt_span_is_open(&c->span, now_ns);
	edge_ns = takt_span_edge(&c->span, now_ns);
	if (c->generation != host->generation) {
		u64 start_ns = takt_frame_start(table, now_ns);

		edge_ns = takt_min(edge_ns, takt_frame_next(table, start_ns));
	}
	alarm_ns = alarm_of(c, table, edge_ns);
	if (c->tier == TIER_BEAT && now_ns < c->end_ns && c->end_ns < alarm_ns)
		alarm_ns = edge_ns = c->end_ns;
	if (c->calibrates && alarm_ns > now_ns + CALIBRATE_NS)
		alarm_ns = edge_ns = now_ns + CALIBRATE_NS;
	set_alarm(c, cpu, alarm_ns, edge_ns);
}

/* An idle CPU starts its tick again before it runs a thread. */
static __always_inline int tick_is_stopped(void)
{
	const struct tick_sched *tick;

	if (!bpf_ksym_exists(&tick_cpu_sched))
		return 0;
	tick = bpf_this_cpu_ptr(&tick_cpu_sched);
	return (tick->flags & TS_FLAG_STOPPED) != 0;
}

/* What runs here, for the time that it takes to preempt it. */
static __always_inline u32 interrupted(const struct takt_cpu *c)
{
	if (c->tier == TIER_BEAT)
		return TAKT_FROM_BEAT;
	if (bpf_get_current_task_btf()->flags & PF_IDLE)
		return tick_is_stopped() ? TAKT_FROM_SLEEP : TAKT_FROM_IDLE;
	if (!bpf_get_current_task_btf()->mm)
		return TAKT_FROM_KERNEL;
	return TAKT_FROM_THREAD;
}

/* The alarm was set for what takes longest to preempt. Wait if this takes less. */
static __always_inline u64 wait_early(const struct takt_cpu *c, u64 aim_ns, u64 now_ns)
{
	u64 until_ns = takt_early_go_ns(&c->early, c->from, aim_ns);
	u32 i;

	if (until_ns > now_ns + TAKT_EARLY_MAX_NS)
		return now_ns;
	bpf_for(i, 0, TAKT_EARLY_MAX_NS) {
		if (now_ns >= until_ns)
			break;
		now_ns = bpf_ktime_get_ns();
	}
	return now_ns;
}

/*
 * A thread that started late, since the kernel was not to be interrupted, has used less than its
 * budget when its slot ends. It gets the rest if no other slot needs that time: without, a job that
 * is a little shorter than its budget would be cut for each long softirq.
 */
static __always_inline int extend(struct takt_cpu *c, u32 cpu, u64 now_ns)
{
	const struct takt_table *table = table_of(cpu, c->half);
	const struct takt_beats *host = beats();
	const struct takt_task_params *params;
	struct takt_thread *thread;
	struct takt_task *task;
	u64 left_ns, ran_ns, end_ns;

	if (!host || !table || c->generation != host->generation || c->tier != TIER_BEAT ||
	    !c->open || c->task != c->span.task || now_ns < c->span.end_ns)
		return 0;
	task = task_of(c->task);
	params = params_of(c->task, c->half);
	thread = thread_of(bpf_get_current_task_btf());
	if (!task || !params || !thread || c->job != takt_job_at(&params->turns, c->span.beat_ns))
		return 0;
	end_ns = takt_exact_edge_ns(&params->turns.period, c->job - 1) + params->end_ns;
	if (c->span.end_ns + SAME_EDGE_NS < end_ns)
		return 0;
	left_ns = takt_turns_left(&task->turns, &params->turns, c->job);
	ran_ns = now_ns - c->since_ns;
	if (left_ns < ran_ns + EXTEND_LEAST_NS)
		return 0;
	/* The next slot's alarm comes before it. */
	end_ns = takt_span_next_release(table, &c->span) - TAKT_EARLY_MAX_NS;
	end_ns = takt_min(end_ns, now_ns + left_ns - ran_ns);
	if (end_ns < now_ns + EXTEND_LEAST_NS)
		return 0;
	c->span.end_ns = c->end_ns = thread->slot_end_ns = end_ns;
	set_alarm(c, cpu, end_ns, end_ns);
	return 1;
}

/*
 * All that the switch does not need comes first, and the wait after it: so the switch takes equally
 * long each time.
 */
static __always_inline void go_on_at_edge(struct takt_cpu *c, u32 cpu, u64 rang_ns)
{
	u64 edge_ns = c->edge_ns, aim_ns = c->aim_ns, armed_ns = c->armed_ns, now_ns;

	if (extend(c, cpu, takt_max(rang_ns, edge_ns)))
		return;
	look(c, cpu, takt_max(rang_ns, edge_ns));
	now_ns = bpf_ktime_get_ns();
	takt_early_note_alarm(&c->early, c->from, now_ns - armed_ns);
	if (now_ns < edge_ns)
		now_ns = wait_early(c, aim_ns, now_ns);
	c->woken_ns = now_ns;
	now_ns = takt_max(now_ns, edge_ns);
	if (c->open)
		admit(c, cpu, now_ns);
	/* A member that comes preempts it. */
	if (c->tier == TIER_BEAT && now_ns >= c->end_ns && !c->comes)
		cut(cpu);
}

/*
 * A thread that calibrates comes outside of slots. Several may wait, if takt gave up on one, and
 * one may be held up, so there are alarms as long as any waits.
 */
static __always_inline void bring_calibrating(struct takt_cpu *c, u32 cpu, u64 now_ns)
{
	u64 slice_before_ns = bpf_get_current_task_btf()->scx.slice;

	if (bring(QUEUE_CALIBRATE + cpu, cpu))
		ensure_preempted(cpu, slice_before_ns);
	c->calibrates = scx_bpf_dsq_nr_queued(QUEUE_CALIBRATE + cpu) > 0;
	if (c->calibrates && c->armed_ns > now_ns + CALIBRATE_NS)
		set_alarm(c, cpu, now_ns + CALIBRATE_NS, now_ns + CALIBRATE_NS);
}

/*
 * The alarm's edge has passed, and the alarm is still to come: a kernel that has threads to run
 * leaves its softirqs for later, and alarms are among them. The job begins without it.
 */
static __always_inline void catch_up(struct takt_cpu *c, u32 cpu, u64 now_ns)
{
	const struct takt_task_params *params;
	struct takt_task *task;

	if (!is_armed(c) || now_ns < c->edge_ns)
		return;
	c->comes = 0;
	look(c, cpu, now_ns);
	task = task_of(c->span.task);
	params = params_of(c->span.task, c->half);
	if (c->open && task && params)
		begin_job(task, params, &c->span);
}

static int takt_beats_on_alarm(void *map, u32 *key, struct takt_alarm *alarm)
{
	u32 cpu = *key;
	struct takt_cpu *c = cpu_of(cpu);
	u64 now_ns = bpf_ktime_get_ns(), late_ns;

	if (!c)
		return 0;
	/* Its CPU went offline, and another got its timers. */
	if (bpf_get_smp_processor_id() != cpu || c->offline) {
		c->armed_ns = 0;
		return 0;
	}
	late_ns = now_ns > c->armed_ns ? now_ns - c->armed_ns : 0;
	c->stats.edges++;
	c->stats.edge_late_max_ns = takt_max(c->stats.edge_late_max_ns, late_ns);
	c->from = interrupted(c);
	c->comes = 0;
	go_on_at_edge(c, cpu, now_ns);
	if (c->calibrates && !c->open && c->tier != TIER_BEAT)
		bring_calibrating(c, cpu, now_ns);
	return 0;
}

#endif
