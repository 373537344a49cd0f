/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The owner of a socket, and the answers of the policies' questions about it.
 *
 * Answers depend on names and numbers alone, so a unit that restarts, or is made later, is
 * recognised. Both slots are answered at once; the qdisc's plan says which of them counts.
 */
#ifndef TAKT_OWNER_H
#define TAKT_OWNER_H

#include "cgroup_names.h"
#include "kernel_task.h"
#include "labels_map.h"
#include "owner_maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, TAKT_QUESTIONS);
	__type(key, struct takt_question);
	__type(value, struct takt_answer);
} takt_owner_questions SEC(".maps");

static __always_inline void read_owner(struct owner *owner, const struct task_struct *task)
{
	owner->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
	owner->tgid = BPF_CORE_READ(task, tgid);
	owner->uid = BPF_CORE_READ(task, cred, euid.val);
	owner->task_prio = takt_task_prio(BPF_CORE_READ(task, normal_prio),
					  BPF_CORE_READ(task, policy) == SCHED_IDLE);
	read_comm(owner->process, BPF_CORE_READ(task, group_leader));
	read_comm(owner->thread, task);
}

/* Is it the same process, unchanged? Threads differ, and the first one counts. */
static __always_inline int same_owner(const struct owner *a, const struct owner *b)
{
	return a->cgroup_id == b->cgroup_id && a->tgid == b->tgid && a->uid == b->uid &&
	       a->process[0] == b->process[0] && a->process[1] == b->process[1];
}

static __always_inline void ask(const struct takt_question *question,
				struct takt_answer *answer)
{
	const struct takt_answer *found = bpf_map_lookup_elem(&takt_owner_questions, question);

	if (!found)
		return;
	answer->who[0] |= found->who[0];
	answer->who[1] |= found->who[1];
}

/* Ask about every control group from the root to the task's. */
static __always_inline void ask_groups(struct takt_question *question,
				       struct takt_answer *answer,
				       const struct task_struct *task)
{
	const struct cgroup *group = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	int level, levels = BPF_CORE_READ(group, level);
	struct name_hash hash = { .path = TAKT_FNV_BASIS };

	/* Before Linux 6.4 the kernel has no iterator of its own for this. */
	for (level = 1; level <= CGROUP_LEVELS; level++) {
		struct cgroup *ancestor;

		if (level > levels)
			break;
		if (bpf_core_read(&ancestor, sizeof(ancestor), &group->ancestors[level]))
			break;
		if (level > 1)
			hash.path = (hash.path ^ '/') * TAKT_FNV_PRIME;
		takt_cgroup_hash((u64)BPF_CORE_READ(ancestor, kn, name), &hash);
		question->kind = TAKT_ASK_CGROUP;
		question->name[0] = hash.path;
		ask(question, answer);
		question->kind = TAKT_ASK_UNIT;
		question->name[0] = hash.name;
		ask(question, answer);
	}
}

/* The answers of a watch's questions about an owner, which is this task. */
static __always_inline void answer_for(struct takt_answer *answer,
				       const struct takt_watch *watch,
				       const struct owner *owner,
				       const struct task_struct *task)
{
	struct takt_question question = { .netns_cookie = watch->netns_cookie };

	answer->who[0] = answer->who[1] = 0;
	if (watch->kinds & (1 << TAKT_ASK_CGROUP | 1 << TAKT_ASK_UNIT))
		ask_groups(&question, answer, task);
	if (watch->kinds & 1 << TAKT_ASK_APP) {
		question.kind = TAKT_ASK_APP;
		question.name[0] = owner->process[0];
		question.name[1] = owner->process[1];
		ask(&question, answer);
		question.name[0] = owner->thread[0];
		question.name[1] = owner->thread[1];
		ask(&question, answer);
	}
	if (watch->kinds & 1 << TAKT_ASK_USER) {
		question.kind = TAKT_ASK_USER;
		question.name[0] = question.name[1] = 0;
		question.uid = owner->uid;
		ask(&question, answer);
	}
}

#endif
