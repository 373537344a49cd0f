/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Uploads of the terminals behind a link: of each flow whose acknowledgements leave by it the last
 * number, and the terminal that they go to. From one look to the next, the numbers' difference is
 * what the terminal uploaded.
 *
 * User space looks at any time, without a lock: while a place gets another flow, its flow is 0. A
 * flow's number changes alone. Flows with the same place take it from each other; each look sees
 * one of them, and the next look at the other still finds all of its difference.
 */
#ifndef TAKT_UPLOADS_H
#define TAKT_UPLOADS_H

#include "station.h"

#define TAKT_UPLOADS 1024	/* flows that are seen at one time */

struct takt_upload {
	u64 flow;	/* see takt_flow_identity(); 0: none, or it is being written */
	/* Of the terminal; all zero: not known. */
	struct takt_address mac, ip;
	u32 ack;	/* all before this number has arrived */
	u32 pad;
};

struct takt_uploads {
	struct takt_upload at[TAKT_UPLOADS];
};

TAKT_FN struct takt_upload *takt_upload(struct takt_uploads *uploads, u64 flow)
{
	return &uploads->at[flow * 0x9e3779b97f4a7c15ULL >> 54 & (TAKT_UPLOADS - 1)];
}

/*
 * An acknowledgement of this flow leaves, with this key; mac is its receiver's, the first byte
 * highest, or 0.
 */
TAKT_FN_OUT int takt_upload_note(struct takt_uploads *uploads TAKT_ARG,
				 const struct takt_key *key TAKT_ARG, u64 mac, u64 flow, u32 ack)
{
	struct takt_upload *upload = takt_upload(uploads, flow);

	if (upload->flow == flow) {
		upload->ack = ack;
		return 0;
	}
	/* Both are barriers. */
	__sync_val_compare_and_swap(&upload->flow, upload->flow, 0);
	upload->ack = ack;
	takt_address_ip(&upload->ip, key);
	upload->mac.word[0] = upload->mac.word[1] = 0;
	if (mac)
		takt_address_mac(&upload->mac, mac);
	__sync_val_compare_and_swap(&upload->flow, 0, flow);
	return 0;
}

#endif
