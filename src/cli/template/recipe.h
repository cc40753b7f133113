/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/recipe.h — options for a template's recipe, as members of a request body. */
#pragma once

#include "base/bytes.h"
#include "cli/core/idle.h"
#include "cli/core/resources.h"
#include "cli/core/run_options.h"
#include "json/json.h"

#define OPTIONS_RECIPE                                                                             \
	{"description", "TEXT", "description for people"},                                         \
	        {"runtime", "TEXT", "label of the template's purpose"},                            \
	        {"isolation", "NAME", "the least isolation that its sandboxes accept"},            \
	        {"provider", "NAME", "provider of its sandboxes"}, OPTION_USER, OPTION_WORKDIR,    \
	        OPTION_ENV,                                                                        \
	        {"port", "NUMBER", "port that a server in the sandbox listens on", .letter = 'p',  \
	         .repeats = true},                                                                 \
	        {"warm", "LANGUAGE[=MODULE,...]",                                                  \
	         "keep an interpreter ready for code: python=numpy,pandas", .repeats = true},      \
	        OPTIONS_RESOURCES,                                                                 \
	        {"pool", "TARGET[:MIN[:MAX]]",                                                     \
	         "number of ready sandboxes; see 'atoll help pool set'"},                          \
	        OPTIONS_IDLE,                                                                      \
	        {"public", "yes|no", "whether other projects can use the template by its id"},     \
	{                                                                                          \
		"clear", "FIELD",                                                                  \
		        "clear description, runtime, isolation, provider, user, workdir, env, "    \
		        "ports, entrypoint, "                                                      \
		        "warm, resources, pool or idle",                                           \
		        .repeats = true                                                            \
	}

/* Whether some but not all limits are given. The server replaces all limits together, so
 * recipe_write then needs the present ones. */
bool recipe_needs_limits(const struct cli_arguments *args);
/* Appends a member for each given option to the object in `out`; the inner command is the
 * entrypoint. `limits` holds the template's present limits; NULL = none. */
MUST_CHECK int recipe_write(struct cli *cli, const struct json_value *limits, struct buf *out);
