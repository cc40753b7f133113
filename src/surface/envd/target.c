/* SPDX-License-Identifier: Apache-2.0 */
/* Authorization of a request, the sandbox that it is for, and the user that it acts as. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "edge/caller.h"
#include "edge/hooks.h"
#include "edge/target.h"
#include "edge/text.h"
#include "fleet/core/access.h"
#include "fleet/core/use.h"
#include "fleet/lifecycle/hold.h"
#include "fleet/volume/volume.h"
#include "http/server/failure.h"
#include "http/server/shares.h"
#include "json/write.h"
#include "store/sandbox_record.h"
#include "surface/envd/connect.h"
#include "surface/envd/envd.h"
#include "surface/envd/routes.h"
#include "wire/agent_files.h"

#define USER_MAX 64
/* The users to try for an image without a default user. */
#define DEFAULT_USER "user|root"

void envd_write_message(struct buf *out, int code, const char *message)
{
	json_begin_object(out, NULL);
	json_add_whole(out, "code", code);
	json_add_text(out, "message", message);
	json_end_object(out);
}

bool envd_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out)
{
	const char *tag = rq->route && rq->route->tag ? rq->route->tag : "";

	if (strcmp(tag, CONNECT_TAG) == 0) {
		connect_write_failure(failure, out);
		return true;
	}
	if (strcmp(tag, ENVD_TAG) != 0)
		return false;
	envd_write_message(out, failure->status, failure->message);
	return true;
}

void envd_reply_gone(struct reply *reply, const char *id)
{
	struct buf *out = reply_buf(reply, "application/json");

	reply_status(reply, 502);
	json_begin_object(out, NULL);
	json_add_text(out, "sandboxId", id);
	json_add_text(out, "message", "The sandbox was not found");
	json_add_whole(out, "code", 502);
	json_end_object(out);
}

int envd_token_check(struct request *rq, const char *id, struct error *err)
{
	const char *given = request_header(rq, "X-Access-Token");

	if (given && fleet_access_check(api_of(rq)->fleet, id, FLEET_ACCESS_AGENT, span_of(given)))
		return 0;
	return FAIL(err, ERROR_UNAUTHENTICATED,
	            "unauthorized access, please provide a valid access token or method signing if "
	            "supported");
}

/* The reason that the usage record names, by path. */
static enum usage_reason reason_of(const struct request *rq)
{
	static const struct {
		const char *start;
		enum usage_reason reason;
	} paths[] = {
	        {"/files", USAGE_FILE_OPS},
	        {"/filesystem.", USAGE_FILE_OPS},
	        {"/execute", USAGE_CODE},
	        {"/contexts", USAGE_CODE},
	};

	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (strncmp(rq->path, paths[i].start, strlen(paths[i].start)) == 0)
			return paths[i].reason;
	return USAGE_EXEC;
}

/* These requests carry no API key. The limit of concurrent requests of a key applies to a sandbox
 * here; otherwise the holder of one token could occupy all threads and connections. A request that
 * a worker runs again was admitted before. */
static int admit_request(struct request *rq, const char *id, struct error *err)
{
	struct api_caller *caller;

	if (rq->caller)
		return 0;
	caller = ARENA_NEW(rq->arena, struct api_caller);
	caller->account = (struct account_caller){.project_id = "", .key_id = "", .user_id = ""};
	caller->own_project = "";
	caller->share = id;
	if (api_admit_request(rq, id, caller, err) < 0) {
		(void)snprintf(err->text, sizeof(err->text),
		               "this sandbox has too many requests at once");
		return -1;
	}
	rq->caller = caller;
	return 0;
}

int envd_target_hold(struct request *rq, struct reply *reply, const char *id,
                     struct api_target *ret, struct error *err)
{
	const struct fleet_use use = {.reason = reason_of(rq)};
	const struct fleet_ref ref = {.id_or_name = id, .use = &use};
	struct fleet *fleet = api_of(rq)->fleet;
	struct sandbox_record r;
	struct fleet_hold hold;

	if (admit_request(rq, id, err) < 0)
		return -1;
	if (!fleet_hold_warm(fleet, rq->arena, &ref, &r, &hold) &&
	    (request_may_block(rq, err) < 0 ||
	     fleet_hold(fleet, rq->arena, &ref, &r, &hold, err) < 0)) {
		if (err->node[0] && api_forward(rq, reply, err) == 0)
			return 1;
		if (request_is_deferred(rq) ||
		    (err->code != ERROR_NOT_FOUND && err->code != ERROR_CONFLICT))
			return -1;
		envd_reply_gone(reply, id);
		return 1;
	}
	request_count_for(rq, r.project_id);
	if (api_target_take(rq, &r, &hold, ret, err) < 0)
		return -1;
	api_target_cancel_with_client(rq);
	return 0;
}

int envd_target_open(struct request *rq, struct reply *reply, struct api_target *ret,
                     struct error *err)
{
	struct envd_address address;
	int found = envd_address_require(rq, reply, &address, err);

	if (found != 0)
		return found;
	if (envd_token_check(rq, address.id, err) < 0)
		return -1;
	return envd_target_hold(rq, reply, address.id, ret, err);
}

int envd_call_run(struct request *rq, struct reply *reply, const struct envd_call *call,
                  struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	int opened = call->open(rq, reply, &t, err);

	if (opened != 0)
		return opened < 0 ? -1 : 0;
	return call->run(rq, reply, &t, call->body, err);
}

/* Reads "Basic " and the base64 of "NAME:PASSWORD"; the password is ignored. */
static int read_basic(struct request *rq, const char **ret, struct error *err)
{
	const char *header = request_header(rq, "Authorization");
	struct span text, name;

	if (!header || strncasecmp(header, "Basic ", 6) != 0)
		return 0;
	if (text_read_bytes(rq->arena, span_of(header + 6), &text, err) < 0)
		return FAIL_CONTEXT(err, "Authorization");
	(void)span_split(&text, ':', &name);
	if (memchr(name.data, '\0', name.size))
		return FAIL(err, ERROR_UNAUTHENTICATED, "invalid username");
	*ret = arena_copy(rq->arena, name);
	return 0;
}

int envd_user_find(struct request *rq, const struct api_target *t, const char *given,
                   const char **ret, struct error *err)
{
	const char *user = given;

	if (!user && read_basic(rq, &user, err) < 0)
		return -1;
	if (user && (strlen(user) > USER_MAX || strchr(user, '|')))
		return FAIL(err, ERROR_UNAUTHENTICATED, "invalid username: '%.64s'", user);
	if (!user || !user[0])
		user = t->user;
	*ret = user && user[0] ? user : DEFAULT_USER;
	return 0;
}

const char *envd_workdir_of(const struct api_target *t)
{
	/* The projects folder of Atoll's own templates is a default that no user chose. */
	static const char projects[] = FLEET_HOME_PATH "/project";
	const char *workdir = t->workdir;

	return workdir && strcmp(workdir, projects) != 0 ? workdir : "";
}

void envd_error_translate(struct error *err)
{
	static const char cwd[] = "working folder '";
	size_t size = sizeof(cwd) - 1;
	const char *end;

	if (err->code == ERROR_NOT_FOUND && strncmp(err->text, "no user '", 9) == 0)
		err->code = ERROR_UNAUTHENTICATED;
	end = strncmp(err->text, cwd, size) == 0 ? strchr(err->text + size, '\'') : NULL;
	if (end && err->code == ERROR_NOT_FOUND) {
		char path[ERROR_TEXT_MAX];

		memcpy(path, err->text + size, (size_t)(end - err->text) - size);
		path[(size_t)(end - err->text) - size] = '\0';
		error_set(err, ERROR_INVALID, 0, HERE, "cwd '%.200s' does not exist", path);
	}
}

int envd_read_json(struct request *rq, const struct json_value **ret, struct error *err)
{
	const char *type = request_header(rq, "Content-Type");

	if (!type || strncasecmp(type, "application/json", 16) != 0)
		return FAIL(err, ERROR_INVALID, "the body is not application/json");
	if (rq->body.size == 0)
		return json_load(rq->arena, SPAN("{}"), ret, err);
	return json_load(rq->arena, rq->body, ret, err);
}

struct agent_path envd_path_of(const char *path, const char *user)
{
	return (struct agent_path){.path = path, .root = user, .flags = AGENT_PATH_AT_HOME};
}
