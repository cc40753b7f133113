/* SPDX-License-Identifier: Apache-2.0 */
#include "edge/trace.h"

#include <stdio.h>

#include "edge/api.h"
#include "edge/audit_words.h"
#include "edge/caller.h"
#include "edge/meter.h"
#include "http/server/http.h"
#include "trace/trace.h"

/* Names are OpenTelemetry's where it has them. The route's path stands for the request's, which may
 * hold the token of a link. */
static void end_span(struct request *rq, int status)
{
	struct trace_span *span = request_trace(rq);
	const struct api_caller *caller = rq->caller;
	const char *kind = "", *target = "", *route = rq->route ? rq->route->path : "unknown";
	struct error failed = {.code = ERROR_NONE};
	char name[TRACE_NAME_SIZE];

	if (!span || !span->is_recorded)
		return;
	if (caller && rq->route && !(rq->route->flags & ROUTE_PUBLIC))
		audit_target(rq, &kind, &target);
	const struct trace_attribute attributes[] = {
	        {.key = "http.request.method", .text = rq->method_name},
	        {.key = "http.route", .text = route},
	        {.key = "http.response.status_code", .number = status},
	        {.key = "atoll.request.id", .text = rq->id},
	        {.key = "atoll.project.id", .text = caller ? caller->account.project_id : ""},
	        {.key = "atoll.key.id", .text = caller ? caller->account.key_id : ""},
	        {.key = "atoll.target.kind", .text = kind ? kind : ""},
	        {.key = "atoll.target.id", .text = target ? target : ""},
	        {.key = NULL},
	};

	if (status >= 500)
		(void)snprintf(failed.text, sizeof(failed.text), "status %d", status);
	(void)snprintf(name, sizeof(name), "%s %s", rq->method_name, route);
	trace_end(span, &(struct trace_end){.name = name,
	                                    .err = status >= 500 ? &failed : NULL,
	                                    .attributes = attributes});
}

void api_measure_done(struct request *rq, int status, int64_t took_us)
{
	api_meter_request(api_of(rq)->meter, rq->route, took_us);
	end_span(rq, status);
}
