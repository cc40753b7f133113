/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/contexts.h — running a block of code in a context. */
#pragma once

#include "calls/output.h"
#include "edge/caller.h"

struct context_run {
	const char
	        *id; /* CONTEXT_DEFAULT: the default context of the language, created if missing */
	const char *language, *code;
	const struct json_map *env;
	int64_t timeout_ms, output_limit; /* 0: the configured value */
	const char *artifacts; /* folder whose changed files are kept, relative to the context's
	                          folder; or NULL */
	enum output_form form;
};
#define CONTEXT_DEFAULT "default"
/* Takes over the target's hold if the reply needs it. */
MUST_CHECK int context_run(struct request *rq, struct api_target *t,
                           const struct context_run *options, struct reply *reply,
                           struct error *err);
