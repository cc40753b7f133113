/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/lease.h — the rules of leases. Pure: callers pass the time.
 *
 * A lease is the one warm sandbox of a key. Its row has an optimistic lock (lock_version, increased
 * by every change). A caller that wants to make the key's sandbox claims the row by
 * compare-and-set; only the winner makes one. The epoch counts the claims. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "sandbox/sandbox.h"

#define LEASE_KEY_MAX 256
/* A claim older than this is abandoned. */
#define LEASE_CREATING_MAX_MS 25000

enum lease_status {
	LEASE_CREATING, /* claimed: a caller makes its sandbox */
	LEASE_READY,    /* it has a sandbox */
	LEASE_EMPTY,    /* its sandbox is gone; the row is kept for its counters */
	LEASE_STATUS_COUNT,
};
const char *lease_status_name(enum lease_status status);

/* 1 to 256 bytes of UTF-8 without control characters, and no part "." or ".." between slashes: an
 * escaped key is always safe in a path. */
MUST_CHECK int lease_key_check(const char *key, struct error *err);

/* A session of /v1/sandbox is the lease "session:TENANT/SESSION". '%', '/' and characters that keys
 * exclude are escaped ("%2F"), so these keys may be longer than others. The prefix has 8 bytes. */
#define LEASE_SESSION_PREFIX "session:"
#define LEASE_SESSION_KEY_MAX 1024
struct lease_session {
	const char *tenant, *session;
};
const char *lease_session_key(struct arena *a, const struct lease_session *session);
/* Returns false if the key is not a session's. */
bool lease_session_parse(struct arena *a, const char *key, struct lease_session *ret);

/* The key of the sandbox that a persistent config reserves for a workspace. */
#define LEASE_WORKSPACE_PREFIX "reserved:"
const char *lease_workspace_key(struct arena *a, const char *workspace);

/* What a caller does that wants the sandbox of an existing lease. */
enum lease_action {
	LEASE_USE,       /* use its sandbox: it runs, or wakes on its next use */
	LEASE_START,     /* start its sandbox, whose files exist */
	LEASE_WAIT,      /* wait for another caller that makes it */
	LEASE_MAKE,      /* claim the lease and make a sandbox: it has none */
	LEASE_TAKE_OVER, /* the same, but take over an abandoned claim */
	LEASE_ADOPT,     /* record its sandbox: the caller that made it died before it could */
};
struct lease_view {
	enum lease_status status;
	enum sandbox_state actual; /* state of its sandbox; DELETED if there is no row */
	int64_t creating_since;    /* unix ms */
};
enum lease_action lease_decide(const struct lease_view *view, int64_t now);

/* Whether a call that failed with this code may have found its sandbox gone, so that a check is
 * useful. Errors about the call itself do not count. */
bool lease_error_may_mean_gone(enum error_code code);
