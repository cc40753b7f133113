/* SPDX-License-Identifier: Apache-2.0 */
/* terminal/secrets.h — values of credentials in a window's environment.
 *
 * The agent masks them in the window's output and marks its process AGENT_EXEC_SECRET. */
#pragma once

#include "base/error.h"

struct terminal_secrets {
	const char **env; /* "KEY=value", NULL-terminated; NULL = none for a new window */
	/* Before a new window gets them. */
	int (*keep)(void *context, const char *window, struct error *err);
	/* Whether the caller may use an open window that the agent says to have such values. */
	int (*enter)(void *context, const char *window, struct error *err);
	void *context;
};
