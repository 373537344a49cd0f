// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Finds the owner of a socket when it is made, listens, connects, is accepted or first sends: the
 * task that does so. Removes it when the socket closes. The qdisc reads the answers from
 * takt_link_sockets.
 *
 * Only sockets of namespaces that a policy watches are considered. If the host's own namespace has
 * such a policy, these are all that have none of their own. The kernel's own sockets, which no
 * task's call made, are never in the map.
 */
#include "kernel_task.h"
#include "sockets_map.h"
#include "owner_maps.h"
#include "owner.h"
#include "route.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ALLOW 1		/* these programs only watch */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TAKT_NAMESPACES);
	__type(key, u64);
	__type(value, struct takt_watch);
} takt_owner_watches SEC(".maps");

/* The watch of a namespace's sockets; NULL: no policy asks about them. */
static __always_inline struct takt_watch *watch_of(u64 netns_cookie)
{
	struct takt_watch *own = bpf_map_lookup_elem(&takt_owner_watches, &netns_cookie);
	u64 elsewhere = TAKT_ELSEWHERE;

	return own ?: bpf_map_lookup_elem(&takt_owner_watches, &elsewhere);
}

/* Store a socket's answers and owner. An all-zero owner is unknown. */
static __always_inline void remember(u64 cookie, const struct takt_watch *watch,
				     const struct takt_answer *answer, const struct owner *owner)
{
	struct takt_socket *known = bpf_map_lookup_elem(&takt_link_sockets, &cookie);
	struct takt_socket socket = {
		.netns_cookie = watch->netns_cookie,
		.who = { answer->who[0], answer->who[1] },
		.tgid = owner->tgid,
		.uid = owner->uid,
		.task_prio = owner->task_prio,
	};

	if (known) {
		*known = socket;
		return;
	}
	/* If the map is full, the socket has no known owner. */
	bpf_map_update_elem(&takt_link_sockets, &cookie, &socket, BPF_ANY);
}

/* The current task owns the socket. Its label may be NULL, for want of memory. */
static __always_inline void claim(struct label *label, u64 cookie,
				  const struct takt_watch *watch)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct takt_answer answer;
	struct owner owner;

	read_owner(&owner, task);
	answer_for(&answer, watch, &owner, task);
	if (label) {
		label->owner = owner;
		label->answer = answer;
		label->generation = watch->generation;
	}
	remember(cookie, watch, &answer, &owner);
}

SEC("cgroup/sock_create")
int takt_owner_create(struct bpf_sock *ctx)
{
	struct takt_watch *watch = watch_of(bpf_get_netns_cookie(ctx));
	struct label *label;

	/* A socket that another program forbade is never released. */
	if (!watch || bpf_get_retval() < 0)
		return ALLOW;
	label = bpf_sk_storage_get(&takt_owner_labels, ctx, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	claim(label, bpf_get_socket_cookie(ctx), watch);
	return ALLOW;
}

/* TCP goes on after close(); takt_owner_state removes it when it is done. */
SEC("cgroup/sock_release")
int takt_owner_release(struct bpf_sock *ctx)
{
	u64 cookie = bpf_get_socket_cookie(ctx);

	if (ctx->protocol != IPPROTO_TCP || ctx->state == TCP_CLOSE)
		bpf_map_delete_elem(&takt_link_sockets, &cookie);
	return ALLOW;
}

static __always_inline int addressed(struct bpf_sock_addr *ctx, int is_connect)
{
	struct takt_watch *watch = watch_of(bpf_get_netns_cookie(ctx));
	struct bpf_sock *sk = ctx->sk;
	struct label *label;

	/* TCP reports to takt_owner_event, which also sees MPTCP's connections. */
	if (!watch || !sk || ctx->protocol == IPPROTO_TCP)
		return ALLOW;
	label = bpf_sk_storage_get(&takt_owner_labels, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	if (label && !is_connect && label->generation == watch->generation) {
		struct owner owner;

		read_owner(&owner, bpf_get_current_task_btf());
		if (same_owner(&label->owner, &owner))
			return ALLOW;
	}
	claim(label, bpf_get_socket_cookie(ctx), watch);
	return ALLOW;
}

SEC("cgroup/connect4")
int takt_owner_con4(struct bpf_sock_addr *ctx)
{
	return addressed(ctx, 1);
}

SEC("cgroup/connect6")
int takt_owner_con6(struct bpf_sock_addr *ctx)
{
	return addressed(ctx, 1);
}

SEC("cgroup/sendmsg4")
int takt_owner_msg4(struct bpf_sock_addr *ctx)
{
	return addressed(ctx, 0);
}

SEC("cgroup/sendmsg6")
int takt_owner_msg6(struct bpf_sock_addr *ctx)
{
	return addressed(ctx, 0);
}

/*
 * A socket listens or connects, in its owner's system call. (Further paths of an MPTCP connection
 * are opened by a kernel thread.) Or the first packet of a new connection has come in: until it
 * is accepted, it has its listener's owner.
 */
SEC("sockops")
int takt_owner_event(struct bpf_sock_ops *ctx)
{
	const struct task_struct *task;
	struct bpf_sock *sk = ctx->sk;
	struct takt_answer none = {};
	struct owner no_owner = {};
	struct takt_watch *watch;
	struct label *label;
	u64 netns_cookie;

	if (ctx->op != BPF_SOCK_OPS_TCP_CONNECT_CB &&
	    ctx->op != BPF_SOCK_OPS_TCP_LISTEN_CB &&
	    ctx->op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return ALLOW;
	netns_cookie = bpf_get_netns_cookie(ctx);
	watch = watch_of(netns_cookie);
	if (!watch || !sk)
		return ALLOW;
	if (ctx->op != BPF_SOCK_OPS_TCP_LISTEN_CB && watch->netns_cookie != netns_cookie)
		note_route((const struct sock *)bpf_skc_to_tcp_sock(sk),
			   bpf_get_socket_cookie(ctx));
	if (ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		label = bpf_sk_storage_get(&takt_owner_labels, sk, NULL, 0);
		remember(bpf_get_socket_cookie(ctx), watch,
			 label ? &label->answer : &none, label ? &label->owner : &no_owner);
		return ALLOW;
	}
	task = bpf_get_current_task_btf();
	if (task->flags & PF_KTHREAD)
		return ALLOW;
	label = bpf_sk_storage_get(&takt_owner_labels, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	claim(label, bpf_get_socket_cookie(ctx), watch);
	return ALLOW;
}

static __always_inline int accepted(struct sock *sk)
{
	struct takt_watch *watch;
	struct label *label;

	if (!sk)
		return 0;
	watch = watch_of(sk->__sk_common.skc_net.net->net_cookie);
	if (!watch || bpf_get_current_task_btf()->flags & PF_KTHREAD)
		return 0;
	label = bpf_sk_storage_get(&takt_owner_labels, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	claim(label, bpf_get_socket_cookie(sk), watch);
	return 0;
}

SEC("fexit/inet_csk_accept")
int BPF_PROG(takt_owner_accept, struct sock *listener, struct proto_accept_arg *arg,
	     struct sock *sk)
{
	return accepted(sk);
}

/* Before Linux 6.10. */
SEC("fexit/inet_csk_accept")
int BPF_PROG(takt_owner_old_accept, struct sock *listener, int flags, int *error, _Bool by_kernel,
	     struct sock *sk)
{
	return accepted(sk);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(takt_owner_state, struct sock *sk, int old_state, int new_state)
{
	u64 cookie;

	if (new_state != TCP_CLOSE || sk->sk_protocol != IPPROTO_TCP)
		return 0;
	cookie = sk->__sk_common.skc_cookie.counter;
	bpf_map_delete_elem(&takt_link_sockets, &cookie);
	forget_route(sk, cookie);
	return 0;
}

/*
 * Run over every file of every process when questions have changed: answers them for existing
 * sockets. If several processes hold a socket, the one that last used it counts, as far as that
 * was seen; otherwise the youngest.
 */
SEC("iter/task_file")
int takt_owner_survey(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct takt_answer answer;
	struct takt_watch *watch;
	struct socket *socket;
	struct label *label;
	struct owner owner;
	u64 netns_cookie;
	struct sock *sk;
	u16 family;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk)
		return 0;
	family = sk->__sk_common.skc_family;
	if (family != AF_INET && family != AF_INET6)
		return 0;
	netns_cookie = sk->__sk_common.skc_net.net->net_cookie;
	watch = watch_of(netns_cookie);
	label = watch ? bpf_sk_storage_get(&takt_owner_labels, sk, NULL,
					   BPF_SK_STORAGE_GET_F_CREATE) : NULL;
	if (!label)
		return 0;
	read_owner(&owner, task);
	if (label->owner.tgid == owner.tgid) {
		/* The thread that used the socket is not known here: keep the name. */
		owner.thread[0] = label->owner.thread[0];
		owner.thread[1] = label->owner.thread[1];
		label->owner = owner;
		label->generation = watch->generation;
	} else if (label->generation == watch->generation) {
		return 0;
	}
	answer_for(&answer, watch, &owner, task);
	label->answer = answer;
	remember(bpf_get_socket_cookie(sk), watch, &answer, &owner);
	if (watch->netns_cookie != netns_cookie && sk->sk_protocol == IPPROTO_TCP)
		note_route(sk, sk->__sk_common.skc_cookie.counter);
	return 0;
}

static long takt_owner_clear_one(struct bpf_map *map, u64 *cookie, struct takt_socket *socket,
				 struct takt_clear_args *args)
{
	if (socket->netns_cookie == args->netns_cookie)
		socket->who[args->slot & (TAKT_SLOTS - 1)] = 0;
	return 0;
}

/* Set a slot's answers to no, for all sockets of a namespace. */
SEC("syscall")
int takt_owner_clear(struct takt_clear_args *args)
{
	struct takt_clear_args copy = *args;

	bpf_for_each_map_elem(&takt_link_sockets, takt_owner_clear_one, &copy, 0);
	return 0;
}

static long takt_owner_forget_one(struct bpf_map *map, u64 *cookie, struct takt_socket *socket,
				  struct takt_clear_args *args)
{
	if (!args->netns_cookie || socket->netns_cookie == args->netns_cookie)
		bpf_map_delete_elem(map, cookie);
	return 0;
}

static long takt_owner_forget_route(struct bpf_map *map, struct takt_route *route, u64 *cookie,
				    void *context)
{
	bpf_map_delete_elem(map, route);
	return 0;
}

/* Remove the sockets of a namespace, or all. */
SEC("syscall")
int takt_owner_forget(struct takt_clear_args *args)
{
	struct takt_clear_args copy = *args;

	bpf_for_each_map_elem(&takt_link_sockets, takt_owner_forget_one, &copy, 0);
	if (!copy.netns_cookie)
		bpf_for_each_map_elem(&takt_link_routes, takt_owner_forget_route, NULL, 0);
	return 0;
}
