/* SPDX-License-Identifier: Apache-2.0 */
/* broker/server/probe_request.h — BROKER_PROBE: makes a sandbox and ends it
 * (broker/sandbox/probe.h). */
#pragma once

#include "base/error.h"

struct request_context;

/* The caller has checked the request. The reply comes later unless the call fails.
 * ERROR_UNAVAILABLE: an earlier probe of the same kind has not ended. */
MUST_CHECK int probe_start(const struct request_context *c, const void *message, struct error *err);
