/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading the names of threads and of control groups. */
#ifndef TAKT_CGROUP_NAMES_H
#define TAKT_CGROUP_NAMES_H

#include "names.h"
#include "task.h"

#define CGROUP_LEVELS 32	/* deeper groups are not distinguished */
#define NAME_PART_BYTES 64
#define NAME_PARTS 5		/* 255 bytes, of which 63 fit beside the final zero */

struct name_hash {
	u64 path;		/* of all names so far, with slashes between */
	u64 name;		/* of the last name alone */
};

static __always_inline void read_comm(u64 comm[2], const struct task_struct *task)
{
	comm[0] = comm[1] = 0;
	bpf_core_read_str(comm, TAKT_COMM_BYTES, &task->comm);
}

/* Add a control group's name, which is at this address. */
__noinline int takt_cgroup_hash(u64 address, struct name_hash *hash TAKT_ARG)
{
	char part[NAME_PART_BYTES];
	u32 at, i;

	/* To kernels before 6.8 it may be null; those before 6.4 lack bpf_for. */
	if (!hash)
		return 0;
	hash->name = TAKT_FNV_BASIS;
	for (at = 0; at < NAME_PARTS; at++) {
		const void *from = (const void *)(address + at * (NAME_PART_BYTES - 1));

		if (bpf_probe_read_kernel_str(part, sizeof(part), from) <= 0)
			return 0;
		for (i = 0; i < NAME_PART_BYTES - 1; i++) {
			u8 letter = part[i];

			if (!letter)
				return 0;
			hash->path = (hash->path ^ letter) * TAKT_FNV_PRIME;
			hash->name = (hash->name ^ letter) * TAKT_FNV_PRIME;
		}
	}
	return 0;
}

#endif
