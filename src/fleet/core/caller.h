/* SPDX-License-Identifier: Apache-2.0 */
/* fleet/core/caller.h — the caller of a create that waits, and the maker of a preview link. Access
 * may end between the request and its effect, so the fleet asks again. */
#pragma once

#include <stdbool.h>

#include "base/error.h"

struct arena;
struct fleet;

#define FLEET_CALLER_HASH_SIZE 32

struct fleet_caller {
	unsigned char hash[FLEET_CALLER_HASH_SIZE]; /* of the key, or of the login's token */
	bool is_login;
};

/* Returns -1 with the error that a new request of the caller would get in this project. */
typedef int fleet_caller_check_call(void *context, struct arena *a,
                                    const struct fleet_caller *caller, const char *project_id,
                                    struct error *err);
struct fleet_caller_check {
	fleet_caller_check_call *call; /* NULL: every caller may */
	void *context;
};
/* Call it before the first request. The call is made by workers and may query the store. */
void fleet_on_caller_check(struct fleet *fleet, const struct fleet_caller_check *check);
/* Whether the caller may still write to sandboxes of the project. `caller` NULL: the fleet itself,
 * which may. */
MUST_CHECK int fleet_caller_check(struct fleet *fleet, struct arena *a,
                                  const struct fleet_caller *caller, const char *project_id,
                                  struct error *err);
