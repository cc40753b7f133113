/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/gate.h — every call that makes a sandbox run passes the gate, so that 'atoll down' can
 * stop all sandboxes.
 *
 * A call that creates, starts or resumes enters before its request to the provider, and leaves when
 * the row has the result. A closed gate refuses new calls; calls inside continue. Once the gate is
 * closed and no call is inside, no further sandbox can run. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct error;

struct gate {
	atomic_uint inside;
	atomic_int_fast64_t closed_until_ms; /* monotonic */
};

/* Returns the gate; gate_leave must follow. NULL with ERROR_UNAVAILABLE: the gate is closed. */
MUST_CHECK struct gate *gate_enter(struct gate *gate, struct error *err);
void gate_leave(struct gate *gate);
/* For AUTO: leaves the gate when the function returns. NULL is fine. */
void gate_leave_auto(struct gate **gate);
/* The gate opens again after `for_ms`, in case the server does not end after all. */
void gate_close(struct gate *gate, int64_t for_ms);
unsigned gate_inside(const struct gate *gate);
/* Waits until no call is inside. False: one still is at the deadline. */
bool gate_wait(const struct gate *gate, int64_t deadline);
