/* SPDX-License-Identifier: Apache-2.0 */
/* task/copy.h — copies an upper layer of a sandbox whose processes are held. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* Copies the folder `from` into the empty folder `to`. ERROR_TIMEOUT at the deadline. */
MUST_CHECK int copy_layer(int from, int to, int64_t deadline, struct error *err);
