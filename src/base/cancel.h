/* SPDX-License-Identifier: Apache-2.0 */
/* base/cancel.h — cancels a call while a thread waits in it.
 *
 * Any thread may cancel, once; it cannot be undone. The owner keeps the struct until the call has
 * returned. A NULL pointer means that the call cannot be cancelled. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct cancel {
	int fd; /* readable after cancel_say */
	atomic_bool is_said;
};
MUST_CHECK int cancel_init(struct cancel *c, struct error *err);
void cancel_done(struct cancel *c);
void cancel_say(struct cancel *c);
bool cancel_is_said(const struct cancel *c);
/* The cancellation of the call that this thread makes, for code that does not get it as a
 * parameter; NULL = none. The function that sets it restores it before the cancellation ends. */
void cancel_set_current(const struct cancel *c);
const struct cancel *cancel_current(void);
/* Like fd_wait, but fails with ERROR_UNAVAILABLE once the call is cancelled. */
MUST_CHECK int cancel_wait(const struct cancel *c, int fd, short events, int64_t deadline,
                           struct error *err);
