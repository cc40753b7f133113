/* SPDX-License-Identifier: Apache-2.0 */
/* egress/refusal.h — the HTTP answer to a refused connection, for programs and models. Pure. */
#pragma once

#include "base/bytes.h"

struct network_decision;

/* The parts of an answer, for a writer that has another form of HTTP than HTTP/1.1. */
struct refusal_answer {
	int status;
	const char *reason, *content_type;
	const char *code;        /* of X-Atoll-Refused */
	const char *retry_after; /* seconds; NULL: no such header */
	struct buf body;         /* the caller frees it */
};
/* git shows a body that is text, other programs read JSON. `more` (may be NULL) follows the
 * sentence of the message. */
void refusal_make(struct refusal_answer *ret, const struct network_decision *d, const char *more,
                  bool is_for_git);
/* Adds the sentence that the body has: "Refused: api.example.com:443 from this sandbox (…)." */
void refusal_add_message(struct buf *out, const struct network_decision *d, const char *more);
/* Writes a whole answer. Its reason phrase, and the body as JSON or, for git, as text, say the
 * host, the reason and how to ask. */
void refusal_write(struct buf *out, const struct network_decision *d, struct span request_head);
