// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The scheduler `takt`: threads run at the times that were reserved for them. After HiTactix: a
 * table of time slots says at every edge which task runs; the free time between slots belongs to
 * all other threads.
 *
 *   eligible  a member of a task whose slot is open, whose turn it is, and whose
 *             budget is not used up (algo/slots.h, algo/turns.h); any other thread whose
 *             control group's limit allows it (throttle.h)
 *   rank      beats, kernel threads of one CPU, protocol processing, ordinary
 *             threads by virtual time (fair.h, caches.h), but first of them one
 *             that has waited for seconds (overdue.h)
 *   next wake the table's next edge, or the end of the budget (edge.h)
 *
 * Not here: the layout of slots (crates/planner). Realtime classes and interrupts are always
 * above this scheduler.
 */
#include "caches.h"
#include "calibrate.h"
#include "interrupts.h"
#include "overdue.h"
#include "watch.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("struct_ops/select_cpu")
int BPF_PROG(takt_beats_select, struct task_struct *p, int prev_cpu, u64 wake_flags)
{
	struct takt_thread *thread = marked_thread_of(p);
	_Bool is_idle = 0;
	int cpu;

	if (thread && thread->reservation) {
		const struct takt_member *member = reservation_of(thread, p);
		const struct takt_task *task = member ? task_of(member->task) : 0;
		const struct takt_beats *host = beats();
		const struct takt_task_params *params =
			member && host ? params_of(member->task, host->generation) : 0;

		if (task && params && !task->stopped && may_be_on(p, params->home_cpu))
			return params->home_cpu;
	}
	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (is_idle && !must_wait(p))
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
	return cpu;
}

/* A thread that was not just woken is queued: wake an idle CPU that may run it. */
static __always_inline void wake_idle(const struct task_struct *p, u64 enq_flags)
{
	const struct takt_beats *host = beats();
	int idle;

	if (enq_flags & SCX_ENQ_WAKEUP || !host || host->cpu_count < 2)
		return;
	idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
}

/*
 * A kernel thread of one CPU preempts any thread of a lower tier there. It waits for a beat, as it
 * would for a SCHED_FIFO thread, and no longer than for the end of the slot.
 */
static __always_inline void enqueue_kernel(struct task_struct *p, struct takt_cpu *c, u32 cpu,
					   u32 runs_softirqs, u64 enq_flags)
{
	if (c && c->open && !c->offline && (c->tier == TIER_BEAT || c->comes || c->returning)) {
		c->kernel_waits = 1;
		scx_bpf_dsq_insert(p, QUEUE_KERNEL + cpu, slice_ns, enq_flags);
		return;
	}
	/*
	 * Among equals it queues, but the alarm may be one of the softirqs. One that was preempted
	 * itself does not come before the thread that preempted it.
	 */
	if (c && (runs_softirqs ? c->tier <= TIER_KERNEL :
				  enq_flags & SCX_ENQ_WAKEUP && c->tier < TIER_KERNEL))
		enq_flags |= SCX_ENQ_PREEMPT;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
}

static __always_inline void enqueue_network(struct task_struct *p, const struct takt_cpu *c,
					    u32 cpu, u64 enq_flags)
{
	network_waits = 1;
	scx_bpf_dsq_insert(p, QUEUE_NETWORK, slice_ns, enq_flags);
	if (c && c->tier == TIER_ORDINARY && enq_flags & SCX_ENQ_WAKEUP)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	else
		wake_idle(p, enq_flags);
}

static __always_inline void enqueue_ordinary(struct task_struct *p, u64 enq_flags)
{
	u32 cpu = scx_bpf_task_cpu(p);
	const struct takt_cpu *c = cpu_of(cpu);

	fair_enqueue(p, QUEUE_ORDINARY + (c ? c->llc : 0), enq_flags);
	if (c && enq_flags & SCX_ENQ_WAKEUP && fair_preempts(p, c))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	else
		wake_idle(p, enq_flags);
}

/*
 * The kernel leaves softirqs to ksoftirqd when another thread is to run, and timers are among them:
 * until they have run, no alarm is set. So it comes first when it wakes, and among the network's
 * threads if it is not done then, unless that has left the alarm pending.
 */
static __always_inline int has_alarm(const struct task_struct *p, const struct takt_thread *thread,
				     u64 enq_flags)
{
	const struct takt_cpu *c;

	if (!thread->runs_softirqs)
		return 0;
	c = cpu_of(scx_bpf_task_cpu(p));
	return enq_flags & SCX_ENQ_WAKEUP || (c && is_overdue(c));
}

SEC("struct_ops/enqueue")
int BPF_PROG(takt_beats_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct takt_thread *thread = marked_thread_of(p);

	if (thread && thread->calibrates && calibrate_enqueue(p, enq_flags))
		return 0;
	/* The kernel takes the CPU for idle now, and would not dispatch again. */
	if (enq_flags & SCX_ENQ_LAST && !(thread && thread->parked))
		scx_bpf_kick_cpu(scx_bpf_task_cpu(p), SCX_KICK_IDLE);
	if (thread && thread->reservation) {
		const struct takt_member *member = reservation_of(thread, p);

		if (member && member_enqueue(p, thread, member, enq_flags))
			return 0;
	}
	if (thread && (thread->tier == TIER_KERNEL || has_alarm(p, thread, enq_flags))) {
		u32 cpu = scx_bpf_task_cpu(p);

		enqueue_kernel(p, cpu_of(cpu), cpu, thread->runs_softirqs, enq_flags);
		return 0;
	}
	if (!is_on_leaving(p) && throttle(p, enq_flags))
		return 0;
	/* No other thread wants this CPU, or it is going offline. */
	if (enq_flags & SCX_ENQ_LAST || is_on_leaving(p)) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
		return 0;
	}
	if (thread && thread->tier == TIER_NETWORK) {
		u32 cpu = scx_bpf_task_cpu(p);

		enqueue_network(p, cpu_of(cpu), cpu, enq_flags);
		return 0;
	}
	enqueue_ordinary(p, enq_flags);
	return 0;
}

static __always_inline int kernel_dispatch(struct takt_cpu *c, u32 cpu)
{
	c->kernel_waits = scx_bpf_dsq_nr_queued(QUEUE_KERNEL + cpu) > 1;
	return scx_bpf_dsq_move_to_local(QUEUE_KERNEL + cpu);
}

/* The CPU is new, or has had no slots so far: set its alarm to now. */
static __always_inline void activate(struct takt_cpu *c, u32 cpu, const struct takt_beats *host)
{
	u64 now_ns = bpf_ktime_get_ns();

	if (!c->armed_ns || c->generation != host->generation)
		set_alarm(c, cpu, now_ns, now_ns);
}

SEC("struct_ops/dispatch")
int BPF_PROG(takt_beats_dispatch, int cpu, struct task_struct *prev)
{
	const struct takt_beats *host = beats();
	struct takt_cpu *c = cpu_of(cpu);
	u64 now_ns;

	if (!c || !host)
		return 0;
	if (c->offline)
		return 0;
	if (!is_armed(c))
		activate(c, cpu, host);
	if (c->frees != host->frees) {
		c->frees = host->frees;
		free_waiting();
	}
	now_ns = bpf_ktime_get_ns();
	catch_up(c, cpu, now_ns);
	if (is_overdue(c))
		call_alarm(cpu);
	if (c->open && member_dispatch(c, cpu, prev, takt_max(now_ns, c->looked_ns)))
		return 0;
	if (c->kernel_waits && kernel_dispatch(c, cpu))
		return 0;
	if (c->ticked && takt_beats_overdue(cpu))
		return 0;
	set_aside(c->llc);
	if (!free_dispatch(host, c, cpu, prev))
		go_on(prev, c);
	return 0;
}

SEC("struct_ops/running")
int BPF_PROG(takt_beats_running, struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id(), tier = TIER_ORDINARY;
	struct takt_cpu *c = cpu_of(cpu);
	struct takt_thread *thread = 0;

	if (!c)
		return 0;
	/* Beats have a slice of their own, and other tiers are kernel threads. */
	if (is_beat_slice(p) || p->flags & PF_KTHREAD) {
		const struct takt_member *member;

		thread = thread_of(p);
		member = thread ? reservation_of(thread, p) : 0;
		if (member) {
			c->since_ns = beat_clock_ns(c);
			tier = member_running(p, thread, member, c, cpu, c->since_ns);
		} else if (thread) {
			tier = thread->tier;
		}
	}
	if (tier == TIER_ORDINARY) {
		/* It was admitted, and has lost its reservation since. */
		if (is_beat_slice(p))
			p->scx.slice = slice_ns;
		fair_running(p, c);
	}
	if (tier != TIER_BEAT && c->open && is_before_a_member(c)) {
		p->scx.slice = 0;
		cut(cpu);
	}
	c->tier = tier;
	c->stopped_ns = 0;
	c->since_clock_ns = p->se.exec_start;
	if (tier == TIER_BEAT) {
		arrive(c);
		return 0;
	}
	/* A thread that comes back after one of a higher class was not dispatched. */
	if (is_overdue(c))
		call_alarm(cpu);
	c->comes = 0;
	if (thread)
		calibrate_running(thread, c);
	return 0;
}

SEC("struct_ops/stopping")
int BPF_PROG(takt_beats_stopping, struct task_struct *p, _Bool runnable)
{
	struct takt_cpu *c = cpu_of(bpf_get_smp_processor_id());

	if (!c)
		return 0;
	if (c->tier == TIER_BEAT) {
		struct takt_thread *thread = thread_of(p);
		u64 now_ns = beat_clock_ns(c);

		c->stopped_ns = now_ns;
		if (thread)
			member_stopping(p, thread, c, now_ns - c->since_ns, now_ns, runnable);
		c->task = TAKT_NO_TASK;
	} else {
		charge(p, c);
	}
	c->tier = TIER_NONE;
	return 0;
}

SEC("struct_ops/yield")
int BPF_PROG(takt_beats_yield, struct task_struct *from, struct task_struct *to)
{
	struct takt_thread *thread = marked_thread_of(from);
	struct takt_cpu *c = cpu_of(bpf_get_smp_processor_id());

	if (thread && c && thread->reservation) {
		const struct takt_member *member = reservation_of(thread, from);
		u32 pass = member ? asked_pass(from, member, c) : TAKT_PASS_NEXT;

		/* A member that passes its turn to itself goes on. */
		if (member && (is_early(c, pass) || pass == member->ordinal + 1))
			return 0;
		if (member)
			member_yield(thread, member, c, pass);
	}
	from->scx.slice = 0;
	return 0;
}

SEC("struct_ops/tick")
int BPF_PROG(takt_beats_tick, struct task_struct *p)
{
	struct takt_cpu *c = cpu_of(bpf_get_smp_processor_id());

	network_waits = 1;
	if (c) {
		c->strays = c->ticked = 1;
		c->tick_ns = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("struct_ops/enable")
int BPF_PROG(takt_beats_enable, struct task_struct *p)
{
	p->scx.dsq_vtime = virtual_now;
	return 0;
}

SEC("struct_ops/init_task")
int BPF_PROG(takt_beats_begin_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct takt_thread *thread;
	u64 name[2];

	thread = bpf_task_storage_get(&takt_beats_threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return -12;
	read_comm(name, p);
	takt_beats_identify(p, thread, name);
	return 0;
}

SEC("struct_ops/exit_task")
int BPF_PROG(takt_beats_end_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct takt_thread *thread = thread_of(p);

	if (thread)
		leave_reservation(p, thread);
	return 0;
}

SEC("struct_ops/cpu_offline")
int BPF_PROG(takt_beats_offline, int cpu)
{
	cpu_leaves(cpu);
	return 0;
}

SEC("struct_ops/cpu_online")
int BPF_PROG(takt_beats_online, int cpu)
{
	cpu_comes(cpu);
	return 0;
}

SEC("struct_ops.s/init")
int BPF_PROG(takt_beats_init)
{
	const struct takt_beats *host = beats();
	u32 cpu, member, llc;
	int error;

	if (!host)
		return -EINVAL;
	slice_ns = slice_on(host->cpu_count);
	error = scx_bpf_create_dsq(QUEUE_NETWORK, -1);
	bpf_for(llc, 0, host->llc_count) {
		if (error)
			break;
		error = scx_bpf_create_dsq(QUEUE_ORDINARY + llc, -1);
	}
	bpf_for(cpu, 0, host->cpu_count) {
		u32 key = cpu;
		struct takt_alarm *alarm = bpf_map_lookup_elem(&takt_beats_alarms, &key);

		if (error || !alarm)
			break;
		error = scx_bpf_create_dsq(QUEUE_STRAY + cpu, -1);
		if (!error)
			error = scx_bpf_create_dsq(QUEUE_CALIBRATE + cpu, -1);
		if (!error)
			error = scx_bpf_create_dsq(QUEUE_KERNEL + cpu, -1);
		if (!error)
			error = bpf_timer_init(&alarm->timer, &takt_beats_alarms, CLOCK_MONOTONIC);
		if (!error)
			error = bpf_timer_set_callback(&alarm->timer, takt_beats_on_alarm);
	}
	bpf_for(member, 0, TAKT_MEMBERS) {
		if (error)
			break;
		error = scx_bpf_create_dsq(QUEUE_MEMBER + member, -1);
	}
	return error ?: start_watch();
}

/* Record why the kernel, or takt, ended the scheduler. */
SEC("struct_ops/exit")
int BPF_PROG(takt_beats_exit, struct scx_exit_info *info)
{
	struct takt_beats *host = beats();

	if (!host)
		return 0;
	host->exit_code = info->exit_code;
	bpf_probe_read_kernel_str(host->exit_reason, sizeof(host->exit_reason), info->reason);
	bpf_probe_read_kernel_str(host->exit_message, sizeof(host->exit_message), info->msg);
	host->exit_kind = info->kind;
	return 0;
}

/* A thread changes its name, by itself or because it executes another program. */
SEC("tp_btf/task_rename")
int BPF_PROG(takt_beats_renamed, struct task_struct *p, const char *comm)
{
	struct takt_thread *thread = thread_of(p);
	u64 name[2] = {};

	if (!thread)
		return 0;
	bpf_probe_read_kernel_str(name, TAKT_COMM_BYTES, comm);
	takt_beats_identify(p, thread, name);
	return 0;
}

/* Before its end becomes visible: its member is free when a successor comes. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(takt_beats_died, struct task_struct *p)
{
	struct takt_thread *thread = thread_of(p);

	if (thread)
		leave_reservation(p, thread);
	return 0;
}

/* User space has written new tables: have every CPU read them. */
SEC("syscall")
int takt_beats_commit(struct takt_beats_commit_args *args)
{
	struct takt_beats *host = beats();
	u32 cpu, task;

	if (!host)
		return 0;
	bpf_for(task, 0, TAKT_TASKS) {
		struct takt_task *known = task_of(task);

		if (known)
			known->stopped = 0;
	}
	host->generation = args->generation;
	free_everywhere();
	bpf_for(cpu, 0, host->cpu_count)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 0;
}

/* Members are new, or free again: does a rule give one to this thread? */
SEC("syscall")
int takt_beats_recognise(struct takt_join_args *args)
{
	struct takt_thread *thread;
	struct task_struct *p = bpf_task_from_pid(args->tid);
	u64 name[2];

	if (!p)
		return 0;
	thread = thread_of(p);
	if (thread && !(p->flags & PF_EXITING)) {
		read_comm(name, p);
		takt_beats_identify(p, thread, name);
	}
	bpf_task_release(p);
	return 0;
}

/* Give a member to a thread, or take it from the thread that holds it (tid 0). */
SEC("syscall")
int takt_beats_reserve(struct takt_join_args *args)
{
	struct takt_member *member = member_of(args->member);
	struct takt_thread *thread;
	struct task_struct *p;
	u32 tid = args->tid;

	args->result = -EINVAL;
	if (!member)
		return 0;
	if (!tid)
		tid = member->tid;
	p = bpf_task_from_pid(tid);
	args->result = -ESRCH;
	if (!p)
		return 0;
	thread = thread_of(p);
	if (thread) {
		args->result = 0;
		if (args->tid)
			args->result = take_reservation(p, thread, args->member, 1);
		else
			leave_reservation(p, thread);
	}
	bpf_task_release(p);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops takt_beats_ops = {
	.select_cpu = (void *)takt_beats_select,
	.enqueue = (void *)takt_beats_enqueue,
	.dispatch = (void *)takt_beats_dispatch,
	.running = (void *)takt_beats_running,
	.stopping = (void *)takt_beats_stopping,
	.tick = (void *)takt_beats_tick,
	.yield = (void *)takt_beats_yield,
	.enable = (void *)takt_beats_enable,
	.init_task = (void *)takt_beats_begin_task,
	.exit_task = (void *)takt_beats_end_task,
	.cgroup_init = (void *)takt_beats_newgroup,
	.cgroup_exit = (void *)takt_beats_oldgroup,
	.cgroup_set_bandwidth = (void *)takt_beats_setlimit,
	.cpu_online = (void *)takt_beats_online,
	.cpu_offline = (void *)takt_beats_offline,
	.init = (void *)takt_beats_init,
	.exit = (void *)takt_beats_exit,
	.flags = SCX_OPS_ENQ_LAST,
	.timeout_ms = 30000,
	.name = "takt",
};
