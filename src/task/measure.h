/* SPDX-License-Identifier: Apache-2.0 */
/* task/measure.h — how much of the disk a folder takes.
 *
 * Sandboxes made the files that are counted and may be changing them. No link is followed, each
 * folder is opened beneath its parent, and entries, depth and time are bounded. */
#pragma once

#include <stdint.h>

#include "base/error.h"

struct task_result;

/* Counts the folder or file until the deadline. */
MUST_CHECK int measure_tree(int folder, const char *name, int64_t deadline, struct task_result *ret,
                            struct error *err);
