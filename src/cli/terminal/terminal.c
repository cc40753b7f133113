/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/core/server.h"
#include "cli/core/session.h"
#include "cli/core/body.h"
#include "json/write.h"

#define DETACH_BYTE 0x1C /* Ctrl-\ */
#define READ_SIZE 4096

struct local_terminal {
	struct cli *cli;
	struct http_websocket *ws;
	struct termios saved;
	bool is_raw;
	int signals; /* signalfd of SIGWINCH, SIGTERM and SIGHUP */
	bool ended, detached, write_failed;
	int status;
};

bool terminal_is_here(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

const char *terminal_quote(struct arena *a, const char *const *args)
{
	AUTO(buf_done) struct buf line = BUF(4u * 1024 * 1024);

	buf_add_text(&line, "exec");
	for (; *args; args++) {
		buf_add_text(&line, " '");
		for (const char *at = *args; *at; at++) {
			if (*at == '\'')
				buf_add_text(&line, "'\\''");
			else
				buf_add_byte(&line, *at);
		}
		buf_add_byte(&line, '\'');
	}
	return arena_text(a, buf_text(&line));
}

static struct winsize size_here(void)
{
	struct winsize size = {.ws_row = 24, .ws_col = 80};

	(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &size);
	if (size.ws_row == 0 || size.ws_col == 0)
		size = (struct winsize){.ws_row = 24, .ws_col = 80};
	return size;
}

static int set_raw(struct local_terminal *t)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &t->saved) < 0)
		return FAIL_ERRNO(t->cli->err, "read the terminal's settings");
	raw = t->saved;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) < 0)
		return FAIL_ERRNO(t->cli->err, "set the terminal");
	t->is_raw = true;
	return 0;
}

static void restore_terminal(struct local_terminal *t)
{
	if (t->is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->saved);
	t->is_raw = false;
}

static void on_message(void *context, bool text, struct span message)
{
	struct local_terminal *t = context;
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *event;
	struct error err;

	if (!text) {
		if (fd_write_all(STDOUT_FILENO, message.data, message.size, &err) < 0)
			t->write_failed = true;
		return;
	}
	if (json_load(&arena, message, &event, &err) < 0 ||
	    strcmp(json_get_text(event, "type", ""), "exit") != 0)
		return;
	t->ended = true;
	t->status = (int)json_get_whole(event, "exit_code", 0) & 0xFF;
}

static int send_size(struct local_terminal *t)
{
	struct winsize size = size_here();
	const char *text =
	        arena_format(t->cli->arena, "{\"type\":\"resize\",\"rows\":%d,\"cols\":%d}",
	                     size.ws_row, size.ws_col);

	return http_websocket_send(t->ws, true, span_of(text), t->cli->err);
}

/* Input before Ctrl-\ is still sent. */
static int on_typed(struct local_terminal *t)
{
	char room[READ_SIZE];
	ssize_t got = read(STDIN_FILENO, room, sizeof(room));
	const char *detach;

	if (got < 0 && errno == EINTR)
		return 0;
	if (got <= 0) {
		t->detached = true;
		return 0;
	}
	detach = memchr(room, DETACH_BYTE, (size_t)got);
	if (detach)
		t->detached = true;
	if (detach)
		got = detach - room;
	if (got == 0)
		return 0;
	return http_websocket_send(t->ws, false, (struct span){room, (size_t)got}, t->cli->err);
}

static int on_signal(struct local_terminal *t)
{
	struct signalfd_siginfo info;

	if (read(t->signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo == SIGWINCH)
		return send_size(t);
	t->detached = true; /* SIGTERM, SIGHUP: this side ends, the command keeps running */
	return 0;
}

static int relay_terminal(struct local_terminal *t)
{
	struct pollfd entries[] = {
	        {.fd = http_websocket_fd(t->ws), .events = POLLIN},
	        {.fd = STDIN_FILENO, .events = POLLIN},
	        {.fd = t->signals, .events = POLLIN},
	};

	/* Messages may have arrived with the answer to the upgrade. */
	entries[0].revents = POLLIN;
	while (!t->ended && !t->detached && !t->write_failed) {
		if (entries[0].revents) {
			int open = http_websocket_receive(t->ws, on_message, t, t->cli->err);

			if (open < 0)
				return -1;
			if (open == 0)
				break;
		}
		if ((entries[1].revents && on_typed(t) < 0) ||
		    (entries[2].revents && on_signal(t) < 0))
			return -1;
		for (unsigned i = 0; i < COUNT_OF(entries); i++)
			entries[i].revents = 0;
		if (!t->ended && !t->detached && poll(entries, COUNT_OF(entries), -1) < 0 &&
		    errno != EINTR)
			return FAIL_ERRNO(t->cli->err, "wait for the terminal");
	}
	if (!t->ended && !t->detached && !t->write_failed)
		return FAIL(t->cli->err, ERROR_UNAVAILABLE, "the server closed the terminal");
	return 0;
}

static int watch_signals(struct local_terminal *t)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGWINCH);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	t->signals = signalfd(-1, &set, SFD_CLOEXEC);
	return t->signals < 0 ? FAIL_ERRNO(t->cli->err, "watch for signals") : 0;
}

static const char *body_of(struct cli *cli, const struct terminal_options *options, const char *env)
{
	AUTO(buf_done) struct buf body = BUF(8u * 1024 * 1024);
	struct winsize size = size_here();

	body_begin(&body);
	json_add_whole(&body, "rows", size.ws_row);
	json_add_whole(&body, "cols", size.ws_col);
	json_add_raw(&body, "env", span_of(env));
	if (options->args)
		body_add_text(&body, "command", terminal_quote(cli->arena, options->args));
	body_add_text(&body, "cwd", options->cwd);
	body_add_text(&body, "user", options->user);
	body_add_text(&body, "name", options->name);
	if (options->record)
		json_add_bool(&body, "record", true);
	return arena_text(cli->arena, body_end(&body));
}

/* Sets TERM unless -e sets it; the server accepts each name once. */
static int env_of(struct cli *cli, const char *const *given, const char **ret)
{
	const char *term = getenv("TERM");
	const char **all;
	unsigned count = 0, at = 0;
	bool has_term = false;

	while (given && given[count])
		has_term = strncmp(given[count++], "TERM=", 5) == 0 || has_term;
	all = ARENA_ARRAY(cli->arena, const char *, count + 2);
	if (!has_term)
		all[at++] = arena_format(cli->arena, "TERM=%s", term ? term : "xterm-256color");
	for (unsigned i = 0; i < count; i++)
		all[at++] = given[i];
	return session_env_json(cli->arena, all, ret, cli->err);
}

static int open_terminal(struct local_terminal *t, const struct terminal_options *options)
{
	struct server_call call = {
	        .method = "POST",
	        .path = instance_path(t->cli->arena, options->sandbox, "/terminal"),
	};
	const struct json_value *answer;
	const char *env, *path;

	if (env_of(t->cli, options->env, &env) < 0)
		return -1;
	call.body = body_of(t->cli, options, env);
	if (server_call(t->cli, &call, &answer) < 0)
		return -1;
	path = json_get_text(answer, "path", NULL);
	if (!path)
		return FAIL(t->cli->err, ERROR_UNAVAILABLE, "the server opened no terminal");
	path = arena_format(t->cli->arena, "%s%s%s", path,
	                    options->takes_over ? "&takeover=true" : "",
	                    options->read_only ? "&read_only=true" : "");
	return http_websocket_open(t->cli->server, path, &t->ws, t->cli->err);
}

int terminal_run(struct cli *cli, const struct terminal_options *options, int *ret_status,
                 bool *ret_detached)
{
	struct local_terminal t = {.cli = cli, .signals = -1};
	int result = -1;

	if (open_terminal(&t, options) == 0 && watch_signals(&t) == 0 && set_raw(&t) == 0)
		result = relay_terminal(&t);
	restore_terminal(&t);
	http_websocket_close(t.ws);
	if (t.signals >= 0)
		(void)close(t.signals);
	if (result < 0)
		return -1;
	*ret_status = t.status;
	*ret_detached = t.detached;
	return 0;
}
