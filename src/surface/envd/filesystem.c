/* SPDX-License-Identifier: Apache-2.0 */
/* filesystem.Filesystem/{Stat,MakeDir,Move,ListDir,Remove}. */
#include <errno.h>

#include "calls/files.h"
#include "edge/target.h"
#include "json/write.h"
#include "provider/compute.h"
#include "provider/provider.h"
#include "surface/envd/connect.h"
#include "surface/envd/envd.h"
#include "surface/envd/unary.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define ENTRIES_MAX 100000
#define DEPTH_MAX 64

static int call_for_path(struct unary_call *c, uint16_t type, const struct agent_path *path,
                         struct error *err)
{
	const struct compute_file file = {type, path, c->rq->deadline};
	const struct files_call call = {.type = type, .path = *path};
	struct activity_note *note = files_begin_note(c->rq, c->target, &call);
	int result =
	        compute_file(c->target->provider, c->target->id, c->rq->arena, &file, NULL, err);

	return files_end_note(note, result, err);
}

static int text_of(const struct unary_call *c, const char *name, const char **ret,
                   struct error *err)
{
	const char *text = json_text(json_get(c->body, name), "");

	if (!text[0])
		return FAIL(err, ERROR_INVALID, "%s is missing", name);
	*ret = text;
	return 0;
}

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
	l->count++;
	envd_write_entry(l->out, reply);
	return 0;
}

static int write_entries(struct unary_call *c, const char *path, uint32_t depth, struct error *err)
{
	struct envd_entry_listing listing = {.out = c->out};
	struct agent_path message = envd_path_of(path, c->user);
	struct agent_entry entry;
	struct compute_call call = {
	        .type = AGENT_INSPECT,
	        .shape = agent_path_shape,
	        .message = &message,
	        WIRE_REPLY(AGENT_ENTRY, agent_entry_shape, entry),
	        .on_reply = add_entry,
	        .context = &listing,
	};

	message.target = ENVD_METADATA;
	message.depth = depth;
	message.size_max = ENTRIES_MAX;
	if (provider_require(c->target->provider, PROVIDER_CAN_FILES, err) < 0)
		return -1;
	return compute_call(c->target->provider, c->target->id, c->rq->arena, &call,
	                    c->rq->deadline, err);
}

static int answer_entry(struct unary_call *c, const char *path, struct error *err)
{
	json_begin_object(c->out, NULL);
	json_add_name(c->out, "entry");
	if (write_entries(c, path, 0, err) < 0)
		return -1;
	json_end_object(c->out);
	return 0;
}

static int stat_path(struct unary_call *c, struct error *err)
{
	const char *path;

	return text_of(c, "path", &path, err) < 0 ? -1 : answer_entry(c, path, err);
}

/* An existing folder has an error code of its own. */
static int reply_exists(struct unary_call *c, const struct error *err)
{
	reply_status(c->reply, 409);
	buf_reset(c->out);
	connect_write_error(c->out, NULL, "already_exists", err->text);
	return 0;
}

static int make_dir(struct unary_call *c, struct error *err)
{
	struct agent_path message;
	const char *path;

	if (text_of(c, "path", &path, err) < 0)
		return -1;
	message = envd_path_of(path, c->user);
	message.flags |= AGENT_PATH_PARENTS;
	if (call_for_path(c, AGENT_MKDIR, &message, err) < 0 || answer_entry(c, path, err) < 0)
		return err->code == ERROR_CONFLICT ? reply_exists(c, err) : -1;
	return 0;
}

static int move_path(struct unary_call *c, struct error *err)
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

static int list_dir(struct unary_call *c, struct error *err)
{
	int64_t depth = json_whole(json_get(c->body, "depth"), 0);
	const char *path;

	if (text_of(c, "path", &path, err) < 0)
		return -1;
	if (depth < 0 || depth > DEPTH_MAX)
		return FAIL(err, ERROR_INVALID, "depth is not from 1 to %d", DEPTH_MAX);
	json_begin_object(c->out, NULL);
	json_begin_list(c->out, "entries");
	if (write_entries(c, path, depth ? (uint32_t)depth : 1, err) < 0) {
		if (err->sys_errno == ENOTDIR)
			err->code = ERROR_INVALID;
		return -1;
	}
	json_end_list(c->out);
	json_end_object(c->out);
	return 0;
}

static int remove_path(struct unary_call *c, struct error *err)
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

#define PATH "/filesystem.Filesystem/"
const struct unary_method filesystem_methods[] = {
        {PATH "Stat", stat_path, true},     {PATH "MakeDir", make_dir, true},
        {PATH "Move", move_path, true},     {PATH "ListDir", list_dir, true},
        {PATH "Remove", remove_path, true}, {.path = NULL},
};
const struct route envd_filesystem_routes[] = {
        UNARY_ROW(PATH "Stat", ROUTE_CANCEL),
        UNARY_ROW(PATH "MakeDir", 0),
        UNARY_ROW(PATH "Move", 0),
        UNARY_ROW(PATH "ListDir", ROUTE_CANCEL),
        UNARY_ROW(PATH "Remove", 0),
        {.path = NULL},
};
