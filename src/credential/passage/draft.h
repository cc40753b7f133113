/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/draft.h — a request on its way to the host: what the client sent, with the
 * credentials of a rule put in. Pure but for the clock of a signature. */
#pragma once

#include <stdbool.h>

#include "credential/rule.h"
#include "http/message/head.h"

#define DRAFT_FIELDS_MAX (HEAD_FIELDS_MAX + 3 * CREDENTIAL_INJECT_MAX + 8)

struct draft {
	struct arena *arena;
	const struct credential_set *set;
	const struct credential_rule *rule; /* NULL: nothing is put in */
	const struct http_head *head;       /* as the client sent it */
	const char *host;                   /* of the connection */
	const char *path, *query;           /* query "" = none */
	struct head_field fields[DRAFT_FIELDS_MAX];
	size_t count;
	bool is_websocket;
	bool wants_trailers; /* the client reads them */
};

/* Copies the head without fields that are about the connection alone. The head and its text must
 * outlive the draft. */
void draft_begin(struct draft *d, struct arena *a, const struct http_head *head, const char *host);
/* Puts in what the draft's rule says, but for a signature. Fails without values in the error. */
MUST_CHECK int draft_inject(struct draft *d, struct error *err);
/* The signature of the rule, or NULL. */
const struct credential_inject *draft_signature(const struct draft *d);
/* Whether the signature needs the whole body: the client sent no hash of it. */
bool draft_needs_body(const struct draft *d);
/* Signs the request as a client of AWS would. `body` counts only if draft_needs_body. */
MUST_CHECK int draft_sign(struct draft *d, struct span body, int64_t unix_ms, struct error *err);
/* Writes the head, with the framing of the client's body. */
void draft_write(struct buf *out, const struct draft *d);

/* Whether the rule may have put a value in here; ":path" for path and query. */
bool draft_is_secret(const struct draft *d, const char *name);

const char *draft_find(const struct draft *d, const char *name); /* NULL: not there */
/* Whether servers may take two names of headers for one: in any case, and with '_' for '-', which
 * become the same variable in CGI and in what descends from it. */
bool draft_is_same_name(const char *a, const char *b);
bool draft_name_is_of(const char *name, const char *const *names); /* ends with NULL; may be NULL */
