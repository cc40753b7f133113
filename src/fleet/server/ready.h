/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/server/ready.h — whether sandboxes can be created now, determined by creating some.
 *
 * A round checks the store and the provider. For each kind of network in the option ready_networks
 * it creates and ends a sandbox. It runs in the workers' slow lane, as creates do, so that
 * it notices a blocked lane. One round runs at a time; its result is valid for ready_probe_every, a
 * bad result for a second. A round that does not end is a bad result, too. A warning tells the
 * operator something about a server that is ready. Any thread may call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct fleet;
struct ready;

#define READY_CHECKS_MAX 8
#define READY_WARNINGS_MAX 4
#define READY_CODE_SIZE 32

struct ready_check {
	const char *name; /* "store", "sandbox without internet", … */
	bool is_good;
	int64_t took_us;
	/* of a failed check: */
	char code[READY_CODE_SIZE]; /* stable, for machines: "disk_full" */
	char reason[ERROR_TEXT_MAX], cure[ERROR_HINT_MAX];
};
struct ready_result {
	bool is_ready;
	int64_t at_unix_ms;
	struct ready_check checks[READY_CHECKS_MAX]; /* up to the first that failed */
	unsigned count;
	struct ready_check warnings[READY_WARNINGS_MAX]; /* only if is_ready */
	unsigned warning_count;
};

/* True: *ret is valid. False: a round is running; ask again in a moment. Never blocks. */
bool ready_get(struct fleet *fleet, struct ready_result *ret);
/* The last result, even an old one, without a new round. False: there is none yet. */
bool ready_last(struct fleet *fleet, struct ready_result *ret);
/* The first check that failed, or NULL. */
const struct ready_check *ready_failure(const struct ready_result *result);

/* for fleet.c */

struct ready *ready_new(struct fleet *fleet);
void ready_free(struct ready *r); /* after the workers have stopped */
