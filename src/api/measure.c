/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"
#include "base/clock.h"
#include "base/log.h"
#include "edge/api.h"
#include "edge/limiter.h"
#include "edge/meter.h"
#include "store/database.h"
#include "surface/operator/routes.h"

void api_write_metrics(struct api *api, struct buf *out)
{
	operator_write_metrics(api, out);
}

static void measure_store(struct api *api)
{
	int64_t start = clock_monotonic_ns();
	struct error err;
	bool ok = store_ping(api->store, &err) == 0;

	api_meter_store(api->meter, (clock_monotonic_ns() - start) / 1000, ok);
}

void api_tick(struct api *api)
{
	struct error err;

	measure_store(api);
	/* The former quotas hold until the store answers again. */
	if (api_rates_refresh(api, &err) < 0)
		log_debug("quotas are not read", FAILURE(&err));
}
