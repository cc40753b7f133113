/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/check/check.h"
#include "cli/core/body.h"
#include "cli/core/local.h"
#include "cli/core/server.h"
#include "cli/files/transfer.h"
#include "json/json.h"
#include "json/write.h"

#define BODY_MAX (64u * 1024)
#define CREATE_MS 120000
#define RUN_MS 40000

/* The program is installed beside this one. */
static int find_program(struct cli *cli, const char **ret)
{
	char self[4096];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *path;

	if (size < 0)
		return FAIL_ERRNO(cli->err, "find this program's own file");
	self[size] = '\0';
	*strrchr(self, '/') = '\0';
	path = arena_format(cli->arena, "%s/" ESCAPE_PROGRAM, self);
	if (access(path, R_OK) < 0)
		return FAIL_ERRNO(cli->err, "read '%s'", path);
	*ret = path;
	return 0;
}

static int request_sandbox(struct cli *cli, const struct cage_options *options, bool internet,
                           const struct json_value **ret)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct server_call call = {.method = "POST", .path = INSTANCES, .timeout_ms = CREATE_MS};

	body_begin(&body);
	body_add_text(&body, "provider", options->provider->name);
	body_add_text(&body, "template", options->provider->template);
	body_add_text(&body, "image", options->provider->image);
	json_add_bool(&body, "internet", internet);
	if (options->is_small) {
		json_begin_object(&body, "resources");
		json_add_whole(&body, "memory_mb", CAGE_MEMORY_MB);
		json_add_whole(&body, "disk_mb", CAGE_DISK_MB);
		json_add_whole(&body, "pids", CAGE_PIDS);
		json_end_object(&body);
	}
	call.body = body_end(&body);
	return server_call(cli, &call, ret);
}

static int upload_program(struct cage *cage)
{
	struct cli *cli = cage->cli;
	const char *local;
	struct server_call place = {.method = "POST", .timeout_ms = RUN_MS};
	const struct json_value *answer = NULL;
	const char *folder;

	if (find_program(cli, &local) < 0)
		return -1;
	place.path = instance_path(cli->arena, cage->id, "/exec");
	place.body = "{\"cmd\":\"pwd\",\"user\":\"user\"}";
	if (server_call(cli, &place, &answer) < 0)
		return -1;
	folder = json_get_text(answer, "stdout", "");
	cage->program = arena_format(cli->arena, "%.*s/" ESCAPE_PROGRAM, (int)strcspn(folder, "\n"),
	                             folder);
	return transfer_send(
	        cli, "PUT",
	        escaped_path(cli->arena,
	                     instance_path(cli->arena, cage->id, "/files/content?mode=0755&path="),
	                     cage->program, ""),
	        local);
}

int cage_open(struct cli *cli, const struct cage_options *options, struct cage *ret)
{
	struct cage cage = {.cli = cli, .has_network = true};
	const struct json_value *answer = NULL;

	/* With a network there is more to attack. */
	if (request_sandbox(cli, options, true, &answer) < 0) {
		cage.has_network = false;
		if (request_sandbox(cli, options, false, &answer) < 0)
			return -1;
	}
	cage.id = arena_text(cli->arena, json_get_text(answer, "id", ""));
	if (upload_program(&cage) < 0) {
		cage_close(&cage);
		return FAIL_CONTEXT(cli->err, "upload '" ESCAPE_PROGRAM "'");
	}
	*ret = cage;
	return 0;
}

void cage_close(struct cage *cage)
{
	struct error kept = *cage->cli->err;
	struct server_call call = {.method = "DELETE", .timeout_ms = RUN_MS};

	if (!cage->id)
		return;
	call.path = instance_path(cage->cli->arena, cage->id, "");
	if (server_call(cage->cli, &call, NULL) < 0)
		(void)fprintf(stderr, "atoll: sandbox '%s' could not be removed: %s\n", cage->id,
		              cage->cli->err->text);
	*cage->cli->err = kept;
	cage->id = NULL;
}

int cage_run_program(struct cage *cage, const struct cage_run *run, const char **ret_text)
{
	AUTO(buf_done) struct buf body = BUF(BODY_MAX);
	struct cli *cli = cage->cli;
	struct server_call call = {.method = "POST", .timeout_ms = RUN_MS + 10000};
	const struct json_value *answer = NULL;

	body_begin(&body);
	body_add_text(&body, "cmd", cage->program);
	body_add_texts(&body, "args", run->args);
	body_add_text(&body, "user", run->user);
	json_add_whole(&body, "timeout_ms", RUN_MS);
	call.body = body_end(&body);
	call.path = instance_path(cli->arena, cage->id, "/exec");
	if (server_call(cli, &call, &answer) < 0)
		return -1;
	*ret_text = json_get_text(answer, "stdout", "");
	if (json_get_bool(answer, "timed_out", false))
		return FAIL(cli->err, ERROR_TIMEOUT, "the attempt did not end within %d s",
		            RUN_MS / 1000);
	if (json_get_whole(answer, "exit_code", -1) < 0)
		return FAIL(cli->err, ERROR_SYSTEM, "the attempt was ended by a signal");
	return (int)json_get_whole(answer, "exit_code", 0);
}
