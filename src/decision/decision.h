/* SPDX-License-Identifier: Apache-2.0 */
/* decision/decision.h — gathers the network decisions of all sandboxes (sandbox/decision.h):
 * reports of the gateway for host names, and the kernel's log of packets.
 *
 * One thread reads both sockets, coalesces equal decisions and writes them to the store twice a
 * second; a decision that is new for a while adds an event. No sender waits: what a socket cannot
 * hold is dropped there. A sandbox has DECISION_ROWS_BURST rows at once and
 * DECISION_ROWS_PER_MINUTE after that; further decisions of it are counted in a row without a host.
 * A killed process loses half a second.
 *
 * The last refusals of each sandbox stay in memory: decisions_since tells those of a command. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/id.h"

#define DECISION_ROWS_BURST 200
#define DECISION_ROWS_PER_MINUTE 120
#define DECISION_EVENTS_BURST 20
#define DECISION_EVENTS_PER_MINUTE 20
#define DECISION_QUIET_MS 60000           /* between two events about one refused host */
#define DECISION_QUIET_ALLOWED_MS 3600000 /* … and about one allowed host */

struct network_decision;
struct store;

struct decision_log;
struct decision_log_options {
	struct store *store;
	int reports_fd, packets_fd; /* borrowed; -1 = none */
	const char *allow;          /* ranges of the option network_allow */
	int64_t sandbox_rows_max;   /* the oldest rows of a sandbox are dropped */
	bool has_proxy;             /* sandboxes without rules have decisions, too */
};
MUST_CHECK int decision_log_open(const struct decision_log_options *options,
                                 struct decision_log **ret, struct error *err);
/* Writes what waits, once. NULL is fine. */
void decision_log_close(struct decision_log *log);

/* The functions below accept NULL, for a server without a log, and may be called on any thread. */

/* From now on `tell` is called for each sandbox with refusals that have come into the store, on the
 * log's thread; it must not block and must not call the log. NULL ends that: when this returns, no
 * call runs. */
typedef void decision_tell(void *context, const char *sandbox);
void decision_log_follow(struct decision_log *log, decision_tell *tell, void *context);

/* Whether a sandbox without rules may have decisions. */
bool decision_log_is_for_all(const struct decision_log *log);
/* Sandboxes without rules have decisions while quotas can cut their networks. */
void decision_log_set_for_all(struct decision_log *log, bool is_for_all);

struct decision_counts {
	uint64_t denied, allowed, watched;  /* decisions */
	uint64_t rows, dropped;             /* written to the store; lost before it */
	uint64_t rule_allowed, rule_denied; /* requests, by rules of credentials */
	uint64_t proxy_failures;            /* connections that the upstream proxy did not make */
};
struct decision_counts decision_log_counts(struct decision_log *log);

/* Requests that a rule of credentials let pass (credential/rule.h). */
#define DECISION_RULE_ID_MAX 63
struct decision_use {
	char sandbox[ID_SIZE + 1];
	char rule[DECISION_RULE_ID_MAX + 1];
	uint64_t count;
	int64_t at; /* of the last one, unix ms */
};
/* Moves at most `max` uses since the last call to `ret`, one for each rule; returns how many. */
size_t decision_take_uses(struct decision_log *log, struct decision_use *ret, size_t max);

/* A point in time for decisions_since. */
uint64_t decision_mark(struct decision_log *log);
/* The refusals of the sandbox since the mark, at most `max` different ones. Reads the sockets
 * first: a refusal that a program has seen is among them. Takes microseconds. Returns how many. */
size_t decisions_since(struct decision_log *log, const char *sandbox, uint64_t mark,
                       struct network_decision *ret, size_t max);
