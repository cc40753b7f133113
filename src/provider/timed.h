/* SPDX-License-Identifier: Apache-2.0 */
/* provider/timed.h — a call of a provider's operation, in metrics and traces (trace/timing.h): what
 * the provider calls meanwhile, on this thread, are children of its span. */
#pragma once

#include "base/error.h"

struct provider_timed;

/* `operation` has static storage. Each begun call ends once, on the same thread. */
struct provider_timed *provider_timed_begin(const char *operation);
/* Frees it and returns `result`; negative: the call failed with `err`. */
int provider_timed_end(struct provider_timed *t, int result, const struct error *err);
