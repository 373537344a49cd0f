/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Classification: which class does a frame belong to?
 *
 * A rule is a masked key: "these bits of the header are exactly these". Rules
 * with the same mask form a tuple, and within a tuple one hash probe finds the
 * only rule that can match (tuple space search: Srinivasan, Suri, Varghese,
 * SIGCOMM '99). So cost grows with the number of different masks, not with the
 * number of rules: two thousand classes told apart by destination port are one
 * probe. Port ranges and prefixes are broken into masks by the planner.
 *
 * Rules carry the order in which the policy names them; the first one that
 * matches wins. Tuples are sorted by their first rule, so the search ends as
 * soon as no better one can follow.
 */
#ifndef TAKT_CLASSIFY_H
#define TAKT_CLASSIFY_H

#include "abi.h"

#define TAKT_RULES 8192
#define TAKT_TUPLES 64
#define TAKT_RULE_BUCKETS 32768
#define TAKT_PROBES_MAX 32	/* the planner lays out the table within this */

#define TAKT_FAMILY_OTHER 0
#define TAKT_FAMILY_IPV4 4
#define TAKT_FAMILY_IPV6 6

#define TAKT_KEY_WORDS 6

/* What of a frame can be asked for. IPv4 addresses stand in the first word. */
struct takt_key {
	u32 src[4], dst[4];	/* as on the wire */
	u32 mark;		/* skb->mark */
	u16 src_port, dst_port;	/* host order */
	u8 family;		/* TAKT_FAMILY_* */
	u8 proto;		/* behind IPv6 extension headers */
	u8 dscp;		/* 0..63 */
	u8 has_ports;		/* 1: the ports were read */
	u32 pad;
} __attribute__((aligned(8)));

struct takt_tuple {
	struct takt_key mask;
	u32 first_order;	/* the best order of any of its rules */
	u32 pad;
};

struct takt_rule {
	struct takt_key key;	/* already masked */
	u32 order;		/* lower wins; unique */
	u16 class_id;
	u16 tuple;
};

struct takt_rules {
	u32 tuples;
	u32 default_class;
	struct takt_tuple tuple[TAKT_TUPLES];
	u16 bucket[TAKT_RULE_BUCKETS];	/* rule index + 1; 0: free */
	struct takt_rule rule[TAKT_RULES];
};

/* The key again, as words to mask, hash and compare. */
typedef u64 __attribute__((may_alias)) takt_word;

TAKT_FN const takt_word *takt_words(const struct takt_key *key)
{
	return (const takt_word *)key;
}

/* Hash of a masked key. The planner lays out takt_rules.bucket with it. */
TAKT_FN u32 takt_rule_hash(const struct takt_key *key, u32 tuple)
{
	u64 hash = tuple + 1;
	u32 i;

	for (i = 0; i < TAKT_KEY_WORDS; i++) {
		hash = (hash ^ takt_words(key)[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	return (u32)hash;
}

TAKT_FN int takt_key_equal(const struct takt_key *a, const struct takt_key *b)
{
	u64 difference = 0;
	u32 i;

	for (i = 0; i < TAKT_KEY_WORDS; i++)
		difference |= takt_words(a)[i] ^ takt_words(b)[i];
	return !difference;
}

/* Index + 1 of the tuple's rule that matches, or 0. */
TAKT_FN_OUT u32 takt_tuple_find(const struct takt_rules *rules,
				const struct takt_key *key, u32 tuple)
{
	const struct takt_tuple *shape;
	struct takt_key masked;
	u32 at, i, found;

	if (!rules || !key)
		return 0;
	shape = &rules->tuple[tuple & (TAKT_TUPLES - 1)];
	for (i = 0; i < TAKT_KEY_WORDS; i++)
		((takt_word *)&masked)[i] = takt_words(key)[i] & takt_words(&shape->mask)[i];

	at = takt_rule_hash(&masked, tuple);
	for (i = 0; i < TAKT_PROBES_MAX; i++) {
		const struct takt_rule *rule;

		found = rules->bucket[(at + i) & (TAKT_RULE_BUCKETS - 1)];
		if (!found)
			return 0;
		rule = &rules->rule[(found - 1) & (TAKT_RULES - 1)];
		if (rule->tuple == tuple && takt_key_equal(&rule->key, &masked))
			return found;
	}
	return 0;
}

/* The class of a frame with this key. */
TAKT_FN_OUT u32 takt_classify(const struct takt_rules *rules,
			      const struct takt_key *key)
{
	u32 class_id, best = ~0U, i;

	if (!rules || !key)
		return 0;
	class_id = rules->default_class;
	for (i = 0; i < TAKT_TUPLES && i < rules->tuples; i++) {
		const struct takt_rule *rule;
		u32 found;

		if (rules->tuple[i].first_order >= best)
			break;
		found = takt_tuple_find(rules, key, i);
		if (!found)
			continue;
		rule = &rules->rule[(found - 1) & (TAKT_RULES - 1)];
		if (rule->order < best) {
			best = rule->order;
			class_id = rule->class_id;
		}
	}
	return class_id;
}

#endif
