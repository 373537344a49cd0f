/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The map of downloads, which two objects share. */
#ifndef TAKT_DOWNLOADS_MAP_H
#define TAKT_DOWNLOADS_MAP_H

#include "kernel.h"
#include "crowd_maps.h"
#include "download.h"

/* Network namespaces that may have downloads bounded at the same time. */
#define NAMESPACES 1024

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NAMESPACES);
	__type(key, u64);
	__type(value, struct takt_crowd_downloads);
} takt_crowd_downloads SEC(".maps");

/* Of a pass: one that its window limits. */
static void count_download(struct takt_crowd_downloads *terms,
			   const struct takt_window_sample *sample)
{
	if (!takt_download_counts(sample))
		return;
	terms->received_rate += sample->rate;
	terms->flows++;
}

#endif
