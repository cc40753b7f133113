/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/core/server.h"
#include "cli/core/text_out.h"
#include "cli/core/body.h"
#include "json/write.h"

#define TIMEOUT_MAX_MS (INT64_C(7) * 24 * 3600 * 1000) /* the server's limit */
#define RESUME_ATTEMPTS 50
#define KILL_BODY "{\"signal\":\"SIGKILL\",\"tree\":true}"
#define RESUME_EVERY_MS 200
#define STDIN_PIECE_SIZE (64 * 1024)

static const struct {
	int number;
	const char *name;
} signals[] = {
        {SIGINT, "SIGINT"},
        {SIGTERM, "SIGTERM"},
        {SIGHUP, "SIGHUP"},
        {SIGQUIT, "SIGQUIT"},
};

struct command_session {
	struct cli *cli;
	const struct session_options *options;
	struct session_events events;
	struct server_stream stream;
	/* Helper threads read these members, which are set before the threads start. */
	const char *stdin_path, *stdin_end_path, *signal_path;
	int signal_fd, stop_fd; /* stop_fd: readable when the threads must end */
	pthread_t threads[2];
	unsigned thread_count;
	bool stdin_open;
};

static sigset_t signal_set(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (unsigned i = 0; i < COUNT_OF(signals); i++)
		(void)sigaddset(&set, signals[i].number);
	return set;
}

void session_block_signals(void)
{
	sigset_t set = signal_set();

	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

bool session_was_interrupted(void)
{
	sigset_t set = signal_set();

	return sigtimedwait(&set, NULL, &(struct timespec){0}) > 0;
}

int session_env_json(struct arena *a, const char *const *env, const char **ret, struct error *err)
{
	AUTO(buf_done) struct buf json = BUF(4u * 1024 * 1024);

	json_begin_object(&json, NULL);
	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');
		size_t size = equals ? (size_t)(equals - *env) : strlen(*env);
		const char *name = arena_copy(a, (struct span){*env, size});
		const char *value = equals ? equals + 1 : getenv(name);

		if (size == 0)
			return FAIL(err, ERROR_INVALID, "'%s' is not a variable name", *env);
		if (!value)
			return FAIL(err, ERROR_INVALID, "variable '%s' is not set here", name);
		json_add_text(&json, name, value);
	}
	json_end_object(&json);
	if (json.overflowed)
		return FAIL(err, ERROR_TOO_LARGE, "the environment is too large");
	*ret = arena_text(a, buf_text(&json));
	return 0;
}

const char *session_body(struct arena *a, const struct session_options *options, bool stdin_open)
{
	AUTO(buf_done) struct buf body = BUF(64u * 1024 * 1024);
	const char *env = "{}";
	struct error ignored; /* the caller has checked the environment */

	body_begin(&body);
	body_add_text(&body, "cmd", options->args[0]);
	json_add_texts(&body, "args", options->args + 1);
	body_add_text(&body, "cwd", options->cwd);
	body_add_text(&body, "user", options->user);
	if (options->env && session_env_json(a, options->env, &env, &ignored) == 0)
		json_add_raw(&body, "env", span_of(env));
	json_add_bool(&body, "stdin_open", stdin_open);
	if (options->is_recorded)
		json_add_bool(&body, "record", true);
	json_add_whole(&body, "timeout_ms",
	               options->timeout_ms ? options->timeout_ms : TIMEOUT_MAX_MS);
	return arena_text(a, body_end(&body));
}

/* Returns false when the thread must end. */
static bool wait_for_input(const struct command_session *s, int fd)
{
	struct pollfd entries[] = {{.fd = fd, .events = POLLIN},
	                           {.fd = s->stop_fd, .events = POLLIN}};

	while (poll(entries, 2, -1) < 0 && errno == EINTR)
		;
	return !entries[1].revents;
}

static void call_alone(const struct command_session *s, const struct http_call *call)
{
	struct http_client *client;
	struct http_answer answer = {0};
	struct error ignored; /* the command may have ended already; its stream reports the end */

	if (http_client_open(s->cli->server, &client, &ignored) < 0)
		return;
	if (http_client_call(client, call, &answer, &ignored) == 0)
		buf_done(&answer.body);
	http_client_close(client);
}

/* Sends the input in pieces. The server would time out one long request while the user types
 * nothing. */
static void *send_stdin(void *argument)
{
	const struct command_session *s = argument;
	struct http_client *client;
	struct error err;
	char room[STDIN_PIECE_SIZE];
	ssize_t got = 1;
	int result = 0;

	if (http_client_open(s->cli->server, &client, &err) < 0)
		return NULL;
	while (got > 0 && result == 0 && wait_for_input(s, STDIN_FILENO)) {
		struct http_answer answer = {0};
		struct http_call call = {.method = "POST",
		                         .path = s->stdin_path,
		                         .content_type = "application/octet-stream"};

		got = read(STDIN_FILENO, room, sizeof(room));
		if (got <= 0)
			call.path = s->stdin_end_path;
		else
			call.body = (struct span){room, (size_t)got};
		result = http_client_call(client, &call, &answer, &err);
		if (result == 0)
			buf_done(&answer.body);
	}
	/* A command that has ended takes no input; that is no error. */
	if (result < 0 && err.code != ERROR_NOT_FOUND && err.code != ERROR_CONFLICT)
		(void)fprintf(stderr, "atoll: sending standard input failed: %s\n", err.text);
	http_client_close(client);
	return NULL;
}

static const char *signal_body(int number, unsigned interrupts)
{
	static char text[64]; /* used by the signal thread only */
	const char *name = "SIGTERM";

	if (interrupts > 1)
		return KILL_BODY;
	for (unsigned i = 0; i < COUNT_OF(signals); i++) {
		if (signals[i].number == number)
			name = signals[i].name;
	}
	(void)snprintf(text, sizeof(text), "{\"signal\":\"%s\"}", name);
	return text;
}

/* The first Ctrl-C goes to the command; the second kills it and its children. */
static void *send_signals(void *argument)
{
	const struct command_session *s = argument;
	struct signalfd_siginfo info;
	unsigned interrupts = 0;

	while (wait_for_input(s, s->signal_fd) &&
	       read(s->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		interrupts += info.ssi_signo == SIGINT;
		call_alone(s, &(struct http_call){
		                      .method = "POST",
		                      .path = s->signal_path,
		                      .body = span_of(signal_body((int)info.ssi_signo, interrupts)),
		              });
	}
	return NULL;
}

static void start_thread(struct command_session *s, void *(*run)(void *))
{
	if (pthread_create(&s->threads[s->thread_count], NULL, run, s) == 0)
		s->thread_count++;
}

static int open_helpers(struct command_session *s)
{
	sigset_t set = signal_set();

	s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	s->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (s->signal_fd < 0 || s->stop_fd < 0)
		return FAIL_ERRNO(s->cli->err, "watch for signals");
	return 0;
}

static void end_helpers(struct command_session *s)
{
	/* Standard output is closed (`| head`): kills the command, as SIGPIPE would do here. This
	 * also ends the input thread's request. */
	if (s->stream.failed && s->events.process > 0 && !s->events.ended)
		call_alone(s, &(struct http_call){.method = "POST",
		                                  .path = s->signal_path,
		                                  .body = span_of(KILL_BODY)});
	(void)eventfd_write(s->stop_fd, 1);
	for (unsigned i = 0; i < s->thread_count; i++)
		(void)pthread_join(s->threads[i], NULL);
	auto_close(&s->signal_fd);
	auto_close(&s->stop_fd);
}

static void on_started(void *context, int64_t process)
{
	struct command_session *s = context;
	struct arena *a = s->cli->arena;
	const char *suffix = arena_format(a, "/processes/%lld/", (long long)process);

	s->stdin_path = instance_path(a, s->options->sandbox, arena_format(a, "%sstdin", suffix));
	s->stdin_end_path = arena_format(a, "%s?end=true", s->stdin_path);
	s->signal_path = instance_path(a, s->options->sandbox, arena_format(a, "%ssignal", suffix));
	start_thread(s, send_signals);
	if (s->stdin_open)
		start_thread(s, send_stdin);
}

static int read_stream(struct command_session *s, const char *method, const char *path,
                       const char *body)
{
	const struct http_call call = {
	        .method = method,
	        .path = path,
	        .accept = "application/x-ndjson",
	        .body = span_of(body),
	};
	int result = server_stream(s->cli, &call, &s->stream);

	buf_reset(&s->events.lines.pending); /* drops an incomplete line */
	return result;
}

/* After a restart of the server the command still runs, and its output is kept. */
static int resume_stream(struct command_session *s)
{
	const char *path;
	int result = -1;

	for (unsigned i = 0; i < RESUME_ATTEMPTS && !s->events.ended; i++) {
		(void)poll(NULL, 0, RESUME_EVERY_MS);
		path = arena_format(s->cli->arena, "/processes/%lld/stream?stream=ndjson&since=%s",
		                    (long long)s->events.process, s->events.since);
		result = read_stream(s, "GET",
		                     instance_path(s->cli->arena, s->options->sandbox, path), NULL);
		if (s->stream.failed || (result < 0 && s->cli->err->code != ERROR_UNAVAILABLE &&
		                         s->cli->err->code != ERROR_TIMEOUT))
			return -1;
	}
	if (s->events.ended)
		return 0;
	return result < 0 ? -1
	                  : FAIL(s->cli->err, ERROR_UNAVAILABLE,
	                         "the command's stream was interrupted");
}

/* A background job of a shell must not read the terminal: the kernel would stop it. */
static bool can_read_stdin(void)
{
	if (!isatty(STDIN_FILENO))
		return true;
	return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

int session_run(struct cli *cli, const struct session_options *options, int *ret_status)
{
	struct command_session *s = ARENA_NEW(cli->arena, struct command_session);
	const char *path = instance_path(cli->arena, options->sandbox, "/exec?stream=ndjson"), *env;
	int result;

	if (session_env_json(cli->arena, options->env, &env, cli->err) < 0)
		return -1;
	s->cli = cli;
	s->options = options;
	s->stdin_open = can_read_stdin();
	session_events_init(&s->events);
	s->events.on_started = on_started;
	s->events.context = s;
	s->stream = (struct server_stream){session_events_add, &s->events};
	result = open_helpers(s);
	if (result == 0)
		result = read_stream(s, "POST", path,
		                     session_body(cli->arena, options, s->stdin_open));
	if (s->events.process > 0 && !s->events.ended && !s->stream.failed)
		result = resume_stream(s);
	else if (result == 0 && !s->events.ended)
		result = FAIL(cli->err, ERROR_UNAVAILABLE, "the server did not start the command");
	if (result == 0)
		*ret_status = s->events.status;
	end_helpers(s);
	event_lines_done(&s->events.lines);
	return result;
}

int session_collect(struct cli *cli, const struct session_options *options, int *ret_status)
{
	struct server_call call = {
	        .method = "POST",
	        .path = instance_path(cli->arena, options->sandbox, "/exec?stream=result"),
	        .body = session_body(cli->arena, options, false),
	};
	const struct json_value *result;

	if (server_call(cli, &call, &result) < 0)
		return -1;
	print_json(result);
	*ret_status = session_exit_status(result);
	return 0;
}
