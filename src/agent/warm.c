/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/connection.h"
#include "agent/tree.h"
#include "agent/warm_scripts.h"
#include "base/clock.h"
#include "base/fd.h"

#define NAME_MAX_BYTES 128 /* of a module */
#define START_MAX_MS 60000
#define SPARE_MAX_MS 5000
#define WAIT_MAX_MS 50   /* of a call, for a spare that is being forked */
#define BEGIN_MAX_MS 250 /* from giving a call away until its code begins */
#define RETRY_FIRST_MS 200
#define FAILURES_MAX 6     /* in a row, then it is given up */
#define GOOD_LIFE_MS 60000 /* after which it may fail as often again */
#define ORDER_MAX (2 * WIRE_PAYLOAD_MAX)
#define ARGS_MAX 4
#define STATUS_STALE 11 /* of a child, see warm_python.py */

/* The interpreter reads its program and then its orders from descriptor 0. */
struct language {
	const char *name;
	const char *args[ARGS_MAX]; /* how code is run cold, before the code itself */
	const char *script, *loader;
};
static const struct language languages[] = {
        {"python",
         {"python3", "-c"},
         warm_python,
         "exec(compile(__import__('os').read(0, 65536), '<atoll>', 'exec'), "
         "{'__name__': 'atoll_warm'})"},
};

/* Of variables that begin with these the interpreter, or what it has imported, may have read what
 * they were when it started: they must be the same for the call. */
static const char *const start_up_names[] = {
        "PATH=",   "HOME=", "PYTHON", "LD_",       "LC_",      "LANG", "GLIBC_",
        "MALLOC_", "OMP_",  "KMP_",   "OPENBLAS_", "GOTO",     "MKL_", "VECLIB_",
        "BLIS_",   "NPY_",  "NUMPY",  "NUMEXPR",   "MPL",      "XDG_", "CUDA_",
        "TORCH",   "TF_",   "JAX",    "SSL_",      "OPENSSL_",
};

/* One that is being forked, or waits for a call. */
struct spare {
	struct watch watch;
	pid_t keeper, command; /* 0 = has not said so yet */
	int64_t asked_ms;
};

struct warm {
	struct agent *agent;
	const struct language *language;
	struct arena arena; /* of the wish and of `spawn` */
	struct agent_warm wish;
	struct user user;
	struct spawn spawn;
	struct keeper *keeper; /* of the interpreter; NULL = there is none */
	int control;           /* to it; -1 */
	struct spare spare;
	bool has_served; /* a spare has come from this interpreter */
	unsigned failures;
	int64_t started_ms, retry_at;
};

/* ---- the interpreter ---- */

static void drop_spare(struct warm *w)
{
	watch_close(w->agent, &w->spare.watch);
	w->spare.keeper = w->spare.command = 0;
}

static void close_start(struct warm *w)
{
	auto_close(&w->spawn.fds[0]);
	auto_close(&w->spawn.fds[1]);
	w->spawn.fds[0] = w->spawn.fds[1] = w->spawn.fds[2] = -1;
}

/* Its end is told by SIGCHLD, and only then there may be another one. */
static void end_interpreter(struct warm *w)
{
	drop_spare(w);
	auto_close(&w->control);
	w->control = -1;
	if (w->keeper)
		keeper_signal(w->keeper, SIGKILL);
}

static void free_wish(struct warm *w)
{
	arena_done(&w->arena);
	w->arena = (struct arena){0};
}

static int send_texts(struct warm *w, struct error *err)
{
	AUTO(buf_done) struct buf names = BUF(AGENT_WARM_IMPORTS_MAX * (NAME_MAX_BYTES + 1) + 1);

	buf_add_byte(&names, '\n'); /* an empty packet would be the end */
	for (const char **name = w->wish.imports; *name; name++)
		buf_addf(&names, "%s\n", *name);
	if (wire_send_packet(w->control, span_of(w->language->script), NULL, 0, err) < 0)
		return -1;
	return wire_send_packet(w->control, buf_span(&names), NULL, 0, err);
}

static void on_spare(struct agent *a, struct watch *watch, uint32_t events);

/* It says its first word when it has been forked, which is after all imports. */
static int ask_for_spare(struct warm *w, struct error *err)
{
	AUTO_CLOSE int theirs = -1;
	int pair[2], on = 1;
	struct wire_fds fds = {.count = 1};

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	theirs = fds.fds[0] = pair[1];
	w->spare = (struct spare){.watch = {.fd = pair[0], .on_event = on_spare},
	                          .asked_ms = clock_monotonic_ms()};
	if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
	    fd_set_blocking(theirs, true, err) < 0 ||
	    wire_send_packet(w->control, SPAN("F"), &fds, 0, err) < 0) {
		drop_spare(w);
		return -1;
	}
	watch_set(w->agent, &w->spare.watch, EPOLLIN);
	return 0;
}

static int open_start(struct warm *w, struct error *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	w->control = pair[0];
	w->spawn.fds[0] = pair[1];
	w->spawn.fds[1] = w->spawn.fds[2] = open("/dev/null", O_RDWR | O_CLOEXEC);
	return w->spawn.fds[1] < 0 ? FAIL_ERRNO(err, "open '/dev/null'") : 0;
}

static void fail(struct warm *w)
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
	if (open_start(w, &ignored) == 0 && send_texts(w, &ignored) == 0 &&
	    ask_for_spare(w, &ignored) == 0 && keeper_start(&w->spawn, &w->keeper, &ignored) == 0)
		return;
	close_start(w);
	end_interpreter(w);
	fail(w);
}

/* What we cannot use any more is ended; it is started anew when it is gone. */
static void restart(struct warm *w, bool has_failed)
{
	end_interpreter(w);
	if (has_failed)
		fail(w);
	else
		w->retry_at = 0;
}

static void next_spare(struct warm *w)
{
	struct error ignored;

	if (ask_for_spare(w, &ignored) < 0)
		restart(w, true);
}

/* ---- the wish ---- */

static const struct language *language_find(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(languages); i++)
		if (strcmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

static bool is_name(const char *name)
{
	static const char letters[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";

	return *name && strlen(name) <= NAME_MAX_BYTES && name[strspn(name, letters)] == '\0';
}

static int check_wish(const struct agent *a, const struct agent_warm *wish,
                      const struct language **ret, struct error *err)
{
	if (a->home)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "a sandbox without namespaces keeps no interpreter");
	*ret = language_find(wish->language);
	if (!*ret)
		return FAIL(err, ERROR_UNSUPPORTED, "no interpreter of '%s' can be kept",
		            wish->language);
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

static bool is_start_up(const char *entry)
{
	for (size_t i = 0; i < COUNT_OF(start_up_names); i++)
		if (strncmp(entry, start_up_names[i], strlen(start_up_names[i])) == 0)
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

static bool has_start_up_of(const char *const *env, const char *const *other)
{
	for (; *other; other++)
		if (is_start_up(*other) && !has_entry(env, *other))
			return false;
	return true;
}

static bool has_same_start(const char *const *a, const char *const *b)
{
	return has_start_up_of(a, b) && has_start_up_of(b, a);
}

/* Variables that an interpreter does not read when it starts come with each call. */
static bool is_same(const struct warm *w, const struct agent_warm *wish)
{
	return strcmp(w->wish.language, wish->language) == 0 &&
	       strcmp(w->wish.user, wish->user) == 0 &&
	       is_same_list(w->wish.imports, wish->imports) &&
	       has_same_start((const char *const *)w->wish.env, (const char *const *)wish->env);
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

static void take_wish(struct warm *w, const struct language *language,
                      const struct agent_warm *wish, const struct user *user)
{
	const char **args = ARENA_ARRAY(&w->arena, const char *, ARGS_MAX + 1);
	size_t count = 0;

	w->language = language;
	w->wish = (struct agent_warm){
	        .language = language->name,
	        .imports = copy_list(&w->arena, wish->imports),
	        .env = copy_list(&w->arena, wish->env),
	        .user = arena_text(&w->arena, wish->user),
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
	        .user = wish->user[0] ? &w->user : NULL,
	        .fds = {-1, -1, -1},
	        .keeps_none = true,
	};
	w->spawn.paths = spawn_paths(&w->arena, args[0], w->spawn.env);
}

static struct warm *warm_new(struct agent *a)
{
	struct warm *w = calloc(1, sizeof(*w));

	if (!w)
		abort();
	w->agent = a;
	w->control = -1;
	w->spare.watch.fd = -1;
	w->spawn.fds[0] = w->spawn.fds[1] = w->spawn.fds[2] = -1;
	w->retry_at = DEADLINE_NEVER;
	return w;
}

int warm_set(struct agent *a, const struct agent_warm *wish, struct error *err)
{
	const struct language *language = NULL;
	struct warm *w = a->warm;
	struct user user;

	if (check_wish(a, wish, &language, err) < 0 || user_find(wish->user, &user, err) < 0)
		return -1;
	if (!w)
		w = a->warm = warm_new(a);
	else if (is_same(w, wish) && w->failures < FAILURES_MAX)
		return 0;
	/* Its keeper looks at `spawn` until the program runs. */
	if (w->keeper && !keeper_has_started(w->keeper))
		return FAIL(err, ERROR_CONFLICT, "an interpreter is about to start");
	close_start(w);
	end_interpreter(w);
	free_wish(w);
	take_wish(w, language, wish, &user);
	w->failures = 0;
	w->retry_at = 0;
	warm_run_timers(a, clock_monotonic_ms());
	return 0;
}

/* ---- a spare says who it is ---- */

/* 1 = one word, from *ret; 0 = nothing yet; -1 = the end, or what nobody of ours would send. */
static int hear(struct spare *s, char *ret_word, struct ucred *ret)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	char word[2];
	struct iovec data = {word, sizeof(word)};
	struct msghdr message = {.msg_iov = &data,
	                         .msg_iovlen = 1,
	                         .msg_control = &control,
	                         .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(s->watch.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *item;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	item = CMSG_FIRSTHDR(&message);
	/* Descriptors find no room, and are closed by the kernel. */
	if (got != 1 || message.msg_flags & (MSG_CTRUNC | MSG_TRUNC) || !item ||
	    item->cmsg_type != SCM_CREDENTIALS || item->cmsg_len != CMSG_LEN(sizeof(*ret)))
		return -1;
	*ret_word = word[0];
	memcpy(ret, CMSG_DATA(item), sizeof(*ret));
	return 1;
}

static bool is_known(struct warm *w, pid_t pid)
{
	LIST_EACH (&w->agent->processes, item) {
		const struct process *p = LIST_ENTRY(item, struct process, item);

		if (p->keeper && keeper_pid(p->keeper) == pid)
			return true;
	}
	LIST_EACH (&w->agent->connections, item)
		if (LIST_ENTRY(item, struct connection, item)->worker == pid)
			return true;
	return w->keeper && keeper_pid(w->keeper) == pid;
}

static bool is_child(pid_t pid, pid_t parent)
{
	struct tree_process process;

	return tree_look(pid, &process) && process.parent == parent && process.group == pid &&
	       process.session == pid;
}

/* A child of ours that we have not waited for keeps its number. */
static bool take_word(struct warm *w, char word, const struct ucred *from)
{
	struct spare *s = &w->spare;

	if (from->uid != w->user.uid || from->pid <= 0)
		return false;
	if (word == 'K' && !s->keeper) {
		s->keeper = from->pid;
		return is_child(from->pid, getpid()) && !is_known(w, from->pid);
	}
	if (word != 'R' || !s->keeper || s->command || !is_child(from->pid, s->keeper))
		return false;
	s->command = from->pid;
	return true;
}

static void on_spare(struct agent *a, struct watch *watch, uint32_t events)
{
	struct warm *w = a->warm;
	struct ucred from;
	char word;
	int heard;

	(void)events;
	while ((heard = hear(&w->spare, &word, &from)) > 0) {
		if (!take_word(w, word, &from)) {
			restart(w, true);
			return;
		}
	}
	if (heard < 0) {
		restart(w, true);
		return;
	}
	if (watch->fd < 0 || !w->spare.command)
		return;
	w->has_served = true;
	connections_look_for_warm(a, clock_monotonic_ms(), true);
}

/* ---- calls ---- */

/* The code of a call that could be run warm, or NULL. */
static const char *code_of(const struct warm *w, const struct agent_exec *exec)
{
	const uint32_t fine = AGENT_EXEC_WARM | AGENT_EXEC_TTY | AGENT_EXEC_STDIN |
	                      AGENT_EXEC_DETACH | AGENT_EXEC_END_ON_CLOSE;
	size_t count = 0;

	if (!(exec->flags & AGENT_EXEC_WARM) || exec->flags & ~fine)
		return NULL;
	for (; w->language->args[count]; count++)
		if (!exec->args[count] || strcmp(exec->args[count], w->language->args[count]) != 0)
			return NULL;
	return exec->args[count] && !exec->args[count + 1] ? exec->args[count] : NULL;
}

bool warm_is_about_to(struct agent *a, const struct agent_exec *exec, int64_t *patience)
{
	const struct warm *w = a->warm;
	int64_t now, until;

	if (!w || !w->has_served || w->spare.watch.fd < 0 || w->spare.command ||
	    !code_of(w, exec) || strcmp(exec->user, w->wish.user) != 0)
		return false;
	now = clock_monotonic_ms();
	until = w->spare.asked_ms + WAIT_MAX_MS;
	if (*patience == 0)
		*patience = now + WAIT_MAX_MS;
	if (now >= until || now >= *patience)
		return false;
	*patience = until < *patience ? until : *patience;
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

/* Terminal or not, folder, code, variables; a zero byte ends each. */
static int write_order(const struct process *p, const char *code, int *ret_fd, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(ORDER_MAX);
	AUTO_CLOSE int fd = memfd_create("order", MFD_CLOEXEC);

	buf_add_byte(&text, p->spawn.tty ? '1' : '0');
	buf_add(&text, "", 1);
	buf_add(&text, p->spawn.cwd, strlen(p->spawn.cwd) + 1);
	buf_add(&text, code, strlen(code) + 1);
	for (const char *const *entry = p->spawn.env; *entry; entry++)
		buf_add(&text, *entry, strlen(*entry) + 1);
	if (fd < 0)
		return FAIL_ERRNO(err, "make an order");
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "an order of more than %d bytes", ORDER_MAX);
	if (fd_write_all(fd, text.data, text.size - 1, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int give(struct warm *w, struct process *p, const char *code, struct error *err)
{
	AUTO_CLOSE int order = -1;
	AUTO_CLOSE int token = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	struct spare *s = &w->spare;
	struct wire_fds fds;

	if (token < 0)
		return FAIL_ERRNO(err, "make a token");
	if (write_order(p, code, &order, err) < 0)
		return -1;
	fds = (struct wire_fds){{order, token, p->spawn.fds[0], p->spawn.fds[1], p->spawn.fds[2]},
	                        5};
	if (wire_send_packet(s->watch.fd, SPAN("O"), &fds, 0, err) < 0)
		return -1;
	p->keeper = keeper_adopt(s->keeper, s->command, TAKE_FD(token));
	return 0;
}

bool warm_take(struct process *p, const struct agent_exec *exec)
{
	struct warm *w = p->agent->warm;
	const char *code = w ? code_of(w, exec) : NULL;
	struct error ignored;
	bool given;

	p->info.flags &= ~(uint32_t)AGENT_EXEC_WARM;
	if (!code || !w->spare.command || !is_same_user(w, p) ||
	    !has_same_start(w->spawn.env, p->spawn.env))
		return false;
	given = give(w, p, code, &ignored) == 0;
	drop_spare(w);
	next_spare(w);
	if (!given)
		return false;
	p->info.flags |= AGENT_EXEC_WARM;
	p->warm_until = deadline_in(BEGIN_MAX_MS);
	return true;
}

void warm_on_declined(struct agent *a, int status)
{
	struct warm *w = a->warm;

	if (w && w->keeper && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_STALE)
		restart(w, false);
}

/* ---- ends and times ---- */

bool warm_on_exit(struct agent *a, pid_t pid)
{
	struct warm *w = a->warm;

	if (!w)
		return false;
	if (w->spare.keeper == pid) {
		/* Somebody inside has ended it, or there are too many processes. */
		restart(w, true);
		return true;
	}
	if (!w->keeper || keeper_pid(w->keeper) != pid)
		return false;
	keeper_free(TAKE(w->keeper));
	close_start(w);
	if (w->control >= 0)
		restart(w, true);
	warm_run_timers(a, clock_monotonic_ms());
	return true;
}

/* When the interpreter, or a spare of it, should have said something. */
static int64_t latest_word(const struct warm *w)
{
	if (w->control < 0 || w->spare.command)
		return DEADLINE_NEVER;
	return w->has_served ? w->spare.asked_ms + SPARE_MAX_MS : w->started_ms + START_MAX_MS;
}

int64_t warm_next_deadline(struct agent *a)
{
	const struct warm *w = a->warm;
	int64_t first, other;

	if (!w || a->stopping)
		return DEADLINE_NEVER;
	first = connections_next_patience(a);
	other = latest_word(w);
	first = other < first ? other : first;
	return !w->keeper && w->retry_at < first ? w->retry_at : first;
}

void warm_run_timers(struct agent *a, int64_t now)
{
	struct warm *w = a->warm;

	if (!w || a->stopping)
		return;
	connections_look_for_warm(a, now, false);
	if (w->keeper && w->spawn.fds[0] >= 0 && keeper_has_started(w->keeper))
		close_start(w);
	if (latest_word(w) <= now)
		restart(w, true);
	if (!w->keeper && w->retry_at <= now)
		start_interpreter(w);
}
