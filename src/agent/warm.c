/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/warm.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/connection.h"
#include "agent/warm_parts.h"
#include "agent/warm_scripts.h"
#include "base/clock.h"
#include "base/fault.h"

#define NAME_MAX_BYTES 128 /* of a module */
#define BEGIN_MAX_MS 250   /* from the hand-over of a call until its code begins */
#define RETRY_FIRST_MS 200
#define FAILURES_MAX 6     /* failures in a row before the interpreter is given up */
#define GOOD_LIFE_MS 60000 /* after this time the count of failures begins anew */
#define POLITE_MAX_MS                                                                              \
	1000            /* a start waits this long for commands, and for no command that is older */
#define STATUS_STALE 11 /* of a child, see warm_python.py */
#define ORDER_MAX (2 * WIRE_PAYLOAD_MAX)

/* The interpreter or its modules may have read variables with these prefixes when they started, so
 * a call must have the same values. A space ends each prefix. */
#define START_UP_NAMES "PATH= HOME= LD_ LC_ LANG GLIBC_ MALLOC_ XDG_ SSL_ OPENSSL_ "

/* Python reads its program and then its calls from descriptor 0. Node.js reads its program from 3
 * and its call from 4, and reports on 5. */
static const struct warm_language languages[] = {
        {
                "python",
                {"python3", "-c"},
                &warm_fork,
                warm_python,
                "exec(compile(__import__('os').read(0, 65536), '<atoll>', 'exec'), "
                "{'__name__': 'atoll_warm'})",
                START_UP_NAMES "PYTHON OMP_ KMP_ OPENBLAS_ GOTO MKL_ VECLIB_ BLIS_ NPY_ NUMPY "
                               "NUMEXPR MPL CUDA_ TORCH TF_ JAX ",
        },
        {
                "javascript",
                {"node", "-e"},
                &warm_ahead,
                warm_node,
                "{const f=require('fs'),b=Buffer.alloc(65536);require('vm').runInThisContext("
                "b.toString('utf8',0,f.readSync(4,b,0,65536,0)).split('\\0')[0],"
                "{filename:'node:internal/atoll_warm'})(require)}\n"
                "//# sourceURL=node:internal/main/eval_string",
                START_UP_NAMES "NODE_ UV_ ICU_ DEBUG FORCE_COLOR NO_COLOR COLORTERM TERM= CI= "
                               "npm_ NPM_ ",
        },
};

void warm_close_start(struct warm *w)
{
	auto_close(&w->spawn.fds[0]);
	auto_close(&w->spawn.fds[1]);
	if (w->spawn.fds[2] != w->spawn.fds[1])
		auto_close(&w->spawn.fds[2]);
	w->spawn.fds[0] = w->spawn.fds[1] = w->spawn.fds[2] = -1;
}

static bool is_ready(const struct warm *w)
{
	return w->language->way->is_ready(w);
}

/* SIGCHLD reports its end; only then another one may start. */
static void end_interpreter(struct warm *w)
{
	watch_close(w->agent, &w->control);
	if (w->language)
		w->language->way->close(w);
	if (w->reaper)
		reaper_signal(w->reaper, SIGKILL);
}

static void free_wish(struct warm *w)
{
	arena_done(&w->arena);
	w->arena = (struct arena){0};
}

static void note_failure(struct warm *w)
{
	int64_t now = clock_monotonic_ms();

	if (w->has_served && now - w->started_ms >= GOOD_LIFE_MS)
		w->failures = 0;
	w->retry_at = ++w->failures < FAILURES_MAX
	                      ? now + ((int64_t)RETRY_FIRST_MS << (w->failures - 1))
	                      : DEADLINE_NEVER;
}

static void start_interpreter(struct warm *w)
{
	struct error ignored;

	w->retry_at = DEADLINE_NEVER;
	w->has_served = false;
	w->started_ms = clock_monotonic_ms();
	w->spawn.cpus = agent_cpus(w->agent);
	if (w->language->way->open(w, &ignored) == 0 &&
	    reaper_start(&w->spawn, &w->reaper, &ignored) == 0)
		return;
	warm_close_start(w);
	end_interpreter(w);
	note_failure(w);
}

static void want_interpreter(struct warm *w)
{
	w->retry_at = 0;
	w->wanted_ms = clock_monotonic_ms();
}

void warm_restart(struct warm *w, bool has_failed)
{
	end_interpreter(w);
	if (has_failed)
		note_failure(w);
	else
		want_interpreter(w);
}

void warm_want(struct warm *w)
{
	watch_close(w->agent, &w->control);
	w->language->way->close(w);
	warm_close_start(w);
	w->failures = 0;
	want_interpreter(w);
}

static bool has_young_command(const struct agent *a, int64_t now)
{
	LIST_EACH (&a->processes, const struct process, p, item)
		if (p->reaper && now - p->started_ms < POLITE_MAX_MS)
			return true;
	return false;
}

/* The wait is bounded, so that a busy sandbox gets its interpreter, too. */
static bool must_wait(const struct warm *w, int64_t now)
{
	return w->language->way->is_ahead && now - w->wanted_ms < POLITE_MAX_MS &&
	       has_young_command(w->agent, now);
}

void warm_make_way(struct agent *a)
{
	int64_t now;

	for (struct warm *w = a->warm; w; w = w->next) {
		if (!w->language->way->is_ahead || !w->reaper || is_ready(w) || w->ahead.held ||
		    w->control.fd < 0 || !reaper_has_started(w->reaper))
			continue;
		now = clock_monotonic_ms();
		if (now - w->wanted_ms >= POLITE_MAX_MS)
			continue;
		reaper_signal(w->reaper, SIGSTOP);
		w->ahead.held = true;
		w->ahead.held_ms = now;
	}
}

static void continue_interpreter(struct warm *w, int64_t now)
{
	w->ahead.held = false;
	w->started_ms += now - w->ahead.held_ms;
	if (w->reaper)
		reaper_signal(w->reaper, SIGCONT);
}

static const struct warm_language *language_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(languages); i++)
		if (strcmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

static bool is_name(const char *name)
{
	static const char letters[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/@:";

	return *name && strlen(name) <= NAME_MAX_BYTES && name[strspn(name, letters)] == '\0';
}

static int check_wish(const struct agent *a, const struct agent_warm *wish,
                      const struct warm_language **ret, struct error *err)
{
	if (a->home)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "a sandbox without namespaces keeps no interpreter");
	*ret = language_find(wish->language);
	if (!*ret)
		return FAIL(err, ERROR_UNSUPPORTED, "no interpreter of '%s' can be kept",
		            wish->language);
	if (wish->cwd[0] && wish->cwd[0] != '/')
		return FAIL(err, ERROR_INVALID, "folder '%s' is not an absolute path", wish->cwd);
	for (const char **name = wish->imports; *name; name++)
		if (!is_name(*name))
			return FAIL(err, ERROR_INVALID, "'%s' is no name of a module", *name);
	return 0;
}

static bool is_same_list(const char **a, const char **b)
{
	for (; *a && *b && strcmp(*a, *b) == 0; a++, b++)
		;
	return !*a && !*b;
}

static bool is_start_up(const struct warm_language *language, const char *entry)
{
	struct span rest = span_of(language->start_up_names), name;

	while (span_split(&rest, ' ', &name))
		if (name.size > 0 && strncmp(entry, name.data, name.size) == 0)
			return true;
	return false;
}

static bool has_entry(const char *const *env, const char *wanted)
{
	for (; *env; env++)
		if (strcmp(*env, wanted) == 0)
			return true;
	return false;
}

static bool has_start_up_of(const struct warm *w, const char *const *env, const char *const *other)
{
	for (; *other; other++)
		if (is_start_up(w->language, *other) && !has_entry(env, *other))
			return false;
	return true;
}

static bool has_same_start(const struct warm *w, const char *const *a, const char *const *b)
{
	return has_start_up_of(w, a, b) && has_start_up_of(w, b, a);
}

/* Variables that an interpreter does not read when it starts come with each call. */
static bool is_same(const struct warm *w, const struct agent_warm *wish)
{
	return strcmp(w->wish.user, wish->user) == 0 && strcmp(w->wish.cwd, wish->cwd) == 0 &&
	       is_same_list(w->wish.imports, wish->imports) &&
	       has_same_start(w, (const char *const *)w->wish.env, (const char *const *)wish->env);
}

static const char **copy_list(struct arena *arena, const char **list)
{
	size_t count = 0;
	const char **copy;

	while (list[count])
		count++;
	copy = ARENA_ARRAY(arena, const char *, count + 1);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_text(arena, list[i]);
	return copy;
}

static void take_wish(struct warm *w, const struct warm_language *language,
                      const struct agent_warm *wish, const struct user *user)
{
	const char **args = ARENA_ARRAY(&w->arena, const char *, WARM_ARGS_MAX + 1);
	size_t count = 0;

	w->language = language;
	w->wish = (struct agent_warm){
	        .language = language->name,
	        .imports = copy_list(&w->arena, wish->imports),
	        .env = copy_list(&w->arena, wish->env),
	        .user = arena_text(&w->arena, wish->user),
	        .cwd = arena_text(&w->arena, wish->cwd),
	};
	w->user = *user;
	for (; language->args[count]; count++)
		args[count] = language->args[count];
	args[count] = language->loader;
	w->spawn = (struct spawn){
	        .args = args,
	        .env = spawn_env(&w->arena, w->agent, &w->user,
	                         &(struct agent_exec){.env = w->wish.env}),
	        .cwd = "/",
	        .root = w->agent->root,
	        .resolve = w->agent->resolve,
	        .user = wish->user[0] && geteuid() == 0 ? &w->user : NULL,
	        .fds = {-1, -1, -1},
	};
	w->spawn.paths = spawn_paths(&w->arena, args[0], w->spawn.env);
}

static struct warm *warm_new(struct agent *a, const struct warm_language *language)
{
	struct warm *w = memory_new(sizeof(*w));

	w->agent = a;
	w->language = language;
	w->control.fd = w->spare.watch.fd = -1;
	w->ahead.in.fd = w->ahead.out[0].fd = w->ahead.out[1].fd = -1;
	for (unsigned i = 0; i < COUNT_OF(w->ahead.extra); i++)
		w->ahead.extra[i] = -1;
	w->spawn.fds[0] = w->spawn.fds[1] = w->spawn.fds[2] = -1;
	w->retry_at = DEADLINE_NEVER;
	w->next = a->warm;
	a->warm = w;
	return w;
}

static struct warm *warm_find(struct agent *a, const struct warm_language *language)
{
	struct warm *w = a->warm;

	while (w && w->language != language)
		w = w->next;
	return w;
}

int warm_set(struct agent *a, const struct agent_warm *wish, struct error *err)
{
	const struct warm_language *language = NULL;
	struct warm *w;
	struct user user;

	if (check_wish(a, wish, &language, err) < 0 || user_find(wish->user, &user, err) < 0)
		return -1;
	w = warm_find(a, language);
	if (!w)
		w = warm_new(a, language);
	else if (is_same(w, wish) && w->failures < FAILURES_MAX)
		return 0;
	/* Its reaper reads `spawn` until the program runs. */
	if (w->reaper && !reaper_has_started(w->reaper))
		return FAIL(err, ERROR_CONFLICT, "an interpreter is about to start");
	warm_close_start(w);
	end_interpreter(w);
	free_wish(w);
	take_wish(w, language, wish, &user);
	w->failures = 0;
	w->ahead.took_ms = 0;
	want_interpreter(w);
	warm_run_timers(a, clock_monotonic_ms());
	return 0;
}

bool warm_knows(struct agent *a, pid_t pid)
{
	LIST_EACH (&a->processes, const struct process, p, item)
		if (p->reaper && reaper_pid(p->reaper) == pid)
			return true;
	LIST_EACH (&a->connections, const struct connection, c, item)
		if (c->worker == pid)
			return true;
	for (const struct warm *w = a->warm; w; w = w->next)
		if (w->reaper && reaper_pid(w->reaper) == pid)
			return true;
	return false;
}

/* The code of a call that could be run warm, or NULL. */
static const char *code_of(const struct warm *w, const struct agent_exec *exec)
{
	const char *const *args = w->language->args;
	size_t count = 0;

	if (!(exec->flags & AGENT_EXEC_WARM) || exec->flags & ~w->language->way->flags)
		return NULL;
	for (; args[count]; count++)
		if (!exec->args[count] || strcmp(exec->args[count], args[count]) != 0)
			return NULL;
	return exec->args[count] && !exec->args[count + 1] ? exec->args[count] : NULL;
}

static struct warm *warm_of(struct agent *a, const struct agent_exec *exec)
{
	struct warm *w = a->warm;

	while (w && !code_of(w, exec))
		w = w->next;
	return w;
}

bool warm_is_about_to(struct agent *a, const struct agent_exec *exec, int64_t *patience)
{
	const struct warm *w = warm_of(a, exec);
	int64_t now, until;

	if (!w || is_ready(w) || strcmp(exec->user, w->wish.user) != 0)
		return false;
	until = w->language->way->is_coming_until(w);
	now = clock_monotonic_ms();
	if (until <= now || (*patience > 0 && now >= *patience))
		return false;
	if (*patience == 0 || until < *patience)
		*patience = until;
	return true;
}

static bool is_same_user(const struct warm *w, const struct process *p)
{
	const struct user *user = p->user;

	return !p->spawn.user == !w->spawn.user && user->uid == w->user.uid &&
	       user->gid == w->user.gid && user->group_count == w->user.group_count &&
	       memcmp(user->groups, w->user.groups, user->group_count * sizeof(user->groups[0])) ==
	               0;
}

int warm_write_order(int fd, const char *first, const struct process *p, const char *code,
                     struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(ORDER_MAX);

	buf_add(&text, first, strlen(first) + 1);
	buf_add(&text, p->spawn.cwd, strlen(p->spawn.cwd) + 1);
	buf_add(&text, code, strlen(code) + 1);
	for (const char *const *entry = p->spawn.env; *entry; entry++)
		buf_add(&text, *entry, strlen(*entry) + 1);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "an order of more than %d bytes", ORDER_MAX);
	return fd_write_all(fd, text.data, text.size - 1, err);
}

bool warm_take(struct process *p, const struct agent_exec *exec)
{
	struct warm *w = warm_of(p->agent, exec);
	struct error ignored;

	p->info.flags &= ~(uint32_t)AGENT_EXEC_WARM;
	if (!w || !is_ready(w) || !is_same_user(w, p) ||
	    !has_same_start(w, w->spawn.env, p->spawn.env) ||
	    w->language->way->give(w, p, code_of(w, exec), &ignored) < 0)
		return false;
	p->info.flags |= AGENT_EXEC_WARM;
	p->warm_until = deadline_after(BEGIN_MAX_MS);
	p->warm = w;
	fault_point("agent", "warm-given");
	return true;
}

void warm_on_declined(const struct process *p)
{
	struct warm *w = p->warm;
	struct error ignored;
	int status;

	/* An interpreter that was started ahead has ended by itself. */
	if (w && !w->language->way->is_ahead && w->reaper &&
	    reaper_result(p->reaper, &status, &ignored) == 0 && WIFEXITED(status) &&
	    WEXITSTATUS(status) == STATUS_STALE)
		warm_restart(w, false);
}

static bool on_exit_of(struct warm *w, pid_t pid)
{
	if (w->language->way->on_exit(w, pid))
		return true;
	if (!w->reaper || reaper_pid(w->reaper) != pid)
		return false;
	if (reaper_has_left_command(w->reaper))
		return true;
	reaper_free(TAKE(w->reaper));
	warm_close_start(w);
	if (w->control.fd >= 0)
		warm_restart(w, true);
	warm_run_timers(w->agent, clock_monotonic_ms());
	return true;
}

bool warm_on_exit(struct agent *a, pid_t pid)
{
	for (struct warm *w = a->warm; w; w = w->next)
		if (on_exit_of(w, pid))
			return true;
	return false;
}

static int64_t next_deadline_of(const struct warm *w, int64_t now)
{
	int64_t first = w->language->way->latest_word(w);
	int64_t polite = w->wanted_ms + POLITE_MAX_MS;
	int64_t start = must_wait(w, now) && w->retry_at < polite ? polite : w->retry_at;

	if (w->ahead.held && polite < first)
		first = polite;
	return !w->reaper && start < first ? start : first;
}

int64_t warm_next_deadline(struct agent *a)
{
	int64_t first, now;

	if (!a->warm || a->stopping)
		return DEADLINE_NEVER;
	first = connections_next_patience(a);
	now = clock_monotonic_ms();
	for (const struct warm *w = a->warm; w; w = w->next) {
		int64_t mine = next_deadline_of(w, now);

		first = mine < first ? mine : first;
	}
	return first;
}

static void run_timers_of(struct warm *w, int64_t now)
{
	if (!w->language->way->is_ahead && w->reaper && w->spawn.fds[0] >= 0 &&
	    reaper_has_started(w->reaper))
		warm_close_start(w);
	if (w->ahead.held && !must_wait(w, now))
		continue_interpreter(w, now);
	if (w->language->way->latest_word(w) <= now)
		warm_restart(w, true);
	if (!w->reaper && w->retry_at <= now && !must_wait(w, now))
		start_interpreter(w);
}

void warm_run_timers(struct agent *a, int64_t now)
{
	if (!a->warm || a->stopping)
		return;
	connections_look_for_warm(a, now, false);
	for (struct warm *w = a->warm; w; w = w->next)
		run_timers_of(w, now);
}
