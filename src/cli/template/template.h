/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/template.h — the parts of `atoll template`. */
#pragma once

#include "cli/core/command.h"
#include "cli/core/server.h"

/* In create.c: `atoll template create` and `set`. */
#define ABOUT_RECIPE                                                                               \
	"The words after -- are the entrypoint. Options that are not given keep the value of "     \
	"the\n"                                                                                    \
	"template or image. --env and --port replace all earlier values, a limit only itself."
extern const struct command_option template_create_options[], template_set_options[];
MUST_CHECK int template_create(struct cli *cli);
MUST_CHECK int template_set(struct cli *cli);

/* In steps.c: `atoll template build -f`. */
extern const struct command_option template_build_options[];
MUST_CHECK int template_build_steps(struct cli *cli);

/* Adds the member "login" if the option is given. The password is not an option, because other
 * users can read command lines. */
#define TEMPLATE_PASSWORD "ATOLL_REGISTRY_PASSWORD"
#define TEMPLATE_LOGIN_OPTION                                                                      \
	{                                                                                          \
		"login", "USER",                                                                   \
		        "user at the image's registry; the password is in " TEMPLATE_PASSWORD      \
	}
MUST_CHECK int template_add_login(struct cli *cli, struct buf *body);

/* In pool.c: adds "TARGET[:MIN[:MAX]]" to the body of a call. */
MUST_CHECK int pool_size_add(struct buf *body, const char *text, struct error *err);

/* Makes a call during which the server builds `template`, and shows the progress; ret may be
 * NULL. */
MUST_CHECK int template_call(struct cli *cli, const struct server_call *call, const char *template,
                             const struct json_value **ret);
