/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/caller.h"

#include "fleet/core/background_work.h"
#include "fleet/core/fleet_state.h"

void fleet_on_caller_check(struct fleet *fleet, const struct fleet_caller_check *check)
{
	fleet->background->caller_check = *check;
}

int fleet_caller_check(struct fleet *fleet, struct arena *a, const struct fleet_caller *caller,
                       const char *project_id, struct error *err)
{
	const struct fleet_caller_check *check = &fleet->background->caller_check;

	return caller && check->call ? check->call(check->context, a, caller, project_id, err) : 0;
}
