/* SPDX-License-Identifier: Apache-2.0 */
/* credential/proxy/carry.h — a connection that the proxy carries: TLS to the sandbox, TLS to the host,
 * and requests one after the other between them. Private to this folder. Loop thread.
 *
 * A connection has one host for its whole life, the one of its ClientHello, and its own connection
 * to it: no other sandbox and no other credential ever uses that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "credential/passage/draft.h"
#include "credential/passage/guard.h"
#include "egress/handover.h"
#include "http/message/body.h"
#include "loop/loop.h"
#include "sandbox/decision.h"

#define CARRY_IN_MAX ((size_t)384 * 1024) /* a head and a small body, see SIGNED_BODY_MAX */
#define CARRY_OUT_MAX ((size_t)128 * 1024)
#define CARRY_HEAD_MAX ((size_t)64 * 1024)
#define CARRY_READ ((size_t)32 * 1024) /* bytes of one read */

struct credential_proxy;
struct tls;

struct carried_side {
	int fd;
	struct tls *tls;
	struct loop_watch *watch; /* NULL once the kernel said that it hangs */
	struct buf in, out;
	size_t scanned;  /* of the head in `in` */
	bool is_open;    /* the handshake is over */
	bool has_ended;  /* nothing more comes from it */
	bool is_ready;   /* a read may give something; saves the calls that give nothing */
	bool wants_send; /* the handshake does */
};

enum request_state { REQUEST_HEAD, REQUEST_BODY, REQUEST_SENT };
enum answer_state { ANSWER_NONE, ANSWER_HEAD, ANSWER_BODY, ANSWER_TO_END, ANSWER_TUNNEL };

struct carried {
	struct list link; /* of the guard */
	struct credential_proxy *proxy;
	struct guard *guard;
	struct carried_side client, server;
	int token_fd;
	struct loop_watch *token_watch;
	struct loop_timer timer, flush_timer, again_timer;
	int64_t active_ms;
	char host[SANDBOX_HOST_NAME_MAX + 1];
	uint32_t address;
	uint64_t bytes_in, bytes_out;
	enum decision_code fault; /* of the host's side, told to the first request */

	/* Requests of one rule since their last report */
	const struct credential_rule *counted_rule;
	uint64_t counted;
	int64_t reported_ms;

	/* The request that is under way */
	struct arena arena;
	enum request_state request_state;
	enum answer_state answer_state;
	const struct credential_rule *rule; /* borrowed from the guard */
	struct body_reader request_body, answer_body;
	int64_t request_bytes;
	struct buf held;  /* of the answer: may begin a value */
	size_t held_sent; /* bytes at its front that were sent when the stream paused */
	char method[32];
	char websocket_accept[64]; /* "" = none is asked for */
	bool client_is_http10, keeps_alive, answer_is_chunked, is_masked, head_is_answered;
	bool is_closing; /* once its output is sent */
	bool is_shut;    /* all of that is sent */
};

/* Takes the descriptors. */
void carried_start(struct credential_proxy *proxy, struct guard *guard, const struct handover *h,
                   struct span begun, const int fds[HANDOVER_FDS]);
void carried_free(struct carried *c);

/* Reports requests that were counted and not reported yet. */
void carried_report(struct carried *c);

/* exchange.c: HTTP. Each moves what it can; false ends the connection. */
bool carried_requests(struct carried *c);
bool carried_answers(struct carried *c);
/* The host's side has ended: what of an answer is not whole yet is, or never will be. */
bool carried_host_ended(struct carried *c);
/* Sends what is held back and begins no value: the stream pauses. */
void carried_flush(struct carried *c);
/* Answers the request that is under way with a refusal, and ends the connection after it. */
void carried_refuse(struct carried *c, enum decision_code code, struct span head);
