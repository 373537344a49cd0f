/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which thread holds which reservation, and how it gets it: by a rule of the policy when the
 * thread is made or renamed, or because it asked.
 */
#ifndef TAKT_RESERVATION_H
#define TAKT_RESERVATION_H

#include "state.h"
#include "cgroup_names.h"

#define EBUSY 16
#define ESRCH 3
#define EPERM 1

/* Have all members joined? Only then is hand-off order enforced. */
static __always_inline int all_here(const struct takt_task_params *params)
{
	u32 i;

	for (i = 0; i < TAKT_MEMBERS_MAX; i++) {
		const struct takt_member *member;

		if (i >= params->turns.member_count)
			break;
		member = member_of(params->first_member + i);
		if (!member || !member->tid)
			return 0;
	}
	return 1;
}

static __always_inline int take_reservation(struct task_struct *p, struct takt_thread *thread,
					    u32 at, u32 asked)
{
	struct takt_member *member = member_of(at);
	struct takt_job_page *page;

	if (!member || !member->expected)
		return -EINVAL;
	if (reservation_of(thread, p))
		return -EBUSY;
	if (!__sync_bool_compare_and_swap(&member->tid, 0, (u32)p->pid))
		return -EBUSY;
	thread->parked = thread->settled = 0;
	thread->job = thread->stopped_ns = 0;
	thread->asked = asked;
	mark(p);
	page = bpf_map_lookup_elem(&takt_beats_jobs, &at);
	if (page)
		page->tid = p->pid;
	thread->reservation = at + 1;
	return 0;
}

static __always_inline void leave_reservation(const struct task_struct *p,
					      struct takt_thread *thread)
{
	struct takt_member *member = reservation_of(thread, p);
	struct takt_job_page *page;
	u32 at;

	if (!member)
		return;
	at = thread->reservation - 1;
	thread->reservation = 0;
	thread->parked = 0;
	page = bpf_map_lookup_elem(&takt_beats_jobs, &at);
	if (page)
		page->tid = 0;
	member->tid = 0;
	/* Threads that wait for its turn now wait in vain. */
	free_everywhere();
}

/* Which of the rule's control-group conditions hold: hashes of a path and of its last name. */
static __always_inline u32 holds_group(const struct takt_member_rule *rule,
				       const struct task_struct *task)
{
	const struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	int level, levels = BPF_CORE_READ(group, level);
	struct name_hash hash = { .path = TAKT_FNV_BASIS };
	u32 holds = 0;

	bpf_for(level, 1, CGROUP_LEVELS + 1) {
		struct cgroup *ancestor;

		if (level > levels)
			break;
		if (bpf_core_read(&ancestor, sizeof(ancestor), &group->ancestors[level]))
			break;
		if (level > 1)
			hash.path = (hash.path ^ '/') * TAKT_FNV_PRIME;
		takt_cgroup_hash((u64)BPF_CORE_READ(ancestor, kn, name), &hash);
		if (hash.path == rule->cgroup)
			holds |= TAKT_RULE_CGROUP;
		if (hash.name == rule->unit)
			holds |= TAKT_RULE_UNIT;
	}
	return holds;
}

/* The names are the thread's and its process's, as they will be from now on. */
static __always_inline int holds(const struct takt_member_rule *rule,
				 const struct task_struct *task, const u64 thread[2],
				 const u64 command[2])
{
	u32 groups = rule->asks & (TAKT_RULE_CGROUP | TAKT_RULE_UNIT);

	if (!rule->asks)
		return 0;
	if (rule->asks & TAKT_RULE_THREAD &&
	    (rule->thread[0] != thread[0] || rule->thread[1] != thread[1]))
		return 0;
	if (rule->asks & TAKT_RULE_COMMAND &&
	    (rule->command[0] != command[0] || rule->command[1] != command[1]))
		return 0;
	if (rule->asks & TAKT_RULE_LEADER && task->pid != task->tgid)
		return 0;
	return !groups || (holds_group(rule, task) & groups) == groups;
}

static __always_inline int starts_with(const char *name, const char *prefix, u32 length)
{
	u32 i;

	for (i = 0; i < length; i++)
		if (name[i] != prefix[i])
			return 0;
	return 1;
}

static __always_inline int is_ksoftirqd(const struct task_struct *task, const u64 name[2])
{
	return task->flags & PF_KTHREAD && starts_with((const char *)name, "ksoftirqd/", 10);
}

/* A kernel thread's work is told by its name alone. */
static __always_inline u32 tier_of(const struct task_struct *task, const u64 name[2])
{
	const char *text = (const char *)name;

	if (!(task->flags & PF_KTHREAD))
		return TIER_ORDINARY;
	if (starts_with(text, "napi/", 5) || starts_with(text, "backlog_napi/", 13) ||
	    is_ksoftirqd(task, name))
		return TIER_NETWORK;
	return task->nr_cpus_allowed == 1 ? TIER_KERNEL : TIER_ORDINARY;
}

/* The thread is new, or was renamed: find its tier and its reservation. */
static __noinline int takt_beats_identify(struct task_struct *p, struct takt_thread *thread,
					  const u64 name[2])
{
	const struct takt_beats *host = beats();
	u64 command[2];
	u32 at;

	thread->tier = tier_of(p, name);
	thread->runs_softirqs = is_ksoftirqd(p, name);
	if (thread->tier != TIER_ORDINARY)
		mark(p);
	if (p->flags & PF_KTHREAD || !host)
		return 0;
	if (p->pid == p->tgid) {
		command[0] = name[0];
		command[1] = name[1];
	} else {
		read_comm(command, BPF_CORE_READ(p, group_leader));
	}
	if (reservation_of(thread, p)) {
		u32 own = thread->reservation - 1;
		const struct takt_member_rule *rule = bpf_map_lookup_elem(&takt_beats_rules, &own);

		if (thread->asked || (rule && holds(rule, p, name, command)))
			return 0;
		leave_reservation(p, thread);
	}
	bpf_for(at, 0, TAKT_MEMBERS) {
		const struct takt_member_rule *rule;
		const struct takt_member *member = member_of(at);

		if (at >= host->rule_count)
			break;
		if (!member || member->tid || !member->expected)
			continue;
		rule = bpf_map_lookup_elem(&takt_beats_rules, &at);
		if (rule && holds(rule, p, name, command) &&
		    !take_reservation(p, thread, at, 0))
			return 0;
	}
	return 0;
}

#endif
