/* SPDX-License-Identifier: Apache-2.0 */
/* image/progress.h — lines "percent text" for the process that waits for a builder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Never blocks for long and never fails; progress_is_abandoned tells whether the reader has gone.
 * `fd` may be -1. Control characters are replaced. */
void progress_tell(int fd, int percent, const char *text);

/* "size BYTES": how large the template has become. */
void progress_tell_size(int fd, int64_t bytes);
void progress_fail(int fd, const struct error *err);
/* Whether the reading end of the pipe was closed: the result is not wanted any more. */
bool progress_is_abandoned(int fd);
