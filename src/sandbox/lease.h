/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/lease.h — the rules of leases: no I/O, no clock of its own.
 *
 * A lease is "the one warm sandbox of a key". Its row has an optimistic lock (lock_version, bumped
 * by every change): whoever wants to make the key's sandbox claims the row by compare and set, and
 * only who wins makes one. The epoch counts the claims. */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "sandbox/sandbox.h"

#define LEASE_KEY_MAX 256
/* Who claimed a lease and has not come back by then is taken to be gone. */
#define LEASE_CREATING_MAX_MS 25000

enum lease_status {
	LEASE_CREATING, /* claimed: its sandbox is being made */
	LEASE_READY,    /* it has a sandbox */
	LEASE_EMPTY,    /* its sandbox has gone; kept for what it has counted */
	LEASE_STATUS_COUNT,
};
const char *lease_status_name(enum lease_status status);

/* 1..256 bytes of UTF-8 without control characters, no part between slashes "." or "..": whatever
 * is a key can stand, escaped, in a path. */
MUST_CHECK int lease_key_check(const char *key, struct error *err);

/* A session of /v1/sandbox is the lease "session:TENANT/SESSION", in which '%', '/' and what no key
 * may hold are escaped ("%2F"): longer than other keys if need be. The prefix has 8 bytes. */
#define LEASE_SESSION_PREFIX "session:"
#define LEASE_SESSION_KEY_MAX 1024
struct lease_session {
	const char *tenant, *session;
};
const char *lease_session_key(struct arena *a, const struct lease_session *session);
/* False when it is no session's. */
bool lease_session_parse(struct arena *a, const char *key, struct lease_session *ret);

/* What somebody does who wants the sandbox of a lease that is there. */
enum lease_action {
	LEASE_USE,       /* its sandbox takes commands, or wakes when it gets one */
	LEASE_START,     /* its files are there: start it */
	LEASE_WAIT,      /* somebody is at it */
	LEASE_MAKE,      /* it has none any more: claim the lease and make one */
	LEASE_TAKE_OVER, /* the same, from one who has been at it for too long */
	LEASE_ADOPT,     /* who made its sandbox did not live to say so: it is the lease's */
};
struct lease_view {
	enum lease_status status;
	enum sandbox_state actual; /* of its sandbox; DELETED when there is no row */
	int64_t creating_since;    /* unix ms */
};
enum lease_action lease_decide(const struct lease_view *view, int64_t now);

/* Whether a call that failed so may have found its sandbox gone: worth a look. Failures that are
 * about the call itself do not. */
bool lease_error_may_mean_gone(enum error_code code);
