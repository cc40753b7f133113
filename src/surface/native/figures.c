/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/stats — current resource usage of many sandboxes, once or as a stream. */
#include "calls/figures.h"

#include "base/clock.h"
#include "edge/api.h"
#include "fleet/usage/figures.h"
#include "provider/provider.h"
#include "surface/native/native.h"

#define LIMIT_USUAL 100
#define INTERVAL_MAX_MS 60000

struct figures_query {
	const char **ids;
	const char *stream, *page;
	int64_t limit, interval_ms;
};
static const struct json_member figures_query_members[] = {
        JSON_TEXT_LIST_MEMBER(figures_query, ids, .max = FIGURES_IDS_MAX,
                              .about = "ids or names of sandboxes, also separated by commas "
                                       "(default: all)"),
        JSON_TEXT_MEMBER(figures_query, stream, .max = 16,
                         .about = "result, sse or ndjson; without it the header Accept decides"),
        JSON_WHOLE_MEMBER(figures_query, interval_ms, .min = FLEET_FIGURES_EVERY_MS,
                          .max = INTERVAL_MAX_MS,
                          .about = "of a stream: time between two events (default 2000)"),
        JSON_TEXT_MEMBER(figures_query, page, .max = 256,
                         .about = "next_page of the previous page"),
        JSON_WHOLE_MEMBER(figures_query, limit, .min = 1, .max = 1000,
                          .about = "running sandboxes per page (default 100, with ids 1000)"),
};
static JSON_SHAPE(figures_query, "FiguresQuery", figures_query, "Which figures");

struct figures_answer {
	int64_t at;
	struct json_list items;
	const char *next_page;
};
static const struct json_member figures_shape_members[] = {
        JSON_TIME_MEMBER(figures_answer, at),
        JSON_LIST_MEMBER(figures_answer, items, &figure_shape,
                         .about = "started and paused sandboxes of this server"),
        JSON_TEXT_MEMBER(figures_answer, next_page, .flags = JSON_NULLABLE,
                         .about = "null in the events of a stream, which have all sandboxes"),
};
static JSON_SHAPE(figures_shape, "Figures", figures_answer,
                  "Current resource usage of many sandboxes");

static int split_ids(struct arena *a, const char *const *texts, const char *const **ret,
                     struct error *err)
{
	const char **ids = ARENA_ARRAY(a, const char *, FIGURES_IDS_MAX + 1);
	size_t count = 0;

	for (; *texts; texts++) {
		struct span rest = span_of(*texts), part;

		while (rest.size > 0) {
			(void)span_split(&rest, ',', &part);
			if (count == FIGURES_IDS_MAX)
				return FAIL(err, ERROR_INVALID, "ids: more than %d",
				            FIGURES_IDS_MAX);
			ids[count++] = arena_copy(a, part);
		}
	}
	*ret = ids;
	return 0;
}

static int reply_figures(struct request *rq, const char *const *ids, struct reply *reply,
                         struct error *err)
{
	const struct figures_query *q = rq->query;
	const struct fleet_figures_query query = {
	        .project_id = api_project(rq),
	        .ids = ids,
	        .page = q->page,
	        .limit = q->limit ? (unsigned)q->limit
	                 : ids    ? 1000
	                          : LIMIT_USUAL,
	};
	struct fleet_figures found;
	struct figures_answer answer;

	if (fleet_figures(api_of(rq)->fleet, rq->arena, &query, &found, err) < 0)
		return -1;
	answer = (struct figures_answer){clock_unix_ms(), make_figures_answer(rq->arena, &found),
	                                 found.next_page};
	reply_json(reply, &figures_shape, &answer);
	return 0;
}

static int figures_get(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct figures_query *q = rq->query;
	struct figures_options options = {
	        .project_id = api_project(rq),
	        .interval_ms = q->interval_ms ? q->interval_ms : FLEET_FIGURES_EVERY_MS,
	};

	(void)body;
	if (output_form_parse(q->stream, request_header(rq, "Accept"), OUTPUT_RESULT, &options.form,
	                      err) < 0 ||
	    (q->ids && split_ids(rq->arena, (const char *const *)q->ids, &options.ids, err) < 0))
		return -1;
	if (options.form == OUTPUT_RESULT)
		return reply_figures(rq, options.ids, reply, err);
	if (options.form == OUTPUT_TEXT)
		return FAIL(err, ERROR_INVALID,
		            "stream 'text' is not supported for figures; known streams: result, "
		            "sse, ndjson");
	if (provider_require(api_of(rq)->provider, PROVIDER_CAN_STATS, err) < 0)
		return -1;
	figures_feed_reply(api_of(rq)->figures, &options, reply);
	return 0;
}

const struct route figures_routes[] = {
        {HTTP_GET, "/v1/stats", SCOPE_SANDBOX_READ, ROUTE_STANDING, .query = &figures_query,
         .answer = &figures_shape, .handle = figures_get, .tag = "sandboxes",
         .summary = "Current resource usage of the project's running sandboxes, or a stream of it"},
        {.path = NULL},
};
