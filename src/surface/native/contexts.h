/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/contexts.h — running a block of code in a context. */
#pragma once

#include "calls/output.h"
#include "edge/api.h"
#include "http/server/http.h"

struct api_target;
struct json_map;

#define CONTEXT_DEFAULT "default"
struct context_run {
	/* CONTEXT_DEFAULT: the default context of the language, created if missing. */
	const char *id;
	const char *language;
	const char *code;
	const struct json_map *env;
	int64_t timeout_ms;   /* 0: the configured value */
	int64_t output_limit; /* 0: the configured value */
	/* Folder whose changed files are kept, relative to the context's folder; or NULL. */
	const char *artifacts;
	enum output_form form;
	bool is_recorded;
};
/* Takes over the target's hold if the reply needs it. */
MUST_CHECK int context_run(struct request *rq, struct api_target *t,
                           const struct context_run *options, struct reply *reply,
                           struct error *err);
