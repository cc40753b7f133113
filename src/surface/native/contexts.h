/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/contexts.h — a block of code that names a context. Private to this folder. */
#pragma once

#include "calls/output.h"
#include "edge/caller.h"

struct context_run {
	const char *id; /* CONTEXT_DEFAULT: the language's own, made when it is not there */
	const char *language, *code;
	const struct json_map *env;
	int64_t timeout_ms, output_limit; /* 0 = the configuration's */
	const char
	        *artifacts; /* folder whose changed files are kept, from the context's; or NULL */
	enum output_form form;
};
#define CONTEXT_DEFAULT "default"
/* May take the target's hold. */
MUST_CHECK int context_run(struct request *rq, struct api_target *t,
                           const struct context_run *options, struct reply *reply,
                           struct error *err);
