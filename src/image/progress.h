/* SPDX-License-Identifier: Apache-2.0 */
/* image/progress.h — lines "percent text" for whoever waits for a builder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Never blocks for long and never fails: a reader that has gone is seen by progress_is_abandoned.
 * `fd` may be -1. Control characters are replaced. */
void progress_tell(int fd, int percent, const char *text);
/* The last line of a builder that failed: "error CODE text\thint". */
/* "size BYTES": how large it has become. */
void progress_tell_size(int fd, int64_t bytes);
void progress_fail(int fd, const struct error *err);
/* The reading end of the pipe was closed: nobody wants the result. */
bool progress_is_abandoned(int fd);
