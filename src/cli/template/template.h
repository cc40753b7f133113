/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/template.h — the parts of `atoll template`. */
#pragma once

#include "cli/command.h"
#include "cli/server.h"

/* In create.c. */
extern const struct cli_command command_template_create, command_template_set;

/* In steps.c: `atoll template build -f`. */
extern const struct command_option template_build_options[];
MUST_CHECK int template_build_steps(struct cli *cli);

/* The member ,"login":{…} of a body, or "". The password is not an option, because other users can
 * read command lines. */
#define TEMPLATE_PASSWORD "ATOLL_REGISTRY_PASSWORD"
#define TEMPLATE_LOGIN_OPTION                                                                      \
	{                                                                                          \
		.name = "login", .value = "USER",                                                  \
		.about = "user at the image's registry; the password is in " TEMPLATE_PASSWORD     \
	}
MUST_CHECK int template_login(struct cli *cli, const char **ret);

/* Makes a call during which the server builds `template`, and shows the progress; ret may be
 * NULL. */
MUST_CHECK int template_call(struct cli *cli, const struct server_call *call, const char *template,
                             const struct json_value **ret);
