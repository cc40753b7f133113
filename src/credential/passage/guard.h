/* SPDX-License-Identifier: Apache-2.0 */
/* credential/passage/guard.h — what the proxy holds of a sandbox: its set of credentials, in use.
 * Loop thread.
 *
 * A guard is owned by the proxy's map. Its connections borrow it; a set that changes ends them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/map.h"
#include "credential/rule.h"
#include "sandbox/decision.h"

struct mask;
struct tls_context;

/* The use of a rule since its set came. */
struct rule_use {
	int64_t tokens_ms, since_ms; /* of requests_per_second: each request costs 1000 / rate */
	int64_t requests, bytes_out, bytes_in;
	unsigned connections;
	struct tls_context *upstream; /* of upstream.ca; NULL: the system's */
};

struct guard {
	struct arena arena;
	const char *text; /* the set as it came */
	struct credential_set set;
	struct credential_rules rules; /* the set's */
	struct rule_use *uses;         /* of each rule */
	struct mask *mask;
	struct map leaves; /* host name -> struct tls_context */
	struct list connections;
	unsigned connection_count;
	uint64_t session; /* of the api process that sent it last */
	unsigned reports; /* of the second that began then */
	int64_t reports_since_ms;
	/* What its connections hold, as each measured itself last, and what they may. */
	size_t memory, memory_max;
	bool is_full;   /* from memory_max until an eighth of it is free again */
	unsigned holds; /* that were no value: guard_take_hold */
};

/* Memory. The connections of a sandbox share one budget. When it is used up, further connections
 * and requests are refused, and connections that hold more than GUARD_MEMORY_SHARE read no more
 * until others have sent what they hold. Each connection may always hold its share, so that none
 * waits for another one; the share of all connections is less than the budget. */
#define GUARD_MEMORY_MAX ((size_t)96 * 1024 * 1024)
#define GUARD_MEMORY_SHARE ((size_t)256 * 1024)

/* Fails for a set that credential_set_parse refuses, or with certificates that cannot be used. */
MUST_CHECK int guard_new(struct span text, struct guard **ret, struct error *err);
void guard_free(struct guard *guard); /* without connections; NULL is fine */
/* Takes over what the sandbox has used of its limits: a new value, which the server may fetch at
 * any time, does not give them anew. Rules are the same by their id. */
void guard_inherit(struct guard *guard, const struct guard *before);

/* The context for the sandbox's side of a connection to this host, with a certificate of the
 * sandbox's authority. NULL when none can be made. */
struct tls_context *guard_leaf(struct guard *guard, const char *host);
/* The context for the host's side; NULL: the system's roots. */
const struct tls_context *guard_upstream(const struct guard *guard, const char *host);

struct rule_use *guard_use(const struct guard *guard, const struct credential_rule *rule);
/* DECISION_OK if every credential that the rule names may go to this host now; else why not. */
enum decision_code guard_may_use(const struct guard *guard, const struct credential_rule *rule,
                                 const char *host, int64_t now_ms);
/* Which version of HTTP the host is offered: the choice of the first rule about it. */
enum credential_http2 guard_http2(const struct guard *guard, const char *host);
/* Counts a request; false when a limit of the rule refuses it. */
bool guard_take_request(struct rule_use *use, const struct credential_limits *limits,
                        int64_t monotonic_ms);

/* Sets what a connection holds now; *held is what it held before. */
void guard_charge(struct guard *guard, size_t *held, size_t now);
/* Whether this much more leaves a quarter of the budget to others. */
bool guard_has_room(const struct guard *guard, size_t size);

/* Counts a report of a decision. False: the sandbox has told GUARD_REPORTS_MAX in this second. */
#define GUARD_REPORTS_MAX 128
bool guard_take_report(struct guard *guard, int64_t monotonic_ms);

/* Counts an answer that paused after the first bytes of a value, which wait for the rest. A host
 * that repeats what it is sent would show with each such pause whether a guess is right. False: the
 * values have had GUARD_HOLDS_MAX, and nothing waits any more. */
#define GUARD_HOLDS_MAX 8
bool guard_take_hold(struct guard *guard);
/* The rest came: it was a value. */
void guard_end_hold(struct guard *guard);
