/* SPDX-License-Identifier: Apache-2.0 */
#include "surface/native/stopped_files.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/path.h"
#include "calls/files.h"
#include "edge/api.h"
#include "fleet/core/defaults.h"
#include "fleet/core/sandboxes.h"
#include "fleet/sandbox/stopped_files.h"
#include "http/server/range.h"
#include "http/server/shares.h"
#include "json/write.h"
#include "provider/agent_reader.h"
#include "store/sandbox_record.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

struct stopped_list {
	struct buf *out;
	const char *last; /* the path of the last entry */
	uint64_t count, max;
	struct arena *arena;
};

static int add_entry(void *context, const void *reply, struct error *err)
{
	struct stopped_list *l = context;
	const struct agent_file *file = reply;

	if (l->count == l->max)
		return FAIL(err, ERROR_SYSTEM, "the agent listed more files than it was asked for");
	l->count++;
	json_add_name(l->out, NULL);
	files_write_entry(l->out, file, file->path);
	l->last = arena_text(l->arena, file->path);
	return 0;
}

static int answer_list(struct request *rq, const struct stopped_files *s,
                       const struct agent_path *path, struct reply *reply, struct error *err)
{
	struct stopped_list l = {.out = reply_buf(reply, "application/json"),
	                         .max = path->size_max,
	                         .arena = rq->arena};
	const struct compute_file call = {AGENT_LIST, path, rq->deadline, add_entry, &l};
	int64_t now = clock_unix_ms();

	json_begin_object(l.out, NULL);
	json_begin_list(l.out, "items");
	if (compute_file(s->provider, s->id, rq->arena, &call, NULL, err) < 0)
		return -1;
	json_end_list(l.out);
	json_add_bool(l.out, "truncated", l.count >= l.max);
	json_add_text(l.out, "next_after", l.count >= l.max ? l.last : NULL);
	json_add_whole(l.out, "listed_at_ms", now);
	json_end_object(l.out);
	return 0;
}

static int answer_stat(struct request *rq, const struct stopped_files *s,
                       const struct agent_path *path, const char *shown, struct reply *reply,
                       struct error *err)
{
	const struct compute_file call = {AGENT_STAT, path, rq->deadline, NULL, NULL};
	struct agent_file file;

	if (compute_file(s->provider, s->id, rq->arena, &call, &file, err) < 0)
		return -1;
	files_write_entry(reply_buf(reply, "application/json"), &file, shown);
	return 0;
}

static int refuse_large(uint64_t size, struct error *err)
{
	(void)FAIL(err, ERROR_TOO_LARGE,
	           "%" PRIu64 " bytes are more than the %d that are read of a stopped sandbox",
	           size, STOPPED_CONTENT_MAX);
	return FAIL_HINT(err, "ask for ranges, or start the sandbox");
}

static int read_content(struct agent_reader *r, struct buf *out, struct agent_file *ret,
                        struct arena *a, struct error *err)
{
	if (agent_reader_expect(r, AGENT_FILE, err) < 0 ||
	    wire_decode(a, buf_span(&r->payload), agent_file_shape, ret, sizeof(*ret), err) < 0)
		return -1;
	for (;;) {
		if (agent_reader_next(r, err) < 0)
			return -1;
		if (r->type == AGENT_DONE)
			return 0;
		if (r->type != AGENT_DATA)
			return agent_reader_refuse(r, err);
		if (out->size + r->payload.size > STOPPED_CONTENT_MAX)
			return refuse_large(out->size + r->payload.size, err);
		buf_add_span(out, buf_span(&r->payload));
	}
}

static void add_headers(struct request *rq, struct reply *reply, uint64_t offset, uint64_t size,
                        uint64_t whole)
{
	reply_header(reply, "X-Content-Type-Options", "nosniff");
	reply_header(reply, "Content-Disposition", "attachment");
	reply_header(reply, "Accept-Ranges", "bytes");
	if (!request_header(rq, "Range") || size == 0)
		return;
	reply_status(reply, 206);
	reply_header(reply, "Content-Range",
	             arena_format(rq->arena, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, offset,
	                          offset + size - 1, whole));
}

static int answer_content(struct request *rq, const struct stopped_files *s,
                          const struct agent_path *path, struct reply *reply, struct error *err)
{
	const struct agent_limits limits = {.deadline = rq->deadline};
	AUTO(agent_reader_done) struct agent_reader r = {0};
	struct buf *out = reply_buf(reply, "application/octet-stream");
	struct agent_path message = *path;
	const struct compute_request ask = {AGENT_READ, agent_path_shape, &message, NULL};
	bool is_range =
	        range_parse(request_header(rq, "Range"), &message.offset, &message.size_max);
	struct agent_file file;

	agent_reader_init(&r, s->provider, s->id, &limits);
	if (agent_reader_ask(&r, &ask, err) < 0 || read_content(&r, out, &file, rq->arena, err) < 0)
		return -1;
	if (is_range && out->size == 0)
		return range_fail(rq, "file", file.size, err);
	add_headers(rq, reply, message.offset, out->size, file.size);
	return 0;
}

static int answer_look(struct request *rq, const struct sandbox_record *r,
                       const struct stopped_look *look, struct reply *reply, struct error *err)
{
	AUTO(stopped_files_close) struct stopped_files s = {.review = NULL};
	struct fleet *fleet = api_of(rq)->fleet;
	struct agent_path path = {.root = STOPPED_FILES_ROOT,
	                          .target = look->after,
	                          .user = "root",
	                          .flags = look->flags | AGENT_PATH_BENEATH,
	                          .depth = look->depth,
	                          .offset = look->offset,
	                          .size_max = look->limit};
	struct fleet_defaults defaults;
	const char *absolute;

	if (fleet_defaults(fleet, rq->arena, r, NULL, &defaults, err) < 0 ||
	    path_resolve(rq->arena, path_or_root(defaults.workdir), span_of(look->path), &absolute,
	                 err) < 0 ||
	    stopped_files_open(fleet, rq->arena, r, &s, err) < 0)
		return -1;
	path.path = absolute[1] ? absolute + 1 : ".";
	if (look->type == AGENT_LIST)
		return answer_list(rq, &s, &path, reply, err);
	if (look->type == AGENT_STAT)
		return answer_stat(rq, &s, &path, absolute, reply, err);
	return answer_content(rq, &s, &path, reply, err);
}

int stopped_files_answer(struct request *rq, const struct stopped_look *look, struct reply *reply,
                         struct error *err)
{
	const struct fleet_ref ref = api_path_ref(rq);
	struct request_sandbox sandbox;
	struct error ignored;
	struct sandbox_record r;

	if (err->code != ERROR_CONFLICT || err->awaits.key[0] ||
	    fleet_find(api_of(rq)->fleet, rq->arena, &ref, &r, &ignored) < 0 ||
	    r.actual != SANDBOX_STOPPED)
		return -1;
	error_clear(err);
	sandbox = (struct request_sandbox){r.project_id, r.id};
	if (request_may_call(rq, &sandbox, err) < 0 || request_may_block(rq, err) < 0)
		return -1;
	return answer_look(rq, &r, look, reply, err);
}
