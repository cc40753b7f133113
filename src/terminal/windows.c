/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "terminal/prompt.h"
#include "terminal/recording.h"
#include "terminal/secrets.h"
#include "terminal/terminals.h"
#include "store/projects.h"
#include "store/secret_windows.h"
#include "fleet/core/fleet_hold.h"
#include "wire/agent_secrets.h"

#define LABEL "terminal:"
#define GIVEN_NAME_SIZE 7 /* with its NUL */

int terminal_name_check(const char *name, struct error *err)
{
	size_t size = strlen(name);

	if (size < 1 || size > TERMINAL_NAME_MAX || name[0] == '.' ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
	            size) {
		(void)FAIL(err, ERROR_INVALID, "'%.40s' is no name for a window", name);
		return FAIL_HINT(err, "1 to %d of letters, digits, '.', '_' and '-', no dot first",
		                 TERMINAL_NAME_MAX);
	}
	return 0;
}

struct window_search {
	struct arena *arena;
	const char *wanted; /* NULL = all */
	struct terminal_window items[TERMINAL_WINDOWS_MAX];
	size_t count;
};

static const char **copy_args(struct arena *a, const char *const *args)
{
	size_t count = 0;
	const char **copy;

	while (args[count])
		count++;
	copy = ARENA_ARRAY(a, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_text(a, args[i]);
	return copy;
}

static void on_process(void *context, const struct agent_process *p)
{
	struct window_search *g = context;
	const char *name = p->label + strlen(LABEL);
	struct terminal_window *w = &g->items[g->count];
	struct error bad;

	if (p->state != AGENT_PROCESS_RUNNING || !(p->flags & AGENT_EXEC_TTY) ||
	    strncmp(p->label, LABEL, strlen(LABEL)) != 0 || terminal_name_check(name, &bad) < 0 ||
	    (g->wanted && strcmp(g->wanted, name) != 0) || g->count >= COUNT_OF(g->items))
		return;
	w->process = *p;
	w->name = arena_text(g->arena, name);
	w->is_shell = prompt_shell_is_ours(p->args);
	w->process.label = arena_text(g->arena, p->label);
	w->process.user = arena_text(g->arena, p->user);
	w->process.cwd = arena_text(g->arena, p->cwd);
	w->process.args = copy_args(g->arena, p->args);
	g->count++;
}

static int list_windows(const struct terminal_at *at, struct window_search *g, struct error *err)
{
	return compute_processes(at->hold->provider, at->hold->id, on_process, g, at->deadline,
	                         err);
}

/* Sets the idle time of a window whose maker was killed before it could set it. */
static int set_idle(const struct terminal_at *at, const struct terminal_open *open,
                    struct terminal_window *w, struct error *err)
{
	struct agent_terminal idle = {
	        .process = w->process.process,
	        .idle_ms = (uint64_t)(open->ttl_ms ? open->ttl_ms : TERMINAL_TTL_MS),
	};

	return terminal_ask(at, &idle, &w->state, err);
}

static int ask_state(const struct terminal_at *at, struct terminal_window *w, struct error *err)
{
	return terminal_ask(at, &(struct agent_terminal){.process = w->process.process}, &w->state,
	                    err);
}

int terminal_list(const struct terminal_at *at, struct arena *a, struct terminal_windows *ret,
                  struct error *err)
{
	struct window_search *g = ARENA_NEW(a, struct window_search);

	g->arena = a;
	if (list_windows(at, g, err) < 0)
		return -1;
	for (size_t i = 0; i < g->count; i++)
		if (ask_state(at, &g->items[i], err) < 0)
			return -1;
	*ret = (struct terminal_windows){g->items, g->count};
	return 0;
}

/* Whether the caller may use a window that the agent says to have values. */
static int enter_window(const struct terminal_secrets *secrets, const struct terminal_window *w,
                        struct error *err)
{
	if (!(w->process.flags & AGENT_EXEC_SECRET) || !secrets)
		return 0;
	return secrets->enter(secrets->context, w->name, err);
}

int terminal_find(const struct terminal_at *at, struct arena *a, struct terminal_window *ret,
                  struct error *err)
{
	struct window_search *g = ARENA_NEW(a, struct window_search);

	g->arena = a;
	g->wanted = at->window;
	if (terminal_name_check(at->window, err) < 0 || list_windows(at, g, err) < 0)
		return -1;
	if (g->count == 0)
		return FAIL(err, ERROR_NOT_FOUND, "the sandbox has no window '%s'", at->window);
	if (enter_window(at->secrets, &g->items[0], err) < 0 ||
	    ask_state(at, &g->items[0], err) < 0)
		return -1;
	*ret = g->items[0];
	return 0;
}

static int check_open(const struct terminal_open *open, struct error *err)
{
	if (open->rows > TERMINAL_ROWS_MAX || open->columns > TERMINAL_COLUMNS_MAX)
		return FAIL(err, ERROR_INVALID, "a window has at most %d rows and %d columns",
		            TERMINAL_ROWS_MAX, TERMINAL_COLUMNS_MAX);
	if (open->ttl_ms < 0 || open->ttl_ms > TERMINAL_TTL_MS_MAX)
		return FAIL(err, ERROR_INVALID, "a window stays open idle for 30 days at most");
	return 0;
}

static int start_args(const struct terminal_at *at, struct arena *a, struct agent_exec *exec,
                      struct agent_process *ret, struct error *err)
{
	return compute_start(at->hold->provider, at->hold->id,
	                     &(struct compute_start){exec, a, at->deadline}, ret, err);
}

/* bash if it exists, else sh; the agent answers NOT_FOUND for users and folders, too. */
static int start_shell(const struct terminal_at *at, struct arena *a,
                       const struct terminal_open *open, struct agent_process *ret,
                       struct error *err)
{
	const char *login[] = {"sh", "-l", NULL};
	const char *line[] = {"bash", "-c", open->command, NULL};
	struct agent_exec exec = {
	        .args = open->command ? line : (const char **)(uintptr_t)prompt_shell_args(),
	        .env = open->env,
	        .secrets = open->secrets ? open->secrets->env : NULL,
	        .cwd = open->cwd,
	        .user = open->user,
	        .label = arena_format(a, LABEL "%s", at->window),
	        .flags = AGENT_EXEC_TTY | AGENT_EXEC_STDIN | AGENT_EXEC_DETACH,
	        .rows = open->rows ? open->rows : 24,
	        .columns = open->columns ? open->columns : 80,
	};

	if (start_args(at, a, &exec, ret, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND || strncmp(err->text, "command not found", 17) != 0)
		return -1;
	line[0] = "sh";
	exec.args = open->command ? line : login;
	return start_args(at, a, &exec, ret, err);
}

static bool has_secrets(const struct terminal_open *open)
{
	return open->secrets && open->secrets->env;
}

/* The row of the window stays for longer than the start may take. */
static int start_with_secrets(const struct terminal_at *at, struct arena *a,
                              const struct terminal_open *open, struct agent_process *ret,
                              struct error *err)
{
	int64_t latest = deadline_after(SECRET_WINDOW_START_MS);
	struct terminal_at soon = *at;

	if (soon.deadline > latest)
		soon.deadline = latest;
	if (open->secrets->keep(open->secrets->context, at->window, err) < 0)
		return -1;
	if (start_shell(&soon, a, open, ret, err) == 0)
		return 0;
	if (err->code != ERROR_INVALID && err->code != ERROR_UNSUPPORTED)
		return -1;
	return FAIL_CONTEXT(err, "a window with credentials, which agents of earlier versions and "
	                         "providers without an agent cannot open");
}

static int make_window(const struct terminal_at *at, struct arena *a,
                       const struct terminal_open *open, struct terminal_window *ret,
                       struct error *err)
{
	struct terminal_window w = {.name = at->window};

	if (has_secrets(open) ? start_with_secrets(at, a, open, &w.process, err) < 0
	                      : start_shell(at, a, open, &w.process, err) < 0)
		return -1;
	w.is_shell = prompt_shell_is_ours(w.process.args);
	if (set_idle(at, open, &w, err) < 0)
		return -1;
	*ret = w;
	return 0;
}

/* A generated name is new: no other call uses it. */
static const char *new_name(struct arena *a)
{
	char text[GIVEN_NAME_SIZE];

	id_random_text(text, sizeof(text));
	return arena_format(a, "w-%s", text);
}

static int open_locked(const struct terminal_at *at, struct arena *a,
                       const struct terminal_open *open, struct terminal_window *ret,
                       bool *ret_created, struct error *err)
{
	struct window_search *g = ARENA_NEW(a, struct window_search);

	g->arena = a;
	if (list_windows(at, g, err) < 0)
		return -1;
	for (size_t i = 0; i < g->count; i++) {
		if (strcmp(g->items[i].name, at->window) != 0)
			continue;
		if (enter_window(open->secrets, &g->items[i], err) < 0 ||
		    ask_state(at, &g->items[i], err) < 0 ||
		    (g->items[i].state.idle_ms == 0 && set_idle(at, open, &g->items[i], err) < 0))
			return -1;
		*ret = g->items[i];
		*ret_created = false;
		return 0;
	}
	if (g->count >= TERMINAL_WINDOWS_MAX) {
		(void)FAIL(err, ERROR_LIMIT, "the sandbox has %d windows already",
		           TERMINAL_WINDOWS_MAX);
		return FAIL_HINT(err, "close one of them");
	}
	if (make_window(at, a, open, ret, err) < 0 ||
	    (open->record_for && terminal_record(at, open->record_for, ret, err) < 0))
		return -1;
	*ret_created = true;
	terminals_tell(at->terminals, EVENT_WINDOW_OPENED, at->hold->id, ret->name);
	return 0;
}

int terminal_take_settings(struct store *store, struct arena *a, const char *project_id,
                           struct terminal_open *ret, struct error *err)
{
	struct project_record project;

	if (store_project_find(store, a, project_id, &project, err) < 0)
		return -1;
	ret->ttl_ms = project.terminal_ttl_ms > 0 ? project.terminal_ttl_ms : TERMINAL_TTL_MS;
	ret->record_for = project.record_terminals ? project_id : NULL;
	return 0;
}

int terminal_open(const struct terminal_at *at, struct arena *a, const struct terminal_open *open,
                  struct terminal_window *ret, bool *ret_created, struct error *err)
{
	AUTO(terminal_unlock) pthread_mutex_t *lock = NULL;
	struct terminal_at named = *at;

	if (!named.window)
		named.window = new_name(a);
	if (terminal_name_check(named.window, err) < 0 || check_open(open, err) < 0 ||
	    provider_require(at->hold->provider, PROVIDER_CAN_PTY, err) < 0 ||
	    terminal_lock(at->terminals->opening, &named, &lock, err) < 0)
		return -1;
	return open_locked(&named, a, open, ret, ret_created, err);
}

int terminal_close(const struct terminal_at *at, struct arena *a, struct error *err)
{
	struct terminal_window w;
	AUTO(terminal_reader_done) struct terminal_reader reader = {.over = false};
	struct agent_signal message = {.signal = SIGKILL, .whole_tree = 1};
	struct agent_output output;
	int more;

	if (terminal_find(at, a, &w, err) < 0)
		return -1;
	message.process = w.process.process;
	if (terminal_reader_open(&reader, at, message.process, w.state.output_end, true, err) < 0 ||
	    compute_signal(at->hold->provider, at->hold->id, AGENT_SIGNAL, &message, at->deadline,
	                   err) < 0)
		return -1;
	do
		more = terminal_reader_next(&reader, at->deadline, &output, err);
	while (more > 0);
	if (more == 0)
		terminals_tell(at->terminals, EVENT_WINDOW_CLOSED, at->hold->id, w.name);
	return more;
}

int terminal_change(const struct terminal_at *at, struct arena *a,
                    const struct terminal_change *change, struct terminal_window *ret,
                    struct error *err)
{
	struct terminal_open limits = {
	        .rows = change->rows,
	        .columns = change->columns,
	        .ttl_ms = change->ttl_ms,
	};
	struct terminal_window w;
	struct agent_terminal message = {.idle_ms = (uint64_t)change->ttl_ms};

	if (check_open(&limits, err) < 0 || terminal_find(at, a, &w, err) < 0)
		return -1;
	message.process = w.process.process;
	message.rows = change->rows ? change->rows : w.state.rows;
	message.columns = change->columns ? change->columns : w.state.columns;
	if (terminal_ask(at, &message, &w.state, err) < 0)
		return -1;
	*ret = w;
	return 0;
}
