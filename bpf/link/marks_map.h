/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Marks that are due, by flow: its packets' identity under the link's secret. The qdisc's object
 * makes the map. The flow that was not used for longest goes if there are too many.
 */
#ifndef TAKT_MARKS_MAP_H
#define TAKT_MARKS_MAP_H

#include "kernel.h"
#include "link_maps.h"

#define TAKT_MARKED_FLOWS 1024
#define TAKT_MARKS_DUE_MAX 64U	/* of a flow */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TAKT_MARKED_FLOWS);
	__type(key, u64);
	__type(value, u32);
} takt_link_marks SEC(".maps");

#endif
