/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/log.h"
#include "blob/blob.h"
#include "json/json.h"
#include "terminal/cast.h"
#include "terminal/spool.h"
#include "terminal/terminals.h"
#include "fleet/core/fleet_hold.h"

#define FOLDER RECORDING_FOLDER
#define SUFFIX RECORDING_SUFFIX
#define LOOK_MS 200 /* for the server's end */
#define LINE_MAX_BYTES ((size_t)4 * 1024 * 1024)
#define PIECE_SIZE 16384 /* of the begin and the end that describe a recording */
#define STACK_SIZE ((size_t)256 * 1024)
#define TITLE_MAX 200 /* of a process */

struct recorder {
	struct list item; /* of terminals.recorders */
	struct terminals *terminals;
	struct fleet_hold place; /* its name; not owned */
	uint64_t process, started_unix_ms;
	struct terminal_reader reader;
	struct spool_name name;
	int fd; /* of the spooled file */
	char id[RECORDING_ID_MAX + 1];
	bool adds_returns; /* it writes to no terminal */
	struct cast_text text;
	uint64_t next; /* of terminal_missed */
	int64_t begun_ns, written;
};

static int write_line(struct recorder *r, const struct buf *line, struct error *err)
{
	r->written += (int64_t)line->size;
	return fd_write_all(r->fd, line->data, line->size, err);
}

/* A slow disk may lose some output. */
static void write_output(struct recorder *r, const struct agent_output *o, struct buf *line)
{
	int64_t at_us = (clock_monotonic_ns() - r->begun_ns) / 1000;
	uint64_t missed = terminal_missed(&r->next, o);

	if (missed > 0)
		cast_write_missing(line, &r->text, at_us, missed);
	if (!r->adds_returns) {
		cast_write_output(line, &r->text, at_us, o->bytes);
		return;
	}
	AUTO(buf_done) struct buf shown = BUF(2 * AGENT_DATA_MAX);

	cast_add_returns(&shown, o->bytes);
	cast_write_output(line, &r->text, at_us, buf_span(&shown));
}

void recording_id_make(char ret[RECORDING_ID_MAX + 1], const char *sandbox, int64_t now)
{
	const struct id id = id_new();

	(void)snprintf(ret, RECORDING_ID_MAX + 1, "%s-%" PRId64 "-%s", sandbox, now, id.text);
}

/* 1 = continue, 0 = the recording is complete. */
static int take_output(struct recorder *r, struct error *err)
{
	AUTO(buf_done) struct buf line = BUF(LINE_MAX_BYTES);
	struct agent_output output;
	int more = terminal_reader_next(&r->reader, deadline_after(LOOK_MS), &output, err);

	if (more < 0 && err->code == ERROR_TIMEOUT)
		return 1;
	/* A window ends with its sandbox. */
	if (more <= 0)
		return 0;
	write_output(r, &output, &line);
	if (r->written + (int64_t)line.size > RECORDING_BYTES_MAX)
		return 0;
	return line.size > 0 && write_line(r, &line, err) < 0 ? -1 : 1;
}

static bool is_stopping(struct terminals *t)
{
	return __atomic_load_n(&t->stopping, __ATOMIC_ACQUIRE);
}

static void leave_count(struct terminals *t)
{
	(void)pthread_mutex_lock(&t->recorders_lock);
	t->recorder_count--;
	(void)pthread_cond_broadcast(&t->recorder_ended);
	(void)pthread_mutex_unlock(&t->recorders_lock);
}

static void tell_recording(const struct recorder *r, enum event_kind kind)
{
	terminals_tell(r->terminals, kind, r->place.id, r->id);
}

static void finish_recording(struct recorder *r, bool failed, struct error *err)
{
	struct terminals *t = r->terminals;

	(void)close(r->fd);
	/* A recording that cannot be published waits for the server's next start. */
	if (failed)
		spool_remove(t->spool, &r->name);
	else if (spool_publish(t->spool, &r->name, t->options.blobs, err) < 0)
		log_warning("a recording waits", TEXT("file", r->name.text), FAILURE(err));
	if (failed)
		log_error("recording lost", TEXT("sandbox", r->place.id),
		          NUMBER("process", (int64_t)r->process), FAILURE(err));
	else
		tell_recording(r, EVENT_RECORDING_READY);
	terminal_reader_done(&r->reader);
	(void)pthread_mutex_lock(&t->recorders_lock);
	list_remove(&r->item);
	t->recorder_count--;
	(void)pthread_cond_broadcast(&t->recorder_ended);
	(void)pthread_mutex_unlock(&t->recorders_lock);
	free(r);
}

static void *run_recorder(void *context)
{
	struct recorder *r = context;
	struct error err = {0};
	int more = 1;

	while (more > 0 && !is_stopping(r->terminals))
		more = take_output(r, &err);
	finish_recording(r, more < 0, &err);
	return NULL;
}

static int start_thread(void *(*run)(void *context), void *context, struct error *err)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int failed;

	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_attr_setstacksize(&attributes, STACK_SIZE);
	failed = pthread_create(&thread, &attributes, run, context);
	(void)pthread_attr_destroy(&attributes);
	errno = failed;
	return failed ? FAIL_ERRNO(err, "start a recording") : 0;
}

static int count_of(struct terminals *t, const char *project_id, size_t *ret, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct terminal_recordings list;

	if (terminal_recordings_list(t, &a, project_id, &list, err) < 0)
		return -1;
	*ret = list.count;
	return 0;
}

static int open_files(struct recorder *r, const struct terminal_at *at, const char *project_id,
                      const struct cast_head *shown, struct error *err)
{
	AUTO(buf_done) struct buf head = BUF(LINE_MAX_BYTES);

	(void)snprintf(r->name.text, sizeof(r->name.text), "%s_%s" SUFFIX, project_id, r->id);
	if (spool_create(at->terminals->spool, &r->name, &r->fd, err) < 0)
		return -1;
	cast_write_head(&head, shown);
	return write_line(r, &head, err) < 0 ||
	                       terminal_reader_open(&r->reader, at, r->process, 0, true, err) < 0
	               ? -1
	               : 0;
}

static int begin_recording(struct recorder *r, const struct terminal_at *at, const char *project_id,
                           const struct cast_head *head, struct error *err)
{
	r->place = (struct fleet_hold){.provider = at->hold->provider};
	(void)snprintf(r->place.id, sizeof(r->place.id), "%s", at->hold->id);
	r->begun_ns = clock_monotonic_ns();
	if (open_files(r, at, project_id, head, err) < 0)
		return -1;
	r->reader.agent.id = r->place.id;
	/* The recording outlives the call that began it. */
	r->reader.agent.limits.cancel = NULL;
	/* Before the thread has it: the recording may end, and be freed, at once. */
	tell_recording(r, EVENT_RECORDING_STARTED);
	return start_thread(run_recorder, r, err);
}

/* Adds the recording to the running ones; false if the window has one already. */
static bool enter_recorders(struct terminals *t, struct recorder *r, const char *sandbox)
{
	bool is_new = true;

	(void)pthread_mutex_lock(&t->recorders_lock);
	LIST_EACH (&t->recorders, const struct recorder, other, item)
		is_new &= other->process != r->process ||
		          other->started_unix_ms != r->started_unix_ms ||
		          strcmp(other->place.id, sandbox) != 0;
	if (is_new) {
		list_append(&t->recorders, &r->item);
		t->recorder_count++;
	}
	(void)pthread_mutex_unlock(&t->recorders_lock);
	return is_new;
}

static void leave_recorders(struct terminals *t, struct recorder *r)
{
	(void)pthread_mutex_lock(&t->recorders_lock);
	list_remove(&r->item);
	t->recorder_count--;
	(void)pthread_cond_broadcast(&t->recorder_ended);
	(void)pthread_mutex_unlock(&t->recorders_lock);
	if (r->fd >= 0) {
		(void)close(r->fd);
		spool_remove(t->spool, &r->name);
	}
	terminal_reader_done(&r->reader);
	free(r);
}

int terminal_recordings_check(struct terminals *t, const char *project_id, struct error *err)
{
	size_t count;

	if (!t->options.blobs)
		return FAIL(err, ERROR_UNSUPPORTED, "this server has no blob store for recordings");
	if (is_stopping(t))
		return FAIL(err, ERROR_UNAVAILABLE, "the server is stopping");
	if (count_of(t, project_id, &count, err) < 0)
		return -1;
	if (count < RECORDINGS_MAX)
		return 0;
	(void)FAIL(err, ERROR_LIMIT, "the project has %d recordings", RECORDINGS_MAX);
	return FAIL_HINT(err, "delete some of them");
}

int terminal_record_check(struct terminals *t, const char *project_id, struct error *err)
{
	if (terminal_recordings_check(t, project_id, err) < 0)
		return -1;
	if (__atomic_load_n(&t->recorder_count, __ATOMIC_RELAXED) >= RECORDINGS_AT_ONCE_MAX)
		return FAIL(err, ERROR_LIMIT, "%d windows and jobs are being recorded already",
		            RECORDINGS_AT_ONCE_MAX);
	return 0;
}

/* Begins to record the process, or fails; a process that is recorded already stays so. */
static int record_agent_process(const struct terminal_at *at, const char *project_id,
                                const struct agent_process *process, struct cast_head *head,
                                char ret_id[RECORDING_ID_MAX + 1], struct error *err)
{
	struct terminals *t = at->terminals;
	struct recorder *r;

	if (terminal_record_check(t, project_id, err) < 0)
		return -1;
	r = memory_new(sizeof(*r));
	r->terminals = t;
	r->process = head->process = process->process;
	r->started_unix_ms = process->started_unix_ms;
	r->adds_returns = !(process->flags & AGENT_EXEC_TTY);
	r->fd = -1;
	head->started_unix_ms = clock_unix_ms();
	recording_id_make(r->id, at->hold->id, head->started_unix_ms);
	memcpy(ret_id, r->id, sizeof(r->id));
	(void)snprintf(r->place.id, sizeof(r->place.id), "%s", at->hold->id);
	if (!enter_recorders(t, r, at->hold->id)) {
		free(r);
		return 0;
	}
	if (begin_recording(r, at, project_id, head, err) < 0) {
		leave_recorders(t, r);
		return -1;
	}
	return 0;
}

int terminal_record(const struct terminal_at *at, const char *project_id,
                    const struct terminal_window *window, struct error *err)
{
	struct cast_head head = {.rows = window->state.rows,
	                         .columns = window->state.columns,
	                         .title = window->name,
	                         .user = at->who};
	char id[RECORDING_ID_MAX + 1];

	return record_agent_process(at, project_id, &window->process, &head, id, err);
}

int terminal_record_process(const struct terminal_at *at, const char *project_id,
                            const struct agent_process *process, const char *title,
                            char ret_id[RECORDING_ID_MAX + 1], struct error *err)
{
	char cut[TITLE_MAX + 1];
	struct cast_head head = {.rows = 24, .columns = 80, .title = cut, .user = at->who};

	(void)snprintf(cut, sizeof(cut), "%s", title);
	return record_agent_process(at, project_id, process, &head, ret_id, err);
}

struct leftovers {
	struct terminals *terminals;
	unsigned count;
	struct spool_name names[RECORDINGS_AT_ONCE_MAX];
};

static void *publish_leftovers(void *context)
{
	struct leftovers *l = context;
	struct terminals *t = l->terminals;

	for (unsigned i = 0; i < l->count && !is_stopping(t); i++) {
		struct error err = {0};

		if (spool_publish(t->spool, &l->names[i], t->options.blobs, &err) < 0)
			log_warning("a recording waits", TEXT("file", l->names[i].text),
			            FAILURE(&err));
	}
	leave_count(t);
	free(l);
	return NULL;
}

void terminals_recover(struct terminals *t)
{
	struct leftovers *l = memory_new(sizeof(*l));
	struct error err = {0};

	l->terminals = t;
	/* Recordings that start later are not included. */
	if (t->options.blobs)
		l->count = spool_list(t->spool, l->names, COUNT_OF(l->names));
	if (l->count == 0) {
		free(l);
		return;
	}
	(void)pthread_mutex_lock(&t->recorders_lock);
	t->recorder_count++;
	(void)pthread_mutex_unlock(&t->recorders_lock);
	if (start_thread(publish_leftovers, l, &err) == 0)
		return;
	log_warning("recordings wait", FAILURE(&err));
	leave_count(t);
	free(l);
}

void terminals_stop(struct terminals *t)
{
	__atomic_store_n(&t->stopping, true, __ATOMIC_RELEASE);
	(void)pthread_mutex_lock(&t->recorders_lock);
	while (t->recorder_count > 0)
		(void)pthread_cond_wait(&t->recorder_ended, &t->recorders_lock);
	(void)pthread_mutex_unlock(&t->recorders_lock);
}

static int name_of(const char *project_id, const char *id, char out[BLOB_NAME_MAX],
                   struct error *err)
{
	size_t size = strlen(id);

	if (size == 0 || size > RECORDING_ID_MAX ||
	    strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != size)
		return FAIL(err, ERROR_NOT_FOUND, "there is no recording '%.80s'", id);
	(void)snprintf(out, BLOB_NAME_MAX, FOLDER "%s/%s" SUFFIX, project_id, id);
	return 0;
}

/* ".../SANDBOX-MS-ID.cast"; in those of earlier versions a number of a process is in place of ID.
 */
static bool parse_blob_name(struct arena *a, const struct blob_stat *blob,
                            struct terminal_recording *ret)
{
	const char *slash = strrchr(blob->name, '/');
	struct span rest = span_of(slash ? slash + 1 : blob->name), part;
	struct terminal_recording r = {.size = blob->size};
	struct error err;

	if (rest.size <= strlen(SUFFIX) ||
	    strcmp(rest.data + rest.size - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	rest.size -= strlen(SUFFIX);
	r.id = arena_copy(a, rest);
	if (!span_split(&rest, '-', &part))
		return false;
	r.sandbox = arena_copy(a, part);
	if (!span_split(&rest, '-', &part) ||
	    span_parse_whole(part, 0, INT64_MAX, &r.started_at, &err) < 0 || rest.size == 0)
		return false;
	if (span_parse_whole(rest, 0, INT64_MAX, &r.process, &err) < 0)
		r.process = 0; /* the head has it */
	*ret = r;
	return true;
}

int terminal_recordings_list(struct terminals *t, struct arena *a, const char *project_id,
                             struct terminal_recordings *ret, struct error *err)
{
	struct terminal_recordings list = {
	        .items = ARENA_ARRAY(a, struct terminal_recording, RECORDINGS_MAX),
	};
	struct blob_list blobs;

	if (t->options.blobs) {
		if (blob_list(t->options.blobs, a,
		              &(struct blob_filter){
		                      .prefix = arena_format(a, FOLDER "%s/", project_id),
		                      .limit = RECORDINGS_MAX},
		              &blobs, err) < 0)
			return -1;
		for (size_t i = 0; i < blobs.count; i++)
			list.count += parse_blob_name(a, &blobs.items[i], &list.items[list.count]);
	}
	*ret = list;
	return 0;
}

struct recording_head {
	const char *title, *user;
	int64_t process;
};
static const struct json_member recording_head_members[] = {
        JSON_TEXT_MEMBER(recording_head, title),
        JSON_TEXT_MEMBER(recording_head, user),
        JSON_WHOLE_MEMBER(recording_head, process),
};
static JSON_OPEN_SHAPE(recording_head, "RecordingHead", recording_head, NULL);

/* Up to `size` bytes from `offset`; what cannot be read is missing. */
static void read_piece(struct terminals *t, const char *name, struct blob_range range,
                       struct buf *out)
{
	AUTO_CLOSE int fd = -1;
	struct error ignored;
	int64_t whole;

	if (blob_get(t->options.blobs, name, range, &fd, &whole, &ignored) == 0)
		(void)!fd_read_to_end(fd, out, &ignored);
}

static void take_head(struct arena *a, struct span text, struct terminal_recording *r)
{
	struct recording_head head;
	struct error ignored;
	struct span line;

	if (!span_split(&text, '\n', &line) ||
	    json_parse(a, line, &recording_head, &head, &ignored) < 0)
		return;
	r->window = head.title;
	r->user = head.user;
	if (head.process > 0)
		r->process = head.process;
}

/* The last whole line that begins with "[SECONDS" is the last piece of output. */
static void take_tail(const char *text, struct terminal_recording *r)
{
	double seconds;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "[%lf,", &seconds) == 1 && seconds >= 0 && seconds < 1e9)
			r->duration_ms = (int64_t)(seconds * 1000);
	}
}

void terminal_recording_describe(struct terminals *t, struct arena *a, const char *project_id,
                                 struct terminal_recording *r)
{
	AUTO(buf_done) struct buf head = BUF(PIECE_SIZE + 1), tail = BUF(PIECE_SIZE + 1);
	struct blob_range first = {0, r->size < PIECE_SIZE ? r->size : PIECE_SIZE};
	struct blob_range last = {r->size - first.size, first.size};
	char name[BLOB_NAME_MAX];
	struct error ignored;

	r->window = r->user = NULL;
	r->duration_ms = -1;
	if (first.size == 0 || name_of(project_id, r->id, name, &ignored) < 0)
		return;
	read_piece(t, name, first, &head);
	take_head(a, buf_span(&head), r);
	read_piece(t, name, last, &tail);
	/* The piece may begin within a line. */
	take_tail(last.offset > 0 ? strchr(buf_text(&tail), '\n') : buf_text(&tail), r);
}

int terminal_recording_open(struct terminals *t, const char *project_id, const char *id,
                            int *ret_fd, int64_t *ret_size, struct error *err)
{
	char name[BLOB_NAME_MAX];

	if (name_of(project_id, id, name, err) < 0)
		return -1;
	if (!t->options.blobs)
		return FAIL(err, ERROR_NOT_FOUND, "there is no recording '%s'", id);
	if (blob_get(t->options.blobs, name, (struct blob_range){.size = -1}, ret_fd, ret_size,
	             err) == 0)
		return 0;
	return err->code == ERROR_NOT_FOUND
	               ? FAIL(err, ERROR_NOT_FOUND, "there is no recording '%s'", id)
	               : -1;
}

int terminal_recording_delete(struct terminals *t, const char *project_id, const char *id,
                              struct error *err)
{
	struct blob_stat stat;
	char name[BLOB_NAME_MAX];

	if (name_of(project_id, id, name, err) < 0)
		return -1;
	if (!t->options.blobs ||
	    (blob_stat(t->options.blobs, name, &stat, err) < 0 && err->code == ERROR_NOT_FOUND))
		return FAIL(err, ERROR_NOT_FOUND, "there is no recording '%s'", id);
	return blob_delete(t->options.blobs, name, err);
}
