/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/idle.h"

#include <string.h>

enum { FIXED, SWITCHABLE };
#define ROW(stem, off, api, short_, option, about, ...)                                            \
	{                                                                                          \
		option, #stem "_seconds", short_, off                                              \
	}
const struct idle_option idle_options[IDLE_OPTIONS] = {SANDBOX_INHERITED_TIMEOUTS(ROW)};

int idle_option_get(const struct cli_arguments *args, const struct idle_option *option,
                    int64_t *ret_ms, struct error *err)
{
	const char *text = arguments_text(args, option->option, "");

	if (strcmp(text, "never") != 0)
		return arguments_duration(args, option->option, ret_ms, err);
	if (!option->may_be_never)
		return FAIL(err, ERROR_INVALID, "--%s cannot be 'never'", option->option);
	*ret_ms = -1;
	return 0;
}
