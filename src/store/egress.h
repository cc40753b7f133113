/* SPDX-License-Identifier: Apache-2.0 */
/* store/egress.h — changes the allowed destinations of a sandbox. */
#pragma once

#include "base/attribute.h"

struct arena;
struct error;
struct sandbox_record;
struct store;

struct sandbox_egress_change {
	const char *id, *egress; /* as in sandbox/egress.h */
};
/* On the disk when the call returns. */
MUST_CHECK int store_sandbox_set_egress(struct store *s, struct arena *a,
                                        const struct sandbox_egress_change *change,
                                        struct sandbox_record *ret, struct error *err);
