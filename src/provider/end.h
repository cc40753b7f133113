/* SPDX-License-Identifier: Apache-2.0 */
/* provider/end.h — how a sandbox ended by itself. */
#pragma once

#include <stdint.h>

#include "sandbox/sandbox.h"

struct provider_end {
	enum sandbox_reason reason; /* SANDBOX_REASON_DISK: the sandbox is paused instead */
	uint64_t sent_bytes;        /* since its start; UINT64_MAX: not known */
};
