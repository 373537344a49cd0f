/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The bounds of every flow under the congestion control, by its socket. The congestion control's
 * object makes the map; the monitor reads it, or has an empty one of its own if no congestion
 * control is loaded.
 */
#ifndef TAKT_CROWD_FLOWS_MAP_H
#define TAKT_CROWD_FLOWS_MAP_H

#include "kernel.h"
#include "crowd_maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct takt_crowd_flow);
} takt_crowd_flows SEC(".maps");

#endif
