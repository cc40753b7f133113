/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/use.h — the purpose of a call into a sandbox, for its usage. */
#pragma once

#include "sandbox/usage_reason.h"

/* Borrowed for the call. */
struct fleet_use {
	const char *key_id;
	const char *run; /* NULL: none */
	enum usage_reason reason;
	const char *conversation; /* NULL: none */
};
