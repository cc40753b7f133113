/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/meter.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "edge/access_watch.h"
#include "edge/api.h"
#include "fleet/usage/meters.h"
#include "http/server/http.h"
#include "sandbox/quota.h"
#include "sign_in/sign_in.h"
#include "trace/timing.h"

/* More than the routes of all surfaces; a power of two. */
#define ROUTES_MAX 1024

/* Open addressing by the route's address; NULL is the request that found no route. */
struct route_timing {
	const struct route *route;
	struct timing *timing; /* NULL: the slot is free */
};

struct api_meter {
	struct timing *requests, *pings;
	atomic_uint_fast64_t store_failures;
	struct route_timing routes[ROUTES_MAX]; /* loop thread */
	unsigned route_count;
};

struct api_meter *api_meter_new(void)
{
	struct api_meter *m = memory_new(sizeof(*m));

	m->requests = timing_new();
	m->pings = timing_new();
	return m;
}

void api_meter_free(struct api_meter *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < ROUTES_MAX; i++)
		timing_free(m->routes[i].timing);
	timing_free(m->requests);
	timing_free(m->pings);
	free(m);
}

/* NULL when the table is full; a quarter stays free, so that a search ends soon. */
static struct timing *find_route(struct api_meter *m, const struct route *route)
{
	size_t at = ((uintptr_t)route / sizeof(*route)) % ROUTES_MAX;

	for (; m->routes[at].timing; at = (at + 1) % ROUTES_MAX)
		if (m->routes[at].route == route)
			return m->routes[at].timing;
	if (m->route_count >= ROUTES_MAX / 4 * 3)
		return NULL;
	m->route_count++;
	m->routes[at] = (struct route_timing){route, timing_new()};
	return m->routes[at].timing;
}

void api_meter_request(struct api_meter *m, const struct route *route, int64_t took_us)
{
	struct timing *timing = find_route(m, route);

	timing_add(m->requests, took_us);
	if (timing)
		timing_add(timing, took_us);
}

void api_meter_store(struct api_meter *m, int64_t took_us, bool ok)
{
	timing_add(m->pings, took_us);
	if (!ok)
		atomic_fetch_add_explicit(&m->store_failures, 1, memory_order_relaxed);
}

struct timing_sum api_meter_requests(const struct api_meter *m)
{
	return timing_sum_get(m->requests);
}

struct timing_sum api_meter_pings(const struct api_meter *m)
{
	return timing_sum_get(m->pings);
}

uint64_t api_meter_ping_failures(const struct api_meter *m)
{
	return atomic_load_explicit(&m->store_failures, memory_order_relaxed);
}

/* Only operations that were called have series. */
static void write_routes(const struct api_meter *m, struct buf *out)
{
	static const char name[] = "atoll_http_request_seconds";
	AUTO(buf_done) struct buf label = BUF(1024);

	timing_write_head(name, "Time from a request's head to the end of its reply, by operation.",
	                  out);
	for (size_t i = 0; i < ROUTES_MAX; i++) {
		const struct route_timing *row = &m->routes[i];

		if (!row->timing)
			continue;
		buf_reset(&label);
		if (row->route)
			buf_addf(&label, "operation=\"%s %s\"",
			         http_method_name(row->route->method), row->route->path);
		else
			buf_add_text(&label, "operation=\"unknown\"");
		timing_write_series(row->timing, name, buf_text(&label), out);
	}
}

void api_meter_write(const struct api_meter *m, struct buf *out)
{
	static const char ping[] = "atoll_store_ping_seconds";

	write_routes(m, out);
	timing_write_head(ping, "Time of one small call to the store, every few seconds.", out);
	timing_write_series(m->pings, ping, "", out);
	buf_addf(out,
	         "# HELP atoll_store_ping_failures_total Calls of the ping that failed.\n"
	         "# TYPE atoll_store_ping_failures_total counter\n"
	         "atoll_store_ping_failures_total %" PRIu64 "\n",
	         api_meter_ping_failures(m));
	timing_write(out);
	quota_write_metrics(out);
}

void api_meter_write_access(const struct api *api, struct buf *out)
{
	struct sign_in_counts c = sign_in_counts_get(api->sign_in);

	buf_addf(out,
	         "# HELP atoll_sign_ins_total Attempts to sign in from a browser.\n"
	         "# TYPE atoll_sign_ins_total counter\n"
	         "atoll_sign_ins_total{result=\"made\"} %" PRIu64 "\n"
	         "atoll_sign_ins_total{result=\"refused\"} %" PRIu64 "\n"
	         "atoll_sign_ins_total{result=\"limited\"} %" PRIu64 "\n"
	         "# HELP atoll_csrf_refused_total Requests refused because they may come from "
	         "another page.\n# TYPE atoll_csrf_refused_total counter\n"
	         "atoll_csrf_refused_total %" PRIu64 "\n"
	         "# HELP atoll_streams_ended_total Open streams ended because their caller lost "
	         "access.\n# TYPE atoll_streams_ended_total counter\n"
	         "atoll_streams_ended_total %" PRIu64 "\n",
	         c.made, c.refused, c.limited, c.forged, access_watch_ended(api->access));
	budgets_write_metrics(api->fleet, out);
}
