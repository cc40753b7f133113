/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/idle.h — the options for idle timeouts of a project and of a template. */
#pragma once

#include "base/bytes.h"
#include "cli/core/command.h"
#include "sandbox/timeouts.h"

#define OPTION_IDLE_OFF_SWITCHABLE ", or never"
#define OPTION_IDLE_OFF_FIXED ""
#define OPTION_IDLE(stem, off, api, short_, option, about_, ...)                                   \
	{                                                                                          \
		option, "DURATION", about_ OPTION_IDLE_OFF_##off "; 0s: inherited"                 \
	}
#define OPTIONS_IDLE SANDBOX_INHERITED_TIMEOUTS(OPTION_IDLE)

/* An option and its members in request bodies. */
struct idle_option {
	const char *option, *in_seconds, *in_ms;
	bool may_be_never;
};
#define IDLE_OPTIONS SANDBOX_TIMEOUTS_INHERITED
extern const struct idle_option idle_options[IDLE_OPTIONS];
/* -1 = never. Keeps *ret_ms unchanged if the option is not given. */
MUST_CHECK int idle_option_get(const struct cli_arguments *args, const struct idle_option *option,
                               int64_t *ret_ms, struct error *err);
