/* SPDX-License-Identifier: Apache-2.0 */
/* Failures in Daytona's form: {"statusCode":404,"message":…,"error":"Not Found","code":…,
 * "source":…,"path":…,"timestamp":…}. Clients choose an exception by source and code, else by
 * status. */
#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "edge/caller.h"
#include "http/server/failure.h"
#include "json/write.h"
#include "surface/daytona/daytona.h"
#include "surface/daytona/routes.h"

static const struct {
	int status;
	const char *text;
} reasons[] = {
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Payload Too Large"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {422, "Unprocessable Entity"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {507, "Insufficient Storage"},
};

/* The toolbox's codes for failures, by the beginning of the path. */
static const struct {
	const char *below;
	enum error_code code;
	const char *name;
	int status; /* 0 = the code's own */
} toolbox_names[] = {
        {"/files", ERROR_NOT_FOUND, "FILE_NOT_FOUND", 0},
        {"/files", ERROR_FORBIDDEN, "FILE_ACCESS_DENIED", 0},
        {"/files", ERROR_INVALID, "INVALID_FILE_PATH", 0},
        {"/process", ERROR_TIMEOUT, "PROCESS_EXECUTION_TIMEOUT", 408},
        {"/process", ERROR_NOT_FOUND, "PROCESS_NOT_FOUND", 0},
};

/* The status of codes that are the same for all paths. */
static const struct {
	const char *name;
	int status;
} named[] = {
        {"SESSION_ENDED", 410},       {"COMMAND_ALREADY_COMPLETED", 410}, {"GIT_AUTH_FAILED", 401},
        {"GIT_REMOTE_REJECTED", 422}, {"GIT_TRANSPORT_FAILED", 502},
};

static const char *reason_of(int status)
{
	for (size_t i = 0; i < COUNT_OF(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Error";
}

/* The path behind "/daytona/toolbox/ID"; NULL for other paths. */
static const char *toolbox_path(const char *path)
{
	const char *id = path + strlen(DAYTONA_TOOLBOX "/");

	if (strncmp(path, DAYTONA_TOOLBOX "/", strlen(DAYTONA_TOOLBOX "/")) != 0)
		return NULL;
	return strchr(id, '/');
}

static bool is_below(const char *path, const char *above)
{
	return strncmp(path, above, strlen(above)) == 0;
}

/* NULL: the error's own code. */
static const char *name_in_toolbox(const char *path, struct http_failure *failure)
{
	for (size_t i = 0; i < COUNT_OF(toolbox_names); i++) {
		if (failure->err->code != toolbox_names[i].code ||
		    !is_below(path, toolbox_names[i].below))
			continue;
		if (toolbox_names[i].status)
			failure->status = toolbox_names[i].status;
		return toolbox_names[i].name;
	}
	return NULL;
}

static void choose_status(const char *name, struct http_failure *failure)
{
	for (size_t i = 0; i < COUNT_OF(named); i++)
		if (strcmp(named[i].name, name) == 0)
			failure->status = named[i].status;
}

/* "not_found" -> "NOT_FOUND" */
static const char *upper_name(struct arena *a, const char *name)
{
	char *upper = arena_text(a, name);

	for (char *c = upper; *c; c++)
		*c = (char)toupper((unsigned char)*c);
	return upper;
}

bool daytona_write_failure(const struct request *rq, struct http_failure *failure, struct buf *out)
{
	const struct api_caller *caller = rq->caller;
	const char *chosen = caller ? caller->failure : NULL, *name = chosen,
	           *toolbox = toolbox_path(rq->path);

	if (!is_below(rq->path, "/daytona/"))
		return false;
	if (!chosen && toolbox && failure->err)
		name = name_in_toolbox(toolbox, failure);
	if (name)
		choose_status(name, failure);
	json_begin_object(out, NULL);
	json_add_whole(out, "statusCode", failure->status);
	json_add_text(out, "message", failure->message);
	json_add_text(out, "error", reason_of(failure->status));
	json_add_text(out, "code", name && name[0] ? name : upper_name(rq->arena, failure->code));
	json_add_text(out, "source",
	              toolbox && !(chosen && !chosen[0]) ? "DAYTONA_DAEMON" : "DAYTONA_API");
	if (failure->hint && failure->hint[0])
		json_add_text(out, "hint", failure->hint);
	json_add_text(out, "path", rq->path);
	json_add_time(out, "timestamp", clock_unix_ms());
	json_end_object(out);
	return true;
}
