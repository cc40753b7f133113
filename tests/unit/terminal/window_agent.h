/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/terminal/window_agent.h — a provider whose agent has windows in memory.
 *
 * A window's output is what the test adds: at once, or in answer to what is typed (on_typed). Each
 * connection has a thread. */
#pragma once

#include <pthread.h>

#include "base/bytes.h"
#include "base/list.h"
#include "fleet/core/fleet_hold.h"
#include "provider/provider.h"
#include "terminal/terminal.h"
#include "wire/agent.h"
#include "wire/agent_terminal.h"

struct provider;
struct terminals;

struct agent_window {
	struct agent_process process;
	struct agent_terminal_state state;
	struct buf output;
};

struct window_agent {
	const struct provider_ops *ops; /* first, as in every provider */
	pthread_mutex_t mutex;          /* over all below */
	pthread_cond_t changed;
	struct list connections;
	struct arena arena; /* of the processes' texts */
	struct agent_window windows[TERMINAL_WINDOWS_MAX];
	unsigned count;
	bool has_no_bash;
	enum error_code start_failure; /* of each start; 0: none */
	struct buf typed;              /* all of it */
	uint32_t signal;               /* the last to a foreground group */
	/* Called with the mutex held; adds output by agent_window_add. May be NULL. */
	void (*on_typed)(struct window_agent *agent, struct agent_window *w, struct span bytes);
};

void window_agent_open(struct window_agent *agent);
/* Waits for all connections to end. */
void window_agent_close(struct window_agent *agent);
struct provider *window_agent_provider(struct window_agent *agent);
/* With the mutex held. */
void agent_window_add(struct window_agent *agent, struct agent_window *w, struct span bytes);
void agent_window_end(struct window_agent *agent, struct agent_window *w, int64_t exit_code);
/* The same, takes the mutex. */
void window_agent_print(struct window_agent *agent, unsigned window, struct span bytes);

/* An agent, the terminals of a server, and a held sandbox. */
struct window_fixture {
	struct window_agent agent;
	struct terminals *terminals;
	struct fleet_hold hold;
	struct arena arena;
};
void window_fixture_open(struct window_fixture *f, const struct terminals_options *options);
void window_fixture_close(struct window_fixture *f);
/* A call for the window, with time. */
struct terminal_at window_fixture_at(struct window_fixture *f, const char *window);
/* Opens a shell, or runs a command; fails the test when that fails. */
struct terminal_window window_fixture_make(struct window_fixture *f, const char *window,
                                           const char *command);
