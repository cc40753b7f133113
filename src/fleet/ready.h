/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/ready.h — whether a sandbox can be made now, found out by making sandboxes.
 *
 * A round asks the store and the provider, and makes and ends a sandbox of each kind of network
 * that the option ready_networks names. It is a task of the workers' slow lane, as every create is,
 * so that a lane that does not move is seen. One round runs at a time; its result counts for
 * ready_probe_every, a bad one for a second. A round that does not end is a bad result of its own.
 * A warning is what an operator should know about a server that is ready. Any thread may call. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "fleet/fleet.h"

#define READY_CHECKS_MAX 8
#define READY_WARNINGS_MAX 4
#define READY_CODE_SIZE 32

struct ready_check {
	const char *name; /* "store", "sandbox without internet", … */
	bool is_good;
	int64_t took_us;
	/* of one that failed */
	char code[READY_CODE_SIZE]; /* stable, for machines: "disk_full" */
	char reason[ERROR_TEXT_MAX], cure[ERROR_HINT_MAX];
};
struct ready_result {
	bool is_ready;
	int64_t at_unix_ms;
	struct ready_check checks[READY_CHECKS_MAX]; /* until the first bad one of a stage */
	unsigned count;
	struct ready_check warnings[READY_WARNINGS_MAX]; /* of a good round */
	unsigned warning_count;
};

/* True: *ret counts now. False: a round is under way; ask again in a moment. Never blocks. */
bool ready_get(struct fleet *fleet, struct ready_result *ret);
/* The first check that failed, or NULL. */
const struct ready_check *ready_failure(const struct ready_result *result);
/* The code and the cure of a failure of this check. Pure. */
void ready_classify(const struct error *err, bool is_network, struct ready_check *check);

/* ---- for fleet.c, which owns it ---- */

struct ready *ready_new(struct fleet *fleet);
void ready_free(struct ready *r); /* after the workers have stopped */
