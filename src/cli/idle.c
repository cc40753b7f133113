/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/idle.h"

#include <string.h>

const struct idle_option idle_options[IDLE_OPTIONS] = {
        {"idle-pause", "idle_pause_seconds", "pause_ms", true},
        {"idle-stop", "idle_stop_seconds", "stop_ms", true},
        {"idle-reap", "idle_reap_seconds", "reap_ms", false},
        {"lifetime-max", "lifetime_max_seconds", "lifetime_max_ms", false},
};

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
