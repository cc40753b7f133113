/* SPDX-License-Identifier: Apache-2.0 */
/* filesystem.Filesystem/{Stat,MakeDir,Move,ListDir,Remove}. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "provider/compute.h"
#include "surface/envd/connect.h"
#include "surface/envd/envd.h"
#include "wire/agent.h"

#define ENTRIES_MAX 100000
#define DEPTH_MAX 64
#define BODY_MAX_BYTES ((size_t)64 * 1024)

/* An authorized call. */
struct filesystem_call {
	struct request *rq;
	struct api_target target;
	const struct json_value *body;
	const char *user;
	struct buf *out;
};

static void filesystem_call_done(struct filesystem_call *c)
{
	api_target_done(&c->target);
}

static int call_for_path(struct filesystem_call *c, uint16_t type, const struct agent_path *path,
                         struct error *err)
{
	const struct compute_call call = {
	        .type = type,
	        .shape = agent_path_shape,
	        .message = path,
	};
	struct agent_file file;
	struct compute_call with_file = call;

	with_file.reply_type = AGENT_FILE;
	with_file.reply_shape = agent_file_shape;
	with_file.reply = &file;
	with_file.reply_size = sizeof(file);
	if (provider_require(c->target.hold.provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	return compute_call(c->target.hold.provider, c->target.hold.id, c->rq->arena,
	                    type == AGENT_REMOVE ? &call : &with_file, c->rq->deadline, err);
}

static int text_of(const struct filesystem_call *c, const char *name, const char **ret,
                   struct error *err)
{
	const char *text = json_text(json_get(c->body, name), "");

	if (!text[0])
		return FAIL(err, ERROR_INVALID, "%s is missing", name);
	*ret = text;
	return 0;
}

/* ---- entries ---- */

struct envd_entry_listing {
	struct buf *out;
	unsigned count;
};

static int add_entry(void *context, const void *reply, struct error *err)
{
	struct envd_entry_listing *l = context;

	if (l->count == ENTRIES_MAX)
		return FAIL(err, ERROR_LIMIT,
		            "the folder has more than the allowed number of entries");
	if (l->count++ > 0)
		buf_add_byte(l->out, ',');
	envd_write_entry(l->out, reply);
	return 0;
}

static int write_entries(struct filesystem_call *c, const char *path, uint32_t depth,
                         struct error *err)
{
	struct envd_entry_listing listing = {.out = c->out};
	struct agent_path message = envd_path_of(path, c->user);
	struct agent_entry entry;
	struct compute_call call = {
	        .type = AGENT_INSPECT,
	        .shape = agent_path_shape,
	        .message = &message,
	        .reply_type = AGENT_ENTRY,
	        .reply_shape = agent_entry_shape,
	        .reply = &entry,
	        .reply_size = sizeof(entry),
	        .on_reply = add_entry,
	        .context = &listing,
	};

	message.target = ENVD_METADATA;
	message.depth = depth;
	message.size_max = ENTRIES_MAX;
	if (provider_require(c->target.hold.provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	return compute_call(c->target.hold.provider, c->target.hold.id, c->rq->arena, &call,
	                    c->rq->deadline, err);
}

static int answer_entry(struct filesystem_call *c, const char *path, struct error *err)
{
	buf_add_text(c->out, "{\"entry\":");
	if (write_entries(c, path, 0, err) < 0)
		return -1;
	buf_add_byte(c->out, '}');
	return 0;
}

/* ---- calls ---- */

static int stat_path(struct filesystem_call *c, struct error *err)
{
	const char *path;

	return text_of(c, "path", &path, err) < 0 ? -1 : answer_entry(c, path, err);
}

static int make_dir(struct filesystem_call *c, struct error *err)
{
	struct agent_path message;
	const char *path;

	if (text_of(c, "path", &path, err) < 0)
		return -1;
	message = envd_path_of(path, c->user);
	message.flags |= AGENT_PATH_PARENTS;
	return call_for_path(c, AGENT_MKDIR, &message, err) < 0 ? -1 : answer_entry(c, path, err);
}

static int move_path(struct filesystem_call *c, struct error *err)
{
	struct agent_path message;
	const char *source, *destination;

	if (text_of(c, "source", &source, err) < 0 ||
	    text_of(c, "destination", &destination, err) < 0)
		return -1;
	message = envd_path_of(source, c->user);
	message.target = destination;
	message.flags |= AGENT_PATH_PARENTS;
	return call_for_path(c, AGENT_RENAME, &message, err) < 0
	               ? -1
	               : answer_entry(c, destination, err);
}

static int list_dir(struct filesystem_call *c, struct error *err)
{
	int64_t depth = json_whole(json_get(c->body, "depth"), 0);
	const char *path;

	if (text_of(c, "path", &path, err) < 0)
		return -1;
	if (depth < 0 || depth > DEPTH_MAX)
		return FAIL(err, ERROR_INVALID, "depth is not from 1 to %d", DEPTH_MAX);
	buf_add_text(c->out, "{\"entries\":[");
	if (write_entries(c, path, depth ? (uint32_t)depth : 1, err) < 0) {
		if (err->sys_errno == ENOTDIR)
			err->code = ERROR_INVALID;
		return -1;
	}
	buf_add_text(c->out, "]}");
	return 0;
}

static int remove_path(struct filesystem_call *c, struct error *err)
{
	struct agent_path message;
	const char *path;

	if (text_of(c, "path", &path, err) < 0)
		return -1;
	message = envd_path_of(path, c->user);
	message.flags |= AGENT_PATH_RECURSIVE | AGENT_PATH_MAY_EXIST;
	if (call_for_path(c, AGENT_REMOVE, &message, err) < 0)
		return -1;
	buf_add_text(c->out, "{}");
	return 0;
}

/* ---- routes ---- */

static int run_call(struct request *rq, struct reply *reply,
                    int (*call)(struct filesystem_call *, struct error *), struct error *err)
{
	AUTO(filesystem_call_done) struct filesystem_call c = {.rq = rq};
	int opened = envd_target_open(rq, reply, &c.target, err);

	if (opened != 0)
		return opened < 0 ? -1 : 0;
	if (request_may_block(rq, err) < 0 || envd_read_json(rq, &c.body, err) < 0 ||
	    envd_user_find(rq, &c.target, NULL, &c.user, err) < 0)
		return -1;
	c.out = reply_buf(reply, "application/json");
	if (call(&c, err) == 0)
		return 0;
	envd_error_translate(err);
	return -1;
}

/* An existing folder has an error code of its own. */
static int reply_exists(struct reply *reply, const struct error *err)
{
	struct buf *out = reply_buf(reply, "application/json");

	reply_status(reply, 409);
	buf_reset(out);
	buf_add_text(out, "{\"code\":\"already_exists\",\"message\":");
	json_write_text(out, span_of(err->text));
	buf_add_byte(out, '}');
	return 0;
}

static int handle_call(struct request *rq, UNUSED const void *body, struct reply *reply,
                       struct error *err)
{
	static const struct {
		const char *name;
		int (*call)(struct filesystem_call *c, struct error *err);
	} calls[] = {
	        {"Stat", stat_path},   {"MakeDir", make_dir},   {"Move", move_path},
	        {"ListDir", list_dir}, {"Remove", remove_path},
	};
	const char *name = path_last(rq->route->path);
	size_t i = 0;

	while (i < COUNT_OF(calls) && strcmp(calls[i].name, name) != 0)
		i++;
	assert(i < COUNT_OF(calls)); /* every route row has a call */
	if (run_call(rq, reply, calls[i].call, err) == 0)
		return 0;
	if (!request_is_deferred(rq) && err->code == ERROR_CONFLICT && calls[i].call == make_dir)
		return reply_exists(reply, err);
	return -1;
}

#define ROW(name, cancel)                                                                          \
	{                                                                                          \
		.method = HTTP_POST, .path = "/filesystem.Filesystem/" name,                       \
		.flags = ROUTE_PUBLIC | ROUTE_RAW_BODY | ROUTE_HIDDEN | (cancel),                  \
		.body_max = BODY_MAX_BYTES, .handle = handle_call, .tag = CONNECT_TAG,             \
		.summary = "filesystem." name                                                      \
	}
const struct route envd_filesystem_routes[] = {
        ROW("Stat", ROUTE_CANCEL),    ROW("MakeDir", 0), ROW("Move", 0),
        ROW("ListDir", ROUTE_CANCEL), ROW("Remove", 0),  {.path = NULL},
};
