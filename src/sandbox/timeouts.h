/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/timeouts.h — the table of the timeouts of a sandbox. Pure.
 *
 * A new timeout is a row here and a member of struct sandbox_timeouts. The columns of the database,
 * the members of the API, the notes, the specifications of leases and the options of the CLI come
 * from them; expiry.c says what the timeout does. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/sandbox.h"

/* ROW(stem, off, api, short, option, about, …): the member STEM_ms, which is also the column's
 * name; SWITCHABLE if -1 turns it off in a request, else FIXED; its names in a request of the API,
 * in the idle times of a template and in the CLI; what it does. Further arguments are the caller's.
 *
 * The inherited ones are taken from the creator, the template, the project or the configuration,
 * the first that sets it. */
/* clang-format off */
#define SANDBOX_INHERITED_TIMEOUTS(ROW, ...)                                                       \
	ROW(idle_reap, FIXED, "idle_reap_ms", "reap_ms", "idle-reap",                              \
	    "idle time after which an ephemeral sandbox is deleted", __VA_ARGS__),                 \
	ROW(lifetime_max, FIXED, "lifetime_max_ms", "lifetime_max_ms", "lifetime-max",             \
	    "an ephemeral sandbox is deleted at this age; a persistent one is stopped this long "  \
	    "after its last start", __VA_ARGS__),                                                  \
	ROW(idle_pause, SWITCHABLE, "autoPauseMs", "pause_ms", "idle-pause",                       \
	    "idle time after which a sandbox is paused", __VA_ARGS__),                             \
	ROW(idle_stop, SWITCHABLE, "autoStopMs", "stop_ms", "idle-stop",                           \
	    "idle time after which a sandbox is stopped", __VA_ARGS__)
/* Only the creator sets these; 0 = never. */
#define SANDBOX_OWN_TIMEOUTS(ROW, ...)                                                             \
	ROW(archive_after, FIXED, "autoArchiveMs", NULL, NULL,                                     \
	    "time after a stop until the files move to the blob store", __VA_ARGS__),              \
	ROW(delete_after, FIXED, "autoDeleteMs", NULL, NULL,                                       \
	    "time after a stop until the sandbox is deleted, persistent or not", __VA_ARGS__)
/* clang-format on */
#define SANDBOX_TIMEOUTS(ROW, ...)                                                                 \
	SANDBOX_INHERITED_TIMEOUTS(ROW, __VA_ARGS__), SANDBOX_OWN_TIMEOUTS(ROW, __VA_ARGS__)

#define SANDBOX_TIMEOUT_INDEX(stem, ...) SANDBOX_TIMEOUT_##stem
enum sandbox_timeout {
	SANDBOX_INHERITED_TIMEOUTS(SANDBOX_TIMEOUT_INDEX),
	SANDBOX_TIMEOUTS_INHERITED, /* how many are inherited; they come first */
	SANDBOX_TIMEOUTS_BEFORE_OWN = SANDBOX_TIMEOUTS_INHERITED - 1,
	SANDBOX_OWN_TIMEOUTS(SANDBOX_TIMEOUT_INDEX),
	SANDBOX_TIMEOUT_COUNT,
};
/* The name of the column: "idle_reap_ms". */
const char *sandbox_timeout_name(enum sandbox_timeout timeout);
bool sandbox_timeout_is_switchable(enum sandbox_timeout timeout);
int64_t sandbox_timeout_get(const struct sandbox_timeouts *timeouts, enum sandbox_timeout timeout);
void sandbox_timeout_set(struct sandbox_timeouts *timeouts, enum sandbox_timeout timeout,
                         int64_t ms);

/* Of a request: refuses more than ten years, and -1 where it has no meaning. */
MUST_CHECK int sandbox_timeouts_check(const struct sandbox_timeouts *timeouts, struct error *err);
/* Takes each inherited timeout from the first layer that sets it; the others from the first layer.
 * Never, and a timeout that no layer sets, become 0. */
struct sandbox_timeouts sandbox_timeouts_resolve(const struct sandbox_timeouts *const *layers,
                                                 unsigned count);
/* A request for the same timeouts, which inherits none that can be never. */
struct sandbox_timeouts sandbox_timeouts_request(const struct sandbox_timeouts *timeouts);
/* SANDBOX_TIMEOUT_LEAVE in `change` keeps the old time. */
#define SANDBOX_TIMEOUT_LEAVE INT64_MIN
#define SANDBOX_TIMEOUT_LEFT(stem, ...) .stem##_ms = SANDBOX_TIMEOUT_LEAVE
#define SANDBOX_TIMEOUTS_LEAVE ((struct sandbox_timeouts){SANDBOX_TIMEOUTS(SANDBOX_TIMEOUT_LEFT)})
void sandbox_timeouts_change(struct sandbox_timeouts *timeouts,
                             const struct sandbox_timeouts *change);
/* Copies the inherited timeouts and no other. */
void sandbox_timeouts_copy_inherited(struct sandbox_timeouts *to,
                                     const struct sandbox_timeouts *from);
