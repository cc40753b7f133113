/* SPDX-License-Identifier: Apache-2.0 */
/* blob/local/pump.h — a file's bytes as a pipe that poll(2) can wait for.
 *
 * Each pump has its own thread, because reading a disk blocks. The thread ends after the last byte,
 * or when the reader closes. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct pump {
	int fd; /* pump_start takes it, also on failure */
	int64_t offset, size;
};
MUST_CHECK int pump_start(const struct pump *pump, int *ret_fd, struct error *err);
