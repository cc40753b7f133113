/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/telemetry.h"

#include "api/api.h"
#include "base/bytes.h"
#include "config/config.h"
#include "config/otlp.h"
#include "edge/api.h"
#include "trace/export/export.h"
#include "trace/trace.h"

#define HEADERS_MAX 32
#define METRICS_MAX ((size_t)16 << 20)

static void start_timer(struct telemetry *t)
{
	loop_timer_start(t->api->loop, &t->timer, t->api->config->otlp_metrics_interval_ms);
}

static void push_metrics(struct telemetry *t)
{
	AUTO(buf_done) struct buf text = BUF(METRICS_MAX);

	api_write_metrics(t->api, &text);
	if (!text.overflowed)
		otlp_push_metrics(t->exporter, &text);
}

static void on_interval(void *context)
{
	struct telemetry *t = context;

	push_metrics(t);
	start_timer(t);
}

int telemetry_open(struct telemetry *t, struct api *api, const char *instance_id, struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	const struct config *config = api->config;
	const char *headers[HEADERS_MAX + 1] = {NULL};
	struct span rest = span_of(config->otlp_headers);
	struct otlp_options options = {
	        .endpoint = config->otlp_endpoint,
	        .headers = headers,
	        .resource = {config->otlp_service_name, ATOLL_VERSION, instance_id},
	        .timeout_ms = config->otlp_timeout_ms,
	};
	size_t count = 0;

	if (!config->otlp_endpoint[0])
		return 0;
	while (count < HEADERS_MAX && (headers[count] = config_otlp_header_next(&a, &rest)))
		count++;
	if (count == HEADERS_MAX && rest.size > 0)
		return FAIL(err, ERROR_INVALID, "otlp_headers names more than %d headers",
		            HEADERS_MAX);
	trace_open(
	        &(struct trace_options){(size_t)config->otlp_spans_max, config->otlp_traces_ratio});
	if (otlp_open(&options, &t->exporter, err) < 0) {
		trace_close();
		return -1;
	}
	t->api = api;
	t->timer = (struct loop_timer){.on_timer = on_interval, .context = t};
	api->otlp = t->exporter;
	start_timer(t);
	return 0;
}

void telemetry_close(struct telemetry *t)
{
	if (!t->exporter)
		return;
	loop_timer_stop(t->api->loop, &t->timer);
	t->api->otlp = NULL;
	otlp_close(t->exporter);
	trace_close();
	t->exporter = NULL;
}
