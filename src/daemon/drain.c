/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/drain.h"

#include "base/log.h"
#include "config/config.h"
#include "edge/api.h"
#include "fleet/server/fleet.h"
#include "http/server/drain.h"

#define LOOK_MS 50

/* Looks once more after the streams were told, so that their last frames are sent. */
static void on_look(void *context)
{
	struct drain *d = context;
	struct api *api = d->api;
	bool is_busy = server_is_busy(api->server);

	if (d->are_streams_told) {
		loop_stop(api->loop);
		return;
	}
	if (!is_busy || loop_now_ms(api->loop) >= d->until_ms) {
		if (is_busy)
			log_warning("calls did not end in time and are cut off",
			            NUMBER("drain_ms", api->config->drain_ms));
		server_end_streams(api->server, "the server is stopping");
		d->are_streams_told = true;
	}
	loop_timer_start(api->loop, &d->timer, LOOK_MS);
}

static void refuse_requests(void *context)
{
	struct drain *d = context;
	struct api *api = d->api;

	log_info("stopping: running calls may finish, new ones are refused",
	         NUMBER("drain_ms", api->config->drain_ms));
	server_drain(api->server);
	d->until_ms = loop_now_ms(api->loop) + api->config->drain_ms;
	d->timer.on_timer = on_look;
	loop_timer_start(api->loop, &d->timer, 0);
}

void drain_begin(struct drain *d, struct api *api)
{
	int64_t delay_ms = api->config->drain_delay_ms;

	if (api->is_draining || (api->config->drain_ms == 0 && delay_ms == 0)) {
		loop_stop(api->loop);
		return;
	}
	if (delay_ms > 0)
		log_info("stopping: not ready any more, new requests are still taken",
		         NUMBER("drain_delay_ms", delay_ms));
	api->is_draining = true;
	fleet_hand_over(api->fleet);
	*d = (struct drain){.api = api, .timer = {.on_timer = refuse_requests, .context = d}};
	loop_timer_start(api->loop, &d->timer, delay_ms);
}

void drain_cancel(struct drain *d)
{
	if (d->api)
		loop_timer_stop(d->api->loop, &d->timer);
}
