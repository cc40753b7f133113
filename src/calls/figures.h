/* SPDX-License-Identifier: Apache-2.0 */
/* calls/figures.h — resource usage of many sandboxes as JSON, and streams of it.
 *
 * While there are streams, a worker takes one round of figures after the other for all of them,
 * FLEET_FIGURES_EVERY_MS apart; without a stream there is no round and no timer. A client that is
 * slow misses rounds. All functions but make_figures_answer: on the loop thread or from a handler.
 */
#pragma once

#include "calls/output.h"
#include "json/json.h"

struct api;
struct fleet_figures;
struct figures_feed;
struct reply;

extern const struct json_shape figure_shape;
/* Items of figure_shape in the arena. */
struct json_list make_figures_answer(struct arena *a, const struct fleet_figures *figures);

struct figures_feed *figures_feed_new(struct api *api);
void figures_feed_free(struct figures_feed *feed);

#define FIGURES_IDS_MAX 1000
#define FIGURES_STREAMS_MAX 256
struct figures_options {
	const char *project_id;
	const char *const *ids; /* names or ids, NULL-terminated; NULL = all */
	enum output_form form;  /* OUTPUT_SSE or OUTPUT_NDJSON */
	int64_t interval_ms;    /* at least FLEET_FIGURES_EVERY_MS */
};
/* Answers with a stream that lasts until the client leaves. The options are copied. */
void figures_feed_reply(struct figures_feed *feed, const struct figures_options *options,
                        struct reply *reply);
