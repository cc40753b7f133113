/* SPDX-License-Identifier: Apache-2.0 */
/* blob/local/pump.h — a file's bytes as a pipe, which poll(2) can wait for. Private to blob.
 *
 * A thread of its own for each, because reading a disk blocks; it ends with the last byte, or when
 * the reader closes. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct pump {
	int fd; /* the callee's, also when it fails */
	int64_t offset, size;
};
MUST_CHECK int pump_start(const struct pump *pump, int *ret_fd, struct error *err);
