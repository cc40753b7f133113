/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template.h — the parts of `atoll template`. Private to this folder. */
#pragma once

#include "cli/command.h"
#include "cli/server.h"

/* In template_recipe.c. */
extern const struct command command_template_create, command_template_set;

/* In template_steps.c: `atoll template build -f`. */
extern const struct command_option template_build_options[];
MUST_CHECK int template_build_steps(struct cli *cli);

/* A call during which the server builds `template`, which is told on the way; ret may be NULL. */
MUST_CHECK int template_call(struct cli *cli, const struct server_call *call, const char *template,
                             const struct json_value **ret);
