/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/replace.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"

#define IDLE_MS 1000 /* above this size the worker ends: its memory costs more than a new start */
#define OOM_SCORE "300"

struct files_row {
	uint16_t type;
	int (*run)(struct files *f, const struct agent_path *m, struct error *err);
};

static const struct files_row rows[] = {
        {AGENT_READ, files_read},       {AGENT_WRITE, files_write},
        {AGENT_STAT, files_stat},       {AGENT_LIST, files_list},
        {AGENT_GLOB, files_glob},       {AGENT_MKDIR, files_mkdir},
        {AGENT_REMOVE, files_remove},   {AGENT_RENAME, files_rename},
        {AGENT_COPY, files_copy},       {AGENT_TAR_OUT, files_tar_out},
        {AGENT_TAR_IN, files_tar_in},   {AGENT_WATCH, files_watch},
        {AGENT_COMPARE, files_compare}, {AGENT_TAR_BASE, files_tar_base},
        {AGENT_INSPECT, files_inspect}, {AGENT_SET_ATTRIBUTES, files_set_attributes},
        {AGENT_SEARCH, files_search},
};

/* Also called by a signal handler: see files_options. */
static void (*renew_process)(int status);

static NORETURN void end_process(int status)
{
	replacement_abandon();
	if (renew_process)
		renew_process(status);
	_exit(status);
}

static void on_terminate(UNUSED int signo)
{
	end_process(0);
}

/* Reads only the missing bytes and the next head, so that bytes after a frame are seldom copied. */
static ssize_t receive_more(struct files *f, size_t need)
{
	char *at;
	ssize_t got;

	if (f->taken == f->in.size)
		buf_reset(&f->in);
	else if (f->taken)
		buf_consume(&f->in, f->taken);
	f->taken = 0;
	at = buf_reserve(&f->in, need + WIRE_HEAD_SIZE);
	if (!at)
		return -1;
	do
		got = recv(f->connection, at, need + WIRE_HEAD_SIZE, 0);
	while (got < 0 && errno == EINTR);
	if (got > 0)
		buf_commit(&f->in, (size_t)got);
	return got;
}

int files_next(struct files *f, uint16_t *ret_type, struct span *ret_payload, struct error *err)
{
	for (;;) {
		struct span rest = {f->in.data + f->taken, f->in.size - f->taken};
		size_t need;
		int result = wire_next(&rest, ret_type, ret_payload, &need, err);

		if (result < 0)
			return -1;
		if (result > 0) {
			f->taken = f->in.size - rest.size;
			return 1;
		}
		if (receive_more(f, need) <= 0)
			return 0;
	}
}

/* Other connections may wait for the standby process. */
static bool is_idle(struct files *f)
{
	struct pollfd fd = {.fd = f->connection, .events = POLLIN};

	return f->taken == f->in.size && poll(&fd, 1, f->is_standby ? 0 : IDLE_MS) == 0;
}

/* Hands back the frame at `start`, and what follows, to the agent. */
static NORETURN void give_frames_back(struct files *f, size_t start)
{
	f->rest->size = f->in.size - start;
	if (f->rest->size > WORKER_REST_MAX)
		end_process(0);
	if (f->rest->size)
		memcpy(f->rest->bytes, f->in.data + start, f->rest->size);
	end_process(WORKER_GIVES_BACK);
}

static void send_frames(struct files *f, struct span frames)
{
	struct error err;

	if (frames.size && wire_send(f->connection, frames, DEADLINE_NEVER, &err) < 0)
		end_process(0);
}

void files_send(struct files *f, uint16_t type, const struct wire_member *shape,
                const void *message)
{
	AUTO(buf_done) struct buf frame = BUF(WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX);
	struct error err;

	if (wire_encode(&frame, type, shape, message, &err) < 0)
		end_process(0);
	send_frames(f, buf_span(&frame));
}

void files_send_done(struct files *f, uint64_t count)
{
	files_send(f, AGENT_DONE, agent_done_shape, &(struct agent_done){.count = count});
}

void files_send_failed(struct files *f, const struct error *err)
{
	const struct agent_failed failed = agent_failed_of(err);

	buf_reset(&f->out);
	files_send(f, AGENT_FAILED, agent_failed_shape, &failed);
}

void files_flush(struct files *f)
{
	send_frames(f, buf_span(&f->out));
	buf_reset(&f->out);
}

void files_add_data(struct files *f, struct span bytes)
{
	while (bytes.size) {
		struct span piece = span_take(&bytes, AGENT_DATA_MAX);

		if (f->out.size + WIRE_HEAD_SIZE + piece.size > f->out.size_max)
			files_flush(f);
		wire_add_frame(&f->out, AGENT_DATA, piece);
	}
}

int files_add_file(struct files *f, const struct agent_file *file, struct error *err)
{
	if (f->out.size_max - f->out.size < 4 * WIRE_HEAD_SIZE + 3 * BASE_DIR_PATH_MAX)
		files_flush(f);
	return wire_encode(&f->out, AGENT_FILE, agent_file_shape, file, err);
}

static int take_data(struct files_sink *sink, struct span bytes, struct error *err)
{
	sink->size += bytes.size;
	if (sink->size_max && sink->size > sink->size_max)
		return FAIL(err, ERROR_TOO_LARGE, "more than %lu bytes",
		            (unsigned long)sink->size_max);
	return sink->take(sink->context, bytes, err);
}

int files_receive(struct files *f, struct files_sink *sink)
{
	bool failed = false;
	struct span bytes;
	struct error err;
	uint16_t type;

	for (;;) {
		if (files_next(f, &type, &bytes, &err) <= 0)
			end_process(0);
		if (type == AGENT_DATA_END)
			return failed ? 0 : 1;
		if (type != AGENT_DATA || bytes.size > AGENT_DATA_MAX)
			end_process(0);
		if (!failed && take_data(sink, bytes, &err) < 0) {
			files_send_failed(f, &err);
			failed = true;
		}
	}
}

static const struct files_row *row_find(uint16_t type)
{
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

static int become_user(struct files *f, const char *name, struct error *err)
{
	struct user user;

	if (user_find(f->no_users ? "" : name, &user, err) < 0)
		return -1;
	if (!f->no_users && name[0] &&
	    (f->is_standby ? user_borrow(&user, err) : user_become(&user, err)) < 0)
		return -1;
	(void)snprintf(f->user, sizeof(f->user), "%s", name);
	(void)snprintf(f->home, sizeof(f->home), "%s", f->no_users ? f->rules.host : user.home);
	f->is_user = true;
	return 0;
}

static int resolve_home_path(struct files *f, const char *home, const char **path,
                             struct error *err)
{
	struct span rest = span_of(*path);

	if (span_equals_text(rest, "~") || span_starts_with(rest, "~/"))
		rest = (struct span){rest.data + 1 + (rest.size > 1),
		                     rest.size - 1 - (rest.size > 1)};
	return path_resolve(&f->arena, home[0] == '/' ? home : "/", rest, path, err);
}

static int resolve_at_home(struct files *f, uint16_t type, struct agent_path *m, struct error *err)
{
	bool has_target = type == AGENT_RENAME || type == AGENT_COPY;
	const char *home = f->home;

	if (m->root[0] && !f->no_users) {
		if (user_find(m->root, &f->owner, err) < 0)
			return -1;
		f->rules.owner = &f->owner;
		home = f->owner.home;
	}
	m->root = "";
	if (resolve_home_path(f, home, &m->path, err) < 0 ||
	    (has_target && resolve_home_path(f, home, &m->target, err) < 0))
		return -1;
	return 0;
}

static int run_row(struct files *f, const struct files_row *row, struct agent_path *m,
                   struct error *err)
{
	f->rules.owner = NULL;
	if (m->flags & AGENT_PATH_AT_HOME && resolve_at_home(f, row->type, m, err) < 0)
		return -1;
	return row->run(f, m, err);
}

static void serve_message(struct files *f, uint16_t type, struct span payload, size_t start)
{
	const struct files_row *row = row_find(type);
	struct agent_path message;
	struct error err;

	if (!row)
		give_frames_back(f, start);
	arena_reset(&f->arena);
	if (wire_decode(&f->arena, payload, agent_path_shape, &message, sizeof(message), &err) <
	    0) {
		files_send_failed(f, &err);
		end_process(0);
	}
	if (f->is_user && !f->no_users && strcmp(f->user, message.user) != 0)
		give_frames_back(f, start);
	if ((!f->is_user && become_user(f, message.user, &err) < 0) ||
	    run_row(f, row, &message, &err) < 0)
		files_send_failed(f, &err);
}

static void take_signals(void)
{
	struct sigaction action = {.sa_handler = on_terminate};
	sigset_t terminate;

	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigemptyset(&terminate);
	(void)sigaddset(&terminate, SIGTERM);
	(void)sigprocmask(SIG_UNBLOCK, &terminate, NULL);
}

static void close_others(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);

	if (low > 3)
		(void)close_range(3, low - 1, 0);
	if (high > low + 1)
		(void)close_range(low + 1, high - 1, 0);
	(void)close_range(high + 1, ~0U, 0);
}

void files_serve(const struct files_options *options)
{
	struct files f = {.connection = options->connection,
	                  .rules = {options->root, options->resolve, options->host, NULL},
	                  .in = BUF(WORKER_REST_MAX),
	                  .out = BUF(WIRE_PAYLOAD_MAX),
	                  .no_users = options->host != NULL,
	                  .is_standby = options->renew != NULL,
	                  .rest = options->rest};
	struct span payload;
	struct error err;
	uint16_t type;

	renew_process = options->renew;
	take_signals();
	/* The agent has a copy of the connection, so that its end here is no end of file. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!f.is_standby)
		close_others(options->connection,
		             options->root < 0 ? options->connection : options->root);
	(void)!file_poke(AT_FDCWD, "/proc/self/oom_score_adj", OOM_SCORE, &err);
	(void)umask(0);
	buf_add_span(&f.in, options->bytes);
	for (;;) {
		int result;

		if (is_idle(&f))
			give_frames_back(&f, f.in.size);
		result = files_next(&f, &type, &payload, &err);
		if (result <= 0)
			end_process(0);
		serve_message(&f, type, payload, f.taken - payload.size - WIRE_HEAD_SIZE);
	}
}
