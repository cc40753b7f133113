/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api.h"

#include "api/surfaces.h"
#include "base/clock.h"
#include "calls/activity_feed.h"
#include "calls/receiver.h"
#include "code/code.h"
#include "code/queue.h"
#include "config/config.h"
#include "edge/access_watch.h"
#include "edge/forward.h"
#include "edge/keys.h"
#include "edge/limiter.h"
#include "edge/meter.h"
#include "edge/tickets.h"
#include "sign_in/sign_in.h"
#include "shell/shell.h"

int api_open(struct api *api, struct error *err)
{
	api->limiter = api_limiter_new((unsigned)api->config->requests_per_key_max);
	api->rates = api_rates_new();
	api->keys = api_key_cache_new();
	api->tickets = api_tickets_new();
	api->access = access_watch_new(api);
	api->sign_in = sign_in_new(api->config, api->store);
	api->code_contexts = code_contexts_new();
	api->code_queue = code_queue_new();
	api->shell_queue = shell_queue_new();
	api->meter = api_meter_new();
	surfaces_open(api);
	api->feed = api_feed_new(api, &event_feed_source);
	if (api->activity)
		api->activity_feed = api_feed_new(api, &activity_feed_source);
	api->receiver = receiver_new(api);
	api->started_at = clock_unix_ms();
	api->last_used_ms = clock_monotonic_ms();
	return api_peers_open(api->config, &api->peers, err);
}

void api_stop_background(struct api *api)
{
	surfaces_stop(api);
	receiver_stop(api->receiver);
}

void api_close(struct api *api)
{
	access_watch_free(api->access);
	api_limiter_free(api->limiter);
	api_rates_free(api->rates);
	api_key_cache_free(api->keys);
	api_tickets_free(api->tickets);
	sign_in_free(api->sign_in);
	surfaces_close(api);
	code_contexts_free(api->code_contexts);
	code_queue_free(api->code_queue);
	shell_queue_free(api->shell_queue);
	api_meter_free(api->meter);
	api_feed_free(api->feed);
	api_feed_free(api->activity_feed);
	receiver_free(api->receiver);
	api_peers_close(api->peers);
}
