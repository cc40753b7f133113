/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials in the environment of the windows that a conversation opens. */
#include "tool/window.h"

#include <string.h>

static struct grant_place place_of(const struct tool_call *call)
{
	return (struct grant_place){call->sandbox, call->conversation_id, call->key_id};
}

static int keep_window(void *context, const char *window, struct error *err)
{
	const struct tool_window_secrets *keep = context;

	return grant_keep_window(keep->call->grants, &keep->place, &keep->environment, window, err);
}

static int enter_window(void *context, const char *window, struct error *err)
{
	const struct tool_window_secrets *keep = context;

	return grant_enter_secret_window(keep->call->grants, keep->call->arena, &keep->place,
	                                 window, err);
}

struct terminal_secrets tool_guard_window(const struct tool_call *call,
                                          struct tool_window_secrets *keep)
{
	*keep = (struct tool_window_secrets){.call = call, .place = place_of(call)};
	return (struct terminal_secrets){
	        .keep = keep_window, .enter = enter_window, .context = keep};
}

int tool_prepare_window(const struct tool_call *call, struct tool_window_secrets *keep,
                        struct terminal_open *ret, struct error *err)
{
	struct terminal_secrets secrets = tool_guard_window(call, keep);

	if (grant_environment_find(call->grants, call->arena, &keep->place, &keep->environment,
	                           err) < 0)
		return -1;
	keep->secrets = secrets;
	if (keep->environment.count > 0)
		keep->secrets.env = keep->environment.env;
	ret->secrets = &keep->secrets;
	return 0;
}

void tool_window_secrets_done(struct tool_window_secrets *keep)
{
	for (size_t i = 0; i < keep->environment.count; i++) {
		char *entry = (char *)(uintptr_t)keep->environment.env[i];

		explicit_bzero(entry, strlen(entry));
	}
	keep->environment.count = 0;
}

int tool_enter_window(const struct tool_call *call, const char *window, struct error *err)
{
	const struct grant_place place = place_of(call);

	return grant_enter_window(call->grants, call->arena, &place, window ? window : TOOL_WINDOW,
	                          err);
}
