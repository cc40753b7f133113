/* SPDX-License-Identifier: Apache-2.0 */
/* credential/proxy/carry.h — a connection that the proxy carries: TLS to the sandbox, TLS to the
 * host, and a wire on each side. Private to this folder. Loop thread.
 *
 * A connection has one host for its whole life, the one of its ClientHello, and its own connection
 * to it: no other sandbox and no other credential ever uses that. The host is asked for its version
 * of HTTP before the client is answered, so that both sides speak the same one where they can. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "credential/passage/passage.h"
#include "credential/passage/guard.h"
#include "egress/handover.h"
#include "loop/loop.h"

#define CARRY_IN_MAX ((size_t)128 * 1024)  /* a head, and what a read brings */
#define CARRY_OUT_MAX ((size_t)512 * 1024) /* what wires add, and the heads of answers */
#define CARRY_READ ((size_t)32 * 1024)     /* bytes of one read */

struct credential_proxy;
struct tls;

struct carried_side {
	int fd;
	struct tls *tls;
	struct loop_watch *watch; /* NULL once the kernel said that it hangs */
	struct wire *wire;        /* NULL until both handshakes are over */
	struct buf in, out;
	bool is_open;          /* the handshake is over */
	bool has_ended;        /* nothing more comes from it */
	bool is_ready;         /* a read may give something; saves the calls that give nothing */
	bool wants_send;       /* the handshake does */
	bool waits_for_choice; /* of HTTP/2 or HTTP/1.1: the handshake stands still */
	bool is_told_of_end;   /* its wire knows has_ended */
	bool is_http2;
};

struct carried {
	struct list link; /* of the guard */
	struct credential_proxy *proxy;
	struct carried_side client, server;
	struct passage_connection connection;
	int token_fd;
	struct loop_watch *token_watch;
	struct loop_timer timer, flush_timer, again_timer;
	int64_t active_ms; /* when it last got on: connection.progress */
	uint64_t progress_seen;
	char host[SANDBOX_HOST_NAME_MAX + 1];
	uint64_t bytes_in, bytes_out;
	uint64_t moved;  /* bytes through either socket; tells whether a round did anything */
	bool is_offered; /* versions of HTTP, to the host */
	bool is_shut;    /* all is sent, and the client knows */
	size_t memory;   /* that the guard has charged for it */
	bool is_waiting; /* reads nothing until the sandbox has room again */
};

/* Takes the descriptors. */
void carried_start(struct credential_proxy *proxy, struct guard *guard, const struct handover *h,
                   struct span begun, const int fds[HANDOVER_FDS]);
void carried_free(struct carried *c);

/* budget.c */

/* Charges the guard with what the connection holds now. */
void carried_charge(struct carried *c);
void carried_discharge(struct carried *c);
/* Whether the connection may read what makes it hold more. */
bool carried_may_grow(const struct carried *c);
/* Frees the buffers of a connection that is silent. */
void carried_release_idle(struct carried *c);
