/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/api.h"
#include "edge/hooks.h"
#include "fleet/core/waiting.h"
#include "http/server/parked.h"

static void wake_parked(void *context, const char *key)
{
	server_wake(context, key);
}

void api_set_parked_wakes(struct api *api, bool wakes)
{
	if (api->fleet)
		fleet_on_change(api->fleet, wakes ? wake_parked : NULL, api->server);
}
