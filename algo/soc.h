/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The strength of connection (SoC) of a station, and the weight that follows from it. After
 * SoCPS, section 4: a station's signal-to-noise ratio, averaged over an interval of 100 ms to 1
 * s, is reported every interval, and
 *
 *   a report      soc <- alpha * sample + (1 - alpha) * soc	(figure 7)
 *   none came     soc <- beta * soc, for each interval		(section 4.2, figure 4)
 *   weight        GB: 1 above a threshold, 0 otherwise		(figure 5)
 *                 PW: linear between points			(figure 6)
 *
 * The first report of a station is its SoC. A report is missing when it is half an interval late,
 * so a report on its way costs nothing. The paper's beta assumes a SoC above 0 dB; one below
 * would rise by it. So such a SoC is not decayed: missing reports never make a station better.
 *
 * SoC is in hundredths of a dB, shares and weights in parts per million. In between, SoC is kept
 * in millionths of a dB: with a small alpha it would otherwise stop short of the samples.
 */
#ifndef TAKT_SOC_H
#define TAKT_SOC_H

#include "abi.h"

/* Limits of a report; a sample beyond is clamped. */
#define TAKT_SOC_MIN_CENTIDB (-2000)
#define TAKT_SOC_MAX_CENTIDB 6000
#define TAKT_SOC_POINTS 16U

#define TAKT_PPM 1000000U
#define TAKT_MICRODB_PER_CENTIDB 10000U

#define TAKT_SOC_GB 0U
#define TAKT_SOC_PW 1U

struct takt_soc_point {
	s32 soc_centidb;
	u32 weight_ppm;
};

struct takt_soc_params {
	u64 interval_ns;
	u32 smoothing_ppm;	/* alpha, 1..PPM */
	u32 decay_ppm;		/* beta, 0..PPM */
	u32 law;		/* TAKT_SOC_GB or TAKT_SOC_PW */
	s32 threshold_centidb;	/* of GB */
	u32 point_count;	/* of PW: 1..SOC_POINTS */
	u32 pad;
	/* Both numbers rise from point to point. */
	struct takt_soc_point points[TAKT_SOC_POINTS];
};

struct takt_soc {
	s64 soc_microdb;
	u64 heard_ns;		/* when the last report came */
	u64 missed;		/* intervals since then without a report */
	u32 heard;		/* a report came at least once */
	u32 pad;
};

struct takt_soc_stats {
	u64 reports;
	u64 missed;
};

/* amount * share; does not overflow for amounts of a SoC. */
TAKT_FN u64 takt_soc_share(u64 amount, u64 share_ppm)
{
	return amount * share_ppm / TAKT_PPM;
}

/* Hundredths of a dB, rounded to the nearest. */
TAKT_FN s32 takt_soc_centidb(const struct takt_soc *soc)
{
	s64 microdb = soc->soc_microdb;
	u64 half = TAKT_MICRODB_PER_CENTIDB / 2;

	/* BPF has no signed division. */
	if (microdb < 0)
		return -(s32)(((u64)-microdb + half) / TAKT_MICRODB_PER_CENTIDB);
	return (s32)(((u64)microdb + half) / TAKT_MICRODB_PER_CENTIDB);
}

/*
 * beta to the power of `intervals`, in units of 2^-31, by squaring: it takes as many steps as the
 * number has bits.
 */
#define TAKT_SOC_ONE (1ULL << 31)

TAKT_FN u64 takt_soc_power(u64 decay_ppm, u64 intervals)
{
	u64 square = takt_min(decay_ppm, TAKT_PPM) * TAKT_SOC_ONE / TAKT_PPM;
	u64 power = TAKT_SOC_ONE;
	u32 bit;

	for (bit = 0; bit < 64; bit++) {
		if (intervals >> bit & 1)
			power = power * square / TAKT_SOC_ONE;
		square = square * square / TAKT_SOC_ONE;
	}
	return power;
}

/* This many intervals have passed without a report. */
TAKT_FN void takt_soc_decay(struct takt_soc *soc, const struct takt_soc_params *params,
			    u64 intervals)
{
	if (soc->soc_microdb <= 0)
		return;
	soc->soc_microdb = (u64)soc->soc_microdb *
			   takt_soc_power(params->decay_ppm, intervals) / TAKT_SOC_ONE;
}

/* Count missing reports up to now. To be called every interval. */
TAKT_FN void takt_soc_tick(struct takt_soc *soc, struct takt_soc_stats *stats,
			   const struct takt_soc_params *params, u64 now_ns)
{
	u64 late_ns = params->interval_ns / 2;
	u64 silent_ns, missed;

	if (!soc->heard || !params->interval_ns || now_ns < soc->heard_ns)
		return;
	silent_ns = now_ns - soc->heard_ns;
	if (silent_ns < late_ns)
		return;
	missed = (silent_ns - late_ns) / params->interval_ns;
	if (missed <= soc->missed)
		return;
	takt_soc_decay(soc, params, missed - soc->missed);
	stats->missed += missed - soc->missed;
	soc->missed = missed;
}

/* A report came. */
TAKT_FN void takt_soc_report(struct takt_soc *soc, struct takt_soc_stats *stats,
			     const struct takt_soc_params *params, s32 sample_centidb,
			     u64 now_ns)
{
	u64 alpha_ppm = takt_min(params->smoothing_ppm, TAKT_PPM);
	s64 sample_microdb, step;

	if (sample_centidb < TAKT_SOC_MIN_CENTIDB)
		sample_centidb = TAKT_SOC_MIN_CENTIDB;
	if (sample_centidb > TAKT_SOC_MAX_CENTIDB)
		sample_centidb = TAKT_SOC_MAX_CENTIDB;
	sample_microdb = (s64)sample_centidb * (s32)TAKT_MICRODB_PER_CENTIDB;

	takt_soc_tick(soc, stats, params, now_ns);
	if (!soc->heard) {
		soc->soc_microdb = sample_microdb;
	} else {
		step = sample_microdb - soc->soc_microdb;
		if (step < 0)
			soc->soc_microdb -= (s64)takt_soc_share(-step, alpha_ppm);
		else
			soc->soc_microdb += (s64)takt_soc_share(step, alpha_ppm);
	}
	soc->heard = 1;
	soc->heard_ns = now_ns;
	soc->missed = 0;
	stats->reports++;
}

/* Linear from one point to the next. */
TAKT_FN u32 takt_soc_between(const struct takt_soc_point *from,
			     const struct takt_soc_point *to, s32 soc_centidb)
{
	u64 width = (u32)to->soc_centidb - (u32)from->soc_centidb;
	u64 along = (u32)soc_centidb - (u32)from->soc_centidb;

	/* Points that do not rise, against the precondition. */
	if (to->soc_centidb <= from->soc_centidb || to->weight_ppm <= from->weight_ppm)
		return from->weight_ppm;
	return from->weight_ppm + (to->weight_ppm - from->weight_ppm) * along / width;
}

/*
 * The weight of a SoC. Before the first point it is the first one's, after the last the last
 * one's.
 */
TAKT_FN_OUT u32 takt_soc_weight(const struct takt_soc_params *params TAKT_ARG, s32 soc_centidb)
{
	const struct takt_soc_point *points = params->points;
	u32 i;

	if (params->law == TAKT_SOC_GB)
		return soc_centidb > params->threshold_centidb ? TAKT_PPM : 0;
	if (soc_centidb < points[0].soc_centidb)
		return points[0].weight_ppm;
	for (i = 0; i + 1 < TAKT_SOC_POINTS && i + 1 < params->point_count; i++)
		if (soc_centidb < points[i + 1].soc_centidb)
			return takt_soc_between(&points[i], &points[i + 1], soc_centidb);
	return points[i & (TAKT_SOC_POINTS - 1)].weight_ppm;
}

#endif
