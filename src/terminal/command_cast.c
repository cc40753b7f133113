/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/command_cast.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/thread.h"
#include "blob/blob.h"
#include "terminal/cast.h"
#include "terminal/recording.h"
#include "terminal/terminals.h"

#define TITLE_MAX 200
#define WHO_MAX 128
#define FRAME_ROOM 4096 /* kept free for the head, and the marker of what is missing */

struct command_cast {
	struct list link; /* in terminals.casts */
	struct terminals *terminals;
	char project[ID_SIZE + 1], sandbox[ID_SIZE + 1], id[RECORDING_ID_MAX + 1];
	char title[TITLE_MAX + 1], who[WHO_MAX + 1];
	uint32_t rows, columns;
	uint64_t process;
	int64_t started_unix_ms;
	struct buf lines; /* without the head */
	struct cast_text text;
	int64_t begun_ns, missing_us;
	uint64_t missing;
};

/* One project must not take what all have. */
static int enter_casts(struct command_cast *c, struct error *err)
{
	struct terminals *t = c->terminals;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&t->recorders_lock);
	unsigned all = 0, own = 0;

	LIST_EACH (&t->casts, struct command_cast, other, link) {
		all++;
		own += strcmp(other->project, c->project) == 0;
	}
	if (own >= COMMAND_CASTS_OF_PROJECT_MAX)
		return FAIL(err, ERROR_LIMIT,
		            "%d commands of the project are being recorded already",
		            COMMAND_CASTS_OF_PROJECT_MAX);
	if (all >= COMMAND_CASTS_MAX)
		return FAIL(err, ERROR_LIMIT, "%d commands are being recorded already",
		            COMMAND_CASTS_MAX);
	list_append(&t->casts, &c->link);
	return 0;
}

int command_cast_new(struct terminals *t, const struct command_cast_options *o,
                     struct command_cast **ret, struct error *err)
{
	struct command_cast *c;

	if (terminal_recordings_check(t, o->project_id, err) < 0)
		return -1;
	c = memory_new(sizeof(*c));
	*c = (struct command_cast){.terminals = t,
	                           .rows = o->rows,
	                           .columns = o->columns,
	                           .lines = BUF(COMMAND_CAST_BYTES_MAX),
	                           .started_unix_ms = clock_unix_ms(),
	                           .begun_ns = clock_monotonic_ns()};
	(void)snprintf(c->project, sizeof(c->project), "%s", o->project_id);
	(void)snprintf(c->sandbox, sizeof(c->sandbox), "%s", o->sandbox_id);
	if (enter_casts(c, err) < 0) {
		free(c);
		return -1;
	}
	(void)snprintf(c->title, sizeof(c->title), "%s", o->title);
	(void)snprintf(c->who, sizeof(c->who), "%s", o->who ? o->who : "");
	recording_id_make(c->id, c->sandbox, c->started_unix_ms);
	*ret = c;
	return 0;
}

void command_cast_free(struct command_cast *c)
{
	if (!c)
		return;
	(void)pthread_mutex_lock(&c->terminals->recorders_lock);
	list_remove(&c->link);
	(void)pthread_mutex_unlock(&c->terminals->recorders_lock);
	buf_done(&c->lines);
	free(c);
}

void command_cast_add(struct command_cast *c, struct span bytes)
{
	AUTO(buf_done) struct buf shown = BUF(2 * AGENT_DATA_MAX),
	                          line = BUF(COMMAND_CAST_BYTES_MAX);
	int64_t at_us = (clock_monotonic_ns() - c->begun_ns) / 1000;

	if (c->missing == 0) {
		cast_add_returns(&shown, bytes);
		cast_write_output(&line, &c->text, at_us, buf_span(&shown));
		if (!shown.overflowed && !line.overflowed &&
		    c->lines.size + line.size + FRAME_ROOM <= COMMAND_CAST_BYTES_MAX) {
			buf_add_span(&c->lines, buf_span(&line));
			return;
		}
		c->missing_us = at_us;
	}
	c->missing += bytes.size;
}

const char *command_cast_id(const struct command_cast *c)
{
	return c->id;
}

void command_cast_started(struct command_cast *c, uint64_t process)
{
	c->process = process;
}

static int write_cast(struct command_cast *c, int fd, struct error *err)
{
	AUTO(buf_done) struct buf head = BUF(FRAME_ROOM);

	cast_write_head(&head, &(struct cast_head){.rows = c->rows,
	                                           .columns = c->columns,
	                                           .started_unix_ms = c->started_unix_ms,
	                                           .title = c->title,
	                                           .user = c->who[0] ? c->who : NULL,
	                                           .process = c->process});
	return fd_write_all(fd, head.data, head.size, err) < 0
	               ? -1
	               : fd_write_all(fd, c->lines.data, c->lines.size, err);
}

int command_cast_store(struct command_cast *c, struct error *err)
{
	const struct terminals_options *o = &c->terminals->options;
	struct blob_put put = {.size_max = RECORDING_BYTES_MAX};
	struct blob_writer *writer;
	char name[BLOB_NAME_MAX];
	int64_t size;

	if (c->missing > 0)
		cast_write_missing(&c->lines, &c->text, c->missing_us, c->missing);
	put.size_hint = (int64_t)c->lines.size + FRAME_ROOM;
	(void)snprintf(name, sizeof(name), RECORDING_FOLDER "%s/%s" RECORDING_SUFFIX, c->project,
	               c->id);
	put.name = name;
	if (blob_put(o->blobs, &put, &writer, err) < 0)
		return -1;
	if (write_cast(c, blob_writer_fd(writer), err) < 0) {
		blob_abort(writer);
		return -1;
	}
	if (blob_commit(writer, &size, err) < 0)
		return -1;
	terminals_tell(c->terminals, EVENT_RECORDING_READY, c->sandbox, c->id);
	return 0;
}
