/* SPDX-License-Identifier: Apache-2.0 */
#include "window_agent.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit.h"
#include "wire/wire.h"
#include "provider/compute.h"

#define OUTPUT_MAX ((size_t)4 * 1024 * 1024)

struct window_connection {
	struct list item;
	struct window_agent *agent;
	struct arena arena; /* of the current request */
	struct buf in, out;
	int fd, wake;
};

static void send_message(struct window_connection *c, uint16_t type,
                         const struct wire_member *shape, const void *message)
{
	struct error err = {0};

	buf_reset(&c->out);
	if (wire_encode(&c->out, type, shape, message, &err) < 0)
		abort();
	(void)!wire_send(c->fd, buf_span(&c->out), deadline_after(10000), &err);
}

static void send_done(struct window_connection *c)
{
	send_message(c, AGENT_DONE, agent_done_shape, &(struct agent_done){0});
}

static void send_failed(struct window_connection *c, enum error_code code, const char *text)
{
	send_message(c, AGENT_FAILED, agent_failed_shape,
	             &(struct agent_failed){.code = code, .text = text, .hint = ""});
}

static void read_message(struct window_connection *c, const struct wire_member *shape, void *ret,
                         size_t size)
{
	struct error err = {0};

	if (wire_decode(&c->arena, buf_span(&c->in), shape, ret, size, &err) < 0)
		abort();
}

static void wake_all(struct window_agent *agent)
{
	const uint64_t one = 1;

	LIST_EACH (&agent->connections, struct window_connection, connection, item)
		(void)!write(connection->wake, &one, sizeof(one));
	(void)pthread_cond_broadcast(&agent->changed);
}

void agent_window_add(struct window_agent *agent, struct agent_window *w, struct span bytes)
{
	buf_add_span(&w->output, bytes);
	w->state.output_end += bytes.size;
	w->process.output_end[0] = w->state.output_end;
	wake_all(agent);
}

void agent_window_end(struct window_agent *agent, struct agent_window *w, int64_t exit_code)
{
	w->process.state = w->state.state = AGENT_PROCESS_ENDED;
	w->process.exit_code = exit_code;
	wake_all(agent);
}

void window_agent_print(struct window_agent *agent, unsigned window, struct span bytes)
{
	(void)pthread_mutex_lock(&agent->mutex);
	agent_window_add(agent, &agent->windows[window], bytes);
	(void)pthread_mutex_unlock(&agent->mutex);
}

static struct agent_window *find_window(struct window_agent *agent, uint64_t process)
{
	return process >= 1 && process <= agent->count ? &agent->windows[process - 1] : NULL;
}

/* ---- requests: with the mutex held ---- */

static const char *const *copy_args(struct arena *a, const char *const *args)
{
	const char **copy = ARENA_ARRAY(a, const char *, 64);

	for (unsigned i = 0; args[i] && i < 63; i++)
		copy[i] = arena_text(a, args[i]);
	return copy;
}

static void answer_exec(struct window_connection *c)
{
	struct window_agent *agent = c->agent;
	struct agent_window *w = &agent->windows[agent->count];
	struct agent_exec exec;

	if (agent->start_failure) {
		send_failed(c, agent->start_failure, "no start");
		return;
	}
	read_message(c, agent_exec_shape, &exec, sizeof(exec));
	if (agent->has_no_bash && strcmp(exec.args[0], "bash") == 0) {
		send_failed(c, ERROR_NOT_FOUND, "command not found: 'bash'");
		return;
	}
	agent->count++;
	w->output = BUF(OUTPUT_MAX);
	w->process = (struct agent_process){
	        .process = agent->count,
	        .pid = 100 + agent->count,
	        .exit_code = -1,
	        .started_unix_ms = 1000,
	        .flags = exec.flags,
	        .label = arena_text(&agent->arena, exec.label),
	        .user = arena_text(&agent->arena, exec.user),
	        .cwd = arena_text(&agent->arena, exec.cwd),
	        .args = (const char **)(uintptr_t)copy_args(&agent->arena, exec.args),
	};
	w->state = (struct agent_terminal_state){.rows = exec.rows, .columns = exec.columns};
	if (agent->on_typed)
		agent->on_typed(agent, w, (struct span){"", 0});
	send_message(c, AGENT_STARTED, agent_process_shape, &w->process);
	send_done(c);
}

static void answer_terminal(struct window_connection *c)
{
	struct agent_terminal change;
	struct agent_window *w;

	read_message(c, agent_terminal_shape, &change, sizeof(change));
	w = find_window(c->agent, change.process);
	if (!w) {
		send_failed(c, ERROR_NOT_FOUND, "no such process");
		return;
	}
	w->state.rows = change.rows ? change.rows : w->state.rows;
	w->state.columns = change.columns ? change.columns : w->state.columns;
	w->state.idle_ms = change.idle_ms ? change.idle_ms : w->state.idle_ms;
	send_message(c, AGENT_TERMINAL_STATE, agent_terminal_state_shape, &w->state);
	send_done(c);
	if (change.signal && w->state.is_busy) {
		c->agent->signal = change.signal;
		w->state.is_busy = 0;
		agent_window_add(c->agent, w, SPAN("\033]133;D;130;\a\033]133;B\a"));
	}
}

static void answer_feed(struct window_connection *c)
{
	struct agent_feed feed;
	struct agent_window *w;

	read_message(c, agent_feed_shape, &feed, sizeof(feed));
	w = find_window(c->agent, feed.process);
	if (!w)
		abort();
	buf_add_span(&c->agent->typed, feed.bytes);
	if (c->agent->on_typed)
		c->agent->on_typed(c->agent, w, feed.bytes);
	send_done(c);
}

static void answer_signal(struct window_connection *c)
{
	struct agent_signal signal;
	struct agent_window *w;

	read_message(c, agent_signal_shape, &signal, sizeof(signal));
	w = find_window(c->agent, signal.process);
	if (!w)
		abort();
	agent_window_end(c->agent, w, 128 + (int64_t)signal.signal);
	send_done(c);
}

static void answer_processes(struct window_connection *c)
{
	for (unsigned i = 0; i < c->agent->count; i++)
		send_message(c, AGENT_PROCESS, agent_process_shape, &c->agent->windows[i].process);
	send_done(c);
}

/* Until there is more, without the mutex. False: the client has gone. */
static bool await_more(struct window_connection *c)
{
	struct pollfd fds[] = {{.fd = c->fd, .events = POLLIN}, {.fd = c->wake, .events = POLLIN}};
	uint64_t count;

	(void)pthread_mutex_unlock(&c->agent->mutex);
	(void)poll(fds, 2, -1);
	(void)!read(c->wake, &count, sizeof(count));
	(void)pthread_mutex_lock(&c->agent->mutex);
	return fds[0].revents == 0;
}

/* False: the client has gone. */
static bool answer_attach(struct window_connection *c)
{
	struct agent_attach attach;
	struct agent_window *w;
	uint64_t at;

	read_message(c, agent_attach_shape, &attach, sizeof(attach));
	w = find_window(c->agent, attach.process);
	if (!w)
		abort();
	send_message(c, AGENT_STARTED, agent_process_shape, &w->process);
	at = attach.since[0] > w->state.output_start ? attach.since[0] : w->state.output_start;
	for (;;) {
		uint64_t size = w->state.output_end - at;

		if (size > 0) {
			const struct agent_output output = {
			        AGENT_STDOUT,
			        at,
			        {w->output.data + at,
			         size < AGENT_DATA_MAX ? (size_t)size : AGENT_DATA_MAX}};

			send_message(c, AGENT_OUTPUT, agent_output_shape, &output);
			at += output.bytes.size;
		} else if (w->process.state == AGENT_PROCESS_ENDED) {
			send_message(c, AGENT_EXIT, agent_process_shape, &w->process);
			return true;
		} else if (!attach.until_end) {
			send_done(c);
			return true;
		} else if (!await_more(c)) {
			return false;
		}
	}
}

static bool answer_request(struct window_connection *c, uint16_t type)
{
	switch (type) {
	case AGENT_EXEC:
		answer_exec(c);
		return true;
	case AGENT_TERMINAL:
		answer_terminal(c);
		return true;
	case AGENT_FEED:
		answer_feed(c);
		return true;
	case AGENT_SIGNAL:
		answer_signal(c);
		return true;
	case AGENT_PROCESSES:
		answer_processes(c);
		return true;
	case AGENT_ATTACH:
		return answer_attach(c);
	default:
		abort();
	}
}

static void *run_connection(void *context)
{
	struct window_connection *c = context;
	struct window_agent *agent = c->agent;
	struct error err = {0};
	bool goes_on = true;
	uint16_t type;

	while (goes_on && wire_receive(c->fd, DEADLINE_NEVER, &type, &c->in, &err) == 0) {
		(void)pthread_mutex_lock(&agent->mutex);
		goes_on = answer_request(c, type);
		(void)pthread_mutex_unlock(&agent->mutex);
		arena_reset(&c->arena);
	}
	(void)pthread_mutex_lock(&agent->mutex);
	list_remove(&c->item);
	(void)close(c->fd);
	(void)close(c->wake);
	arena_done(&c->arena);
	buf_done(&c->in);
	buf_done(&c->out);
	free(c);
	(void)pthread_cond_broadcast(&agent->changed);
	(void)pthread_mutex_unlock(&agent->mutex);
	return NULL;
}

/* ---- the provider ---- */

static int agent_connect(struct provider *p, UNUSED const char *id, UNUSED int64_t deadline,
                         int *ret_fd, UNUSED struct error *err)
{
	struct window_connection *c = calloc(1, sizeof(*c));
	pthread_t thread;
	int pair[2];

	if (!c || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		abort();
	c->agent = (struct window_agent *)(void *)p;
	c->fd = pair[1];
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->in = BUF(WIRE_PAYLOAD_MAX);
	c->out = BUF(OUTPUT_MAX + WIRE_PAYLOAD_MAX);
	list_init(&c->item);
	(void)pthread_mutex_lock(&c->agent->mutex);
	list_append(&c->agent->connections, &c->item);
	(void)pthread_mutex_unlock(&c->agent->mutex);
	if (pthread_create(&thread, NULL, run_connection, c) != 0 || pthread_detach(thread) != 0)
		abort();
	*ret_fd = pair[0];
	return 0;
}

static void agent_give_back(UNUSED struct provider *p, UNUSED const char *id, int fd)
{
	(void)close(fd);
}

static const struct compute_ops agent_compute = {
        .connect = agent_connect,
        .give_back = agent_give_back,
};
static const struct provider_ops agent_ops = {
        .name = "windows",
        .isolation = "none",
        .abilities = PROVIDER_CAN_EXEC | PROVIDER_CAN_PTY,
        .compute = &agent_compute,
};

struct provider *window_agent_provider(struct window_agent *agent)
{
	return (struct provider *)(void *)agent;
}

void window_agent_open(struct window_agent *agent)
{
	*agent = (struct window_agent){.ops = &agent_ops,
	                               .mutex = PTHREAD_MUTEX_INITIALIZER,
	                               .changed = PTHREAD_COND_INITIALIZER,
	                               .typed = BUF(OUTPUT_MAX)};
	list_init(&agent->connections);
}

void window_agent_close(struct window_agent *agent)
{
	(void)pthread_mutex_lock(&agent->mutex);
	while (!list_is_empty(&agent->connections))
		(void)pthread_cond_wait(&agent->changed, &agent->mutex);
	(void)pthread_mutex_unlock(&agent->mutex);
	for (unsigned i = 0; i < agent->count; i++)
		buf_done(&agent->windows[i].output);
	buf_done(&agent->typed);
	arena_done(&agent->arena);
}

/* ---- the fixture ---- */

void window_fixture_open(struct window_fixture *f, const struct terminals_options *options)
{
	*f = (struct window_fixture){.hold = {.id = "box"}};
	window_agent_open(&f->agent);
	f->hold.provider = window_agent_provider(&f->agent);
	f->terminals = terminals_new(options);
}

void window_fixture_close(struct window_fixture *f)
{
	window_agent_close(&f->agent);
	terminals_free(f->terminals);
	arena_done(&f->arena);
}

struct terminal_at window_fixture_at(struct window_fixture *f, const char *window)
{
	return (struct terminal_at){.terminals = f->terminals,
	                            .hold = &f->hold,
	                            .window = window,
	                            .deadline = deadline_after(20000),
	                            .who = ""};
}

struct terminal_window window_fixture_make(struct window_fixture *f, const char *window,
                                           const char *command)
{
	const struct terminal_at at = window_fixture_at(f, window);
	const struct terminal_open open = {.command = command, .cwd = "", .user = ""};
	struct terminal_window w;
	struct error err = {0};
	bool is_new;

	if (terminal_open(&at, &f->arena, &open, &w, &is_new, &err) < 0)
		fail_msg("%s", err.text);
	return w;
}
