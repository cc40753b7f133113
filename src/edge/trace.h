/* SPDX-License-Identifier: Apache-2.0 */
/* edge/trace.h — the end of a request for the meter (edge/meter.h) and its trace (trace/trace.h).
 * Private. */
#pragma once

#include <stdint.h>

struct request;

/* Before the caller is released. Loop thread. */
void api_measure_done(struct request *rq, int status, int64_t took_us);
