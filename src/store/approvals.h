/* SPDX-License-Identifier: Apache-2.0 */
/* store/approvals.h — tool calls that wait for a person's approval.
 *
 * Each move adds an event. A row moves from pending to approved or refused, and from approved to
 * used, by compare and set: an approved call happens at most once. Expired rows are treated as
 * absent. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena;
struct error;
struct store;

#define APPROVAL_HASH_SIZE 32
enum approval_state {
	APPROVAL_PENDING,
	APPROVAL_APPROVED,
	APPROVAL_REFUSED,
	APPROVAL_USED,
	APPROVAL_EXPIRED, /* while it was pending */
	APPROVAL_STATE_COUNT,
};
const char *approval_state_name(enum approval_state state);

struct approval_record {
	const char *id, *project_id;
	const char *key_id;          /* the key that asks */
	const char *conversation_id; /* "" = none */
	const char *origin_json;     /* origin of the conversation's request; "" = unknown */
	const char *sandbox_id;      /* "" = the tool uses no sandbox */
	const char *tool, *input;    /* JSON for people; may be cut */
	unsigned char hash[APPROVAL_HASH_SIZE]; /* SHA-256 of tool, sandbox and whole input */
	enum approval_state state;
	const char *note, *decided_by; /* decided_by: a key id; "" while pending */
	int64_t created_at, decided_at, expires_at;
	const char *key_name, *decided_by_name; /* of the keys, when read; "" = unknown */
};
struct approval_list {
	struct approval_record *items;
	size_t count;
	const char *next_page; /* NULL at the end */
};
/* ERROR_LIMIT when pending_max calls of the project wait already. */
MUST_CHECK int store_approval_insert(struct store *s, const struct approval_record *r,
                                     unsigned pending_max, struct error *err);
MUST_CHECK int store_approval_find(struct store *s, struct arena *a, const char *project_id,
                                   const char *id, struct approval_record *ret, struct error *err);
/* The newest row of this project, key and hash that is pending or approved and has not expired at
 * `wanted->created_at`. */
MUST_CHECK int store_approval_match(struct store *s, struct arena *a,
                                    const struct approval_record *wanted,
                                    struct approval_record *ret, struct error *err);
struct approval_filter {
	const char *project_id;
	const char *state;             /* a state name; NULL = any */
	int64_t now;                   /* only rows that have not expired by then */
	unsigned limit;                /* 1..1000 */
	const char *page;              /* next_page of the previous page, or NULL */
	const char *sandbox_id, *tool; /* NULL = any */
};
/* Newest first. */
MUST_CHECK int store_approval_list(struct store *s, struct arena *a,
                                   const struct approval_filter *filter, struct approval_list *ret,
                                   struct error *err);
struct approval_decision {
	const char *project_id, *id;
	enum approval_state from, to;
	const char *note, *decided_by;
	int64_t now, expires_at;
};
/* ERROR_CONFLICT when the state is not `from`, or the row has expired. */
MUST_CHECK int store_approval_decide(struct store *s, const struct approval_decision *decision,
                                     struct error *err);
/* Moves an approved row to used; errors as above. */
MUST_CHECK int store_approval_use(struct store *s, const struct approval_record *r,
                                  struct error *err);
/* A request that the rules of a sandbox allow a host: an approval of the tool ACCESS_TOOL, whose
 * use is to add the host to the rules. A sandbox has one for each host, for all callers. */
#define ACCESS_TOOL "request_access"
/* Asks for a consent (consents.h); the input has the name of the credential. */
#define CONSENT_TOOL "activate_credential"
#define ACCESS_PENDING_MAX 20 /* of a sandbox */
struct access_request {
	const char *project_id, *sandbox_id;
	const char *key_id, *conversation_id; /* "" = the sandbox itself, by its mode "ask" */
	const char *host, *reason;            /* host: a host name or an address */
	int64_t port, now;                    /* port 0 = any */
};
/* Inserts an approval, or finds the one that is pending, approved or refused and has not expired.
 * ERROR_LIMIT when ACCESS_PENDING_MAX of the sandbox wait. */
MUST_CHECK int store_access_request(struct store *s, struct arena *a,
                                    const struct access_request *request,
                                    struct approval_record *ret, struct error *err);
/* Moves pending rows that have expired by `now`, at most 100 of them. */
MUST_CHECK int store_approval_expire(struct store *s, int64_t now, struct error *err);
MUST_CHECK int store_approval_purge(struct store *s, int64_t before, struct error *err);
