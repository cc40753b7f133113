/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/recipe.h — the options that say what a template gives its sandboxes, as members of a
 * body. Private to this folder. */
#pragma once

#include "base/buf.h"
#include "cli/idle.h"
#include "cli/resources.h"
#include "cli/run_options.h"
#include "json/json.h"

#define OPTIONS_RECIPE                                                                             \
	{.name = "description", .value = "TEXT", .about = "for people"},                           \
	        {.name = "runtime", .value = "TEXT", .about = "what it is for: a label"},          \
	        {.name = "isolation",                                                              \
	         .value = "NAME",                                                                  \
	         .about = "refused unless it is what the server gives"},                           \
	        OPTION_USER, OPTION_WORKDIR, OPTION_ENV,                                           \
	        {.name = "port",                                                                   \
	         .letter = 'p',                                                                    \
	         .value = "NUMBER",                                                                \
	         .repeats = true,                                                                  \
	         .about = "a server inside is expected to listen there"},                          \
	        {.name = "warm",                                                                   \
	         .value = "LANGUAGE[=MODULE,...]",                                                 \
	         .repeats = true,                                                                  \
	         .about = "keep an interpreter ready for code: python=numpy,pandas"},              \
	        OPTIONS_RESOURCES,                                                                 \
	        {.name = "pool",                                                                   \
	         .value = "TARGET[:MIN[:MAX]]",                                                    \
	         .about = "sandboxes that are prepared; see 'atoll help pool set'"},               \
	        OPTIONS_IDLE,                                                                      \
	{                                                                                          \
		.name = "clear", .value = "FIELD", .repeats = true,                                \
		.about = "empty description, runtime, user, workdir, env, ports, entrypoint, "     \
		         "warm, resources, pool or idle"                                           \
	}

/* True when some limit was given, but not all: the server replaces limits together, so that
 * recipe_write wants those that there are. */
bool recipe_needs_limits(const struct cli_arguments *args);
/* Appends a member for each option that was given to the object begun in `out`; the inner command
 * is the entrypoint. `limits` is what the template has so far, NULL = none. */
MUST_CHECK int recipe_write(struct cli *cli, const struct json_value *limits, struct buf *out);
