/* SPDX-License-Identifier: Apache-2.0 */
/* base/cancel.h — the word that a call is not wanted any more, for the thread that waits in it.
 *
 * Said once, by any thread, and never taken back. Who owns it keeps it until the call has
 * returned. A NULL stands for a call that nobody can cancel. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct cancel {
	int fd; /* readable once it was said */
	atomic_bool is_said;
};
MUST_CHECK int cancel_init(struct cancel *c, struct error *err);
void cancel_done(struct cancel *c);
void cancel_say(struct cancel *c);
bool cancel_is_said(const struct cancel *c);
/* The cancellation of the call that this thread is making, for code below that is handed none; NULL
 * = none. Who sets it sets it back before the cancellation ends. */
void cancel_set_current(const struct cancel *c);
const struct cancel *cancel_current(void);
/* fd_wait, that fails with ERROR_UNAVAILABLE once it is said. */
MUST_CHECK int cancel_wait(const struct cancel *c, int fd, short events, int64_t deadline,
                           struct error *err);
