/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/timeouts.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>

/* Durations above ten years are mistakes; this bound also prevents overflows. */
#define TIMEOUT_MAX_MS (INT64_C(10) * 366 * 24 * 3600 * 1000)

enum { FIXED, SWITCHABLE };
#define ROW(stem, off, ...)                                                                        \
	[SANDBOX_TIMEOUT_##stem] = {#stem "_ms", offsetof(struct sandbox_timeouts, stem##_ms), off}
static const struct {
	const char *name;
	size_t offset;
	bool is_switchable;
} table[] = {SANDBOX_TIMEOUTS(ROW)};
_Static_assert(sizeof(struct sandbox_timeouts) == SANDBOX_TIMEOUT_COUNT * sizeof(int64_t),
               "a member for each row");

const char *sandbox_timeout_name(enum sandbox_timeout timeout)
{
	assert(timeout < SANDBOX_TIMEOUT_COUNT);
	return table[timeout].name;
}

bool sandbox_timeout_is_switchable(enum sandbox_timeout timeout)
{
	assert(timeout < SANDBOX_TIMEOUT_COUNT);
	return table[timeout].is_switchable;
}

int64_t sandbox_timeout_get(const struct sandbox_timeouts *timeouts, enum sandbox_timeout timeout)
{
	assert(timeout < SANDBOX_TIMEOUT_COUNT);
	return *(const int64_t *)((const char *)timeouts + table[timeout].offset);
}

void sandbox_timeout_set(struct sandbox_timeouts *timeouts, enum sandbox_timeout timeout,
                         int64_t ms)
{
	assert(timeout < SANDBOX_TIMEOUT_COUNT);
	*(int64_t *)((char *)timeouts + table[timeout].offset) = ms;
}

int sandbox_timeouts_check(const struct sandbox_timeouts *timeouts, struct error *err)
{
	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++) {
		int64_t ms = sandbox_timeout_get(timeouts, i);

		if (ms > TIMEOUT_MAX_MS || ms < (table[i].is_switchable ? -1 : 0))
			return FAIL(err, ERROR_INVALID,
			            "%s: %" PRId64 " is not from 0 to ten years%s", table[i].name,
			            ms, table[i].is_switchable ? ", or -1 for never" : "");
	}
	return 0;
}

struct sandbox_timeouts sandbox_timeouts_resolve(const struct sandbox_timeouts *const *layers,
                                                 unsigned count)
{
	struct sandbox_timeouts resolved = {0};

	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++) {
		unsigned layer_count = i < SANDBOX_TIMEOUTS_INHERITED ? count : count > 0;
		int64_t ms = 0;

		for (unsigned layer = 0; layer < layer_count && ms == 0; layer++)
			ms = sandbox_timeout_get(layers[layer], i);
		sandbox_timeout_set(&resolved, i, ms > 0 ? ms : 0);
	}
	return resolved;
}

struct sandbox_timeouts sandbox_timeouts_request(const struct sandbox_timeouts *timeouts)
{
	struct sandbox_timeouts request = *timeouts;

	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++)
		if (table[i].is_switchable && sandbox_timeout_get(timeouts, i) == 0)
			sandbox_timeout_set(&request, i, -1);
	return request;
}

void sandbox_timeouts_change(struct sandbox_timeouts *timeouts,
                             const struct sandbox_timeouts *change)
{
	for (unsigned i = 0; i < SANDBOX_TIMEOUT_COUNT; i++) {
		int64_t ms = sandbox_timeout_get(change, i);

		if (ms != SANDBOX_TIMEOUT_LEAVE)
			sandbox_timeout_set(timeouts, i, ms);
	}
}

void sandbox_timeouts_copy_inherited(struct sandbox_timeouts *to,
                                     const struct sandbox_timeouts *from)
{
	for (unsigned i = 0; i < SANDBOX_TIMEOUTS_INHERITED; i++)
		sandbox_timeout_set(to, i, sandbox_timeout_get(from, i));
}
