/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Classification: which class does a frame belong to?
 *
 * A rule is a masked key: "these bits of the header have these values". Rules with the same mask
 * form a tuple, and within a tuple one hash probe finds the only rule that can match (tuple space
 * search: Srinivasan, Suri, Varghese, SIGCOMM '99). So cost grows with the number of different
 * masks, not with the number of rules: two thousand classes told apart by destination port are
 * one probe. The planner splits port ranges and prefixes into masks.
 *
 * Rules carry the order in which the policy names them; the first one that matches wins. Tuples
 * are sorted by their first rule, so the search ends as soon as no better one can follow.
 */
#ifndef TAKT_CLASSIFY_H
#define TAKT_CLASSIFY_H

#include "abi.h"

#define TAKT_CLASSES 4096	/* ids 1..4095, of classes and tenants; 0 is none */
#define TAKT_RULES 8192
#define TAKT_TUPLES 64
#define TAKT_RULE_BUCKETS 32768
#define TAKT_PROBES_MAX 32	/* the planner lays out the table within this */

#define TAKT_FAMILY_OTHER 0
#define TAKT_FAMILY_IPV4 4
#define TAKT_FAMILY_IPV6 6

#define TAKT_KEY_WORDS 6

/* The fields of a frame that rules can match. An IPv4 address is in the first word. */
struct takt_key {
	u32 mark;		/* skb->mark */
	u16 src_port, dst_port;	/* host order */
	u8 family;		/* TAKT_FAMILY_* */
	u8 proto;		/* behind IPv6 extension headers */
	u8 dscp;		/* 0..63 */
	u8 has_ports;		/* 1: the ports were read */
	u32 who;		/* bit per question asked about the socket's owner: 1 is yes */
	u32 src[4], dst[4];	/* as on the wire */
} __attribute__((aligned(8)));

/* The key of the opposite direction, so that one rule matches a packet and its answer. */
TAKT_FN void takt_key_reverse(struct takt_key *key)
{
	u32 i, word;
	u16 port = key->src_port;

	key->src_port = key->dst_port;
	key->dst_port = port;
	for (i = 0; i < 4; i++) {
		word = key->src[i];
		key->src[i] = key->dst[i];
		key->dst[i] = word;
	}
}

struct takt_tuple {
	struct takt_key mask;
	u32 first_order;	/* the lowest order of its rules */
	u32 has_addresses;	/* 0: the mask ignores both addresses */
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
	u32 need_addresses;	/* some tuple matches addresses; if not, the key may lack them */
	u32 need_who;		/* likewise */
	u32 sets_dscp;		/* some class gives its packets a DSCP, see dscp.h */
	u32 pad;
	struct takt_tuple tuple[TAKT_TUPLES];
	u16 bucket[TAKT_RULE_BUCKETS];	/* rule index + 1; 0: free */
	struct takt_rule rule[TAKT_RULES];
	u8 dscp[TAKT_CLASSES];	/* by class: its packets' new DSCP + 1; 0: they keep theirs */
};

/* The key as words to mask, hash and compare; the last four are addresses. */
typedef u64 __attribute__((may_alias)) takt_word;

TAKT_FN const takt_word *takt_words(const struct takt_key *key)
{
	return (const takt_word *)key;
}

/*
 * Hash of a key under a mask, multilinear: a product per word, then the topmost bits of the sum,
 * which every bit of the key affects. The planner uses it to lay out takt_rules.bucket.
 */
TAKT_FN u32 takt_rule_hash(const struct takt_key *key, const struct takt_tuple *shape,
			   u32 tuple)
{
	const takt_word *word = takt_words(key), *mask = takt_words(&shape->mask);
	u64 sum = (tuple + 1) * 0x9e3779b97f4a7c15ULL;

	sum += (word[0] & mask[0]) * 0xbf58476d1ce4e5b9ULL;
	sum += (word[1] & mask[1]) * 0x94d049bb133111ebULL;
	if (shape->has_addresses) {
		sum += (word[2] & mask[2]) * 0xd6e8feb86659fd93ULL;
		sum += (word[3] & mask[3]) * 0xa0761d6478bd642fULL;
		sum += (word[4] & mask[4]) * 0xe7037ed1a0b428dbULL;
		sum += (word[5] & mask[5]) * 0x8ebc6af09c88c6e3ULL;
	}
	return sum >> 48;
}

/* Does the key, under the mask, equal the rule? */
TAKT_FN int takt_rule_matches(const struct takt_rule *rule, const struct takt_key *key,
			      const struct takt_tuple *shape)
{
	const takt_word *word = takt_words(key), *mask = takt_words(&shape->mask);
	const takt_word *want = takt_words(&rule->key);
	u64 difference = ((word[0] & mask[0]) ^ want[0]) | ((word[1] & mask[1]) ^ want[1]);

	if (shape->has_addresses)
		difference |= ((word[2] & mask[2]) ^ want[2]) |
			      ((word[3] & mask[3]) ^ want[3]) |
			      ((word[4] & mask[4]) ^ want[4]) |
			      ((word[5] & mask[5]) ^ want[5]);
	return !difference;
}

#define TAKT_NO_RULE (~0ULL)

/* The tuple's rule in this bucket if it matches, TAKT_NO_RULE if the bucket is free, else 0. */
TAKT_FN u64 takt_rule_lookup(const struct takt_rules *rules, const struct takt_key *key, u32 tuple,
			     u32 bucket)
{
	u32 found = rules->bucket[bucket & (TAKT_RULE_BUCKETS - 1)];
	const struct takt_rule *rule = &rules->rule[(found - 1) & (TAKT_RULES - 1)];

	if (!found)
		return TAKT_NO_RULE;
	if (rule->tuple == tuple &&
	    takt_rule_matches(rule, key, &rules->tuple[tuple & (TAKT_TUPLES - 1)]))
		return (u64)rule->order << 32 | rule->class_id;
	return 0;
}

/* As takt_rule_lookup(), in the buckets behind the first one. */
TAKT_FN_OUT u64 takt_tuple_search(const struct takt_rules *rules TAKT_ARG,
				  const struct takt_key *key TAKT_ARG, u32 tuple, u32 first)
{
	u64 rule;
	u32 i;

	TAKT_NEED(rules && key, TAKT_NO_RULE);
	TAKT_FOR (i, 1, TAKT_PROBES_MAX) {
		rule = takt_rule_lookup(rules, key, tuple, first + i);
		if (rule)
			return rule;
	}
	return TAKT_NO_RULE;
}

/*
 * The tuple's matching rule, as its order above its class (so that the smallest wins), or
 * TAKT_NO_RULE. Most searches end in the first bucket.
 */
TAKT_FN_LEAN u64 takt_tuple_find(const struct takt_rules *rules TAKT_ARG,
				 const struct takt_key *key TAKT_ARG, u32 tuple)
{
	u32 first;
	u64 rule;

	TAKT_NEED(rules && key, TAKT_NO_RULE);
	first = takt_rule_hash(key, &rules->tuple[tuple & (TAKT_TUPLES - 1)], tuple);
	rule = takt_rule_lookup(rules, key, tuple, first);
	return rule ? rule : takt_tuple_search(rules, key, tuple, first);
}

/* The class of a frame with this key. */
TAKT_FN_LEAN u32 takt_classify(const struct takt_rules *rules TAKT_ARG,
			       const struct takt_key *key TAKT_ARG)
{
	u64 best = TAKT_NO_RULE;
	u32 i;

	TAKT_NEED(rules && key, 0);
	for (i = 0; i < TAKT_TUPLES && i < rules->tuples; i++) {
		if (rules->tuple[i].first_order >= best >> 32)
			break;
		best = takt_min(best, takt_tuple_find(rules, key, i));
	}
	return best == TAKT_NO_RULE ? rules->default_class : (u32)best;
}

#endif
