/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A watched socket's owner and answers, stored with it. Include kernel.h or plain.h before. */
#ifndef TAKT_LABELS_MAP_H
#define TAKT_LABELS_MAP_H

#include "sockets.h"

struct owner {
	u64 cgroup_id;
	u32 tgid;
	u32 uid;		/* effective */
	u32 task_prio;		/* its own, see gate.h; in a survey its thread group leader's */
	u32 pad;
	u64 process[2];		/* the name, padded with zeros */
	u64 thread[2];
};

/* An accepted socket inherits its listener's. */
struct label {
	struct owner owner;
	struct takt_answer answer;
	u32 generation;	/* watch.generation when the questions were answered; 0: never */
	u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC | BPF_F_CLONE);
	__type(key, int);
	__type(value, struct label);
} takt_owner_labels SEC(".maps");

#endif
