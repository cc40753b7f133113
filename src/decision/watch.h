/* SPDX-License-Identifier: Apache-2.0 */
/* decision/watch.h — the refusals that a sandbox meets during one command, for its result.
 *
 * Commands that run in one sandbox at the same time see each other's refusals. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sandbox/decision.h"

#define DECISION_WATCH_MAX 8
struct decision_log;
struct json_shape;

struct decision_watch {
	struct decision_log *log; /* NULL: nothing is watched */
	const char *sandbox, *denials;
	uint64_t mark;
};
/* `egress` is the text of the sandbox's rules; without rules nothing is refused. The watch borrows
 * the sandbox's id and uses memory of the arena. `log` may be NULL. */
struct decision_watch decision_watch_begin(struct arena *a, struct decision_log *log,
                                           const char *sandbox, const char *egress);
struct decision_refusals {
	struct network_decision items[DECISION_WATCH_MAX];
	size_t count;
};
void decision_watch_end(const struct decision_watch *w, struct decision_refusals *ret);

/* A refusal in an answer. */
struct network_refusal {
	const char *host, *address, *protocol, *code, *rule, *message;
	int64_t port, count;
};
extern const struct json_shape network_refusal_shape;
/* "network":[…]; nothing without refusals. */
void decision_refusals_write(struct buf *out, const struct decision_refusals *r);
/* The same for a struct of an answer. */
struct json_list;
struct json_list decision_refusals_list(struct arena *a, const struct decision_refusals *r);
/* A line for each, for models. */
void decision_refusals_lines(struct buf *out, const struct decision_refusals *r);
