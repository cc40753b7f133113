/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/gate.h — what makes a sandbox run passes here, so that 'atoll down' can end all of them.
 * Private to this folder.
 *
 * A call that creates, starts or resumes is inside from before it asks the provider until the row
 * says what has become of it. A closed gate refuses calls that come; those inside go on. When the
 * gate is closed and nothing is inside, no further sandbox can run. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct gate {
	atomic_uint inside;
	atomic_int_fast64_t closed_until_ms; /* monotonic */
};

/* The gate, which gate_leave must follow; NULL with ERROR_UNAVAILABLE: it is closed. */
MUST_CHECK struct gate *gate_enter(struct gate *gate, struct error *err);
void gate_leave(struct gate *gate);
/* For AUTO: a function that is inside until it returns. NULL is fine. */
void gate_leave_auto(struct gate **gate);
/* A server that is not ended after all opens it again by the time. */
void gate_close(struct gate *gate, int64_t for_ms);
bool gate_is_closed(const struct gate *gate);
unsigned gate_inside(const struct gate *gate);
/* Waits until nothing is inside. False: something still is. */
bool gate_wait(const struct gate *gate, int64_t deadline);
