/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sandbox/create.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "cli/core/body.h"
#include "cli/sandbox/network.h"
#include "cli/core/progress.h"
#include "cli/core/run_options.h"
#include "cli/core/server.h"
#include "json/write.h"

#define POLL_MS_MAX 250
#define QUIET_MS 500 /* shorter waits show no progress */

/* [{"volume":"NAME","path":"/PATH","read_only":true}] */
static int add_volumes(struct arena *a, struct buf *body, const char *const *volumes,
                       struct error *err)
{
	json_begin_list(body, "volumes");
	for (unsigned i = 0; volumes[i]; i++) {
		struct span rest = span_of(volumes[i]), name, path;

		(void)span_split(&rest, ':', &name);
		(void)span_split(&rest, ':', &path);
		if (name.size == 0 || (path.size > 0 && path.data[0] != '/') ||
		    (rest.size > 0 && !span_equals_text(rest, "ro") &&
		     !span_equals_text(rest, "rw"))) {
			error_set(err, ERROR_INVALID, 0, HERE, "'%s' is not a volume", volumes[i]);
			return FAIL_HINT(err, "--volume NAME[:/PATH[:ro]]");
		}
		json_begin_object(body, NULL);
		body_add_text(body, "volume", arena_copy(a, name));
		if (path.size > 0)
			body_add_text(body, "path", arena_copy(a, path));
		if (span_equals_text(rest, "ro"))
			json_add_bool(body, "read_only", true);
		json_end_object(body);
	}
	json_end_list(body);
	return 0;
}

int create_add(struct arena *a, const struct create_options *options, struct buf *body,
               struct error *err)
{
	const char *env;

	if (session_env_json(a, options->env, &env, err) < 0)
		return -1;
	body_add_text(body, "template", options->template);
	body_add_text(body, "image", options->image);
	body_add_text(body, "pull", options->pull);
	body_add_text(body, "snapshot", options->snapshot);
	body_add_text(body, "config", options->config);
	body_add_text(body, "workspace", options->workspace);
	body_add_text(body, "provider", options->provider);
	body_add_text(body, "isolation", options->isolation);
	if (options->env && options->env[0] && body_add_json(body, "env", env, err) < 0)
		return -1;
	resources_add(body, &options->resources);
	if (options->gpus > 0)
		json_add_whole(body, "gpus", options->gpus);
	if (options->no_internet)
		json_add_bool(body, "internet", false);
	if (egress_is_said(&options->egress)) {
		json_begin_object(body, "egress");
		if (egress_add(body, &options->egress, err) < 0)
			return -1;
		json_end_object(body);
	}
	if (options->idle_reap_ms > 0)
		json_add_whole(body, "idle_reap_ms", options->idle_reap_ms);
	if (options->persistent)
		json_add_bool(body, "persistent", true);
	if (options->volumes && options->volumes[0])
		return add_volumes(a, body, options->volumes, err);
	return 0;
}

int create_body(struct arena *a, const struct create_options *options, const char **ret,
                struct error *err)
{
	AUTO(buf_done) struct buf body = BUF(4u * 1024 * 1024);

	body_begin(&body);
	body_add_text(&body, "name", options->name);
	if (create_add(a, options, &body, err) < 0)
		return -1;
	*ret = arena_text(a, body_end(&body));
	return 0;
}

int create_options_parse(struct cli *cli, struct create_options *ret)
{
	*ret = (struct create_options){
	        .template = arguments_text(&cli->args, "template", NULL),
	        .image = arguments_text(&cli->args, "image", NULL),
	        .pull = arguments_text(&cli->args, "pull", NULL),
	        .snapshot = arguments_text(&cli->args, "snapshot", NULL),
	        .config = arguments_text(&cli->args, "config", NULL),
	        .workspace = arguments_text(&cli->args, "workspace", NULL),
	        .name = arguments_text(&cli->args, "name", NULL),
	        .provider = arguments_text(&cli->args, "provider", NULL),
	        .isolation = arguments_text(&cli->args, "isolation", NULL),
	        .no_internet = arguments_has(&cli->args, "no-internet"),
	        .persistent = arguments_has(&cli->args, "persistent"),
	        .volumes = arguments_list(cli, "volume"),
	        .egress = egress_options(cli),
	};
	if (ret->template && ret->image)
		return FAIL(cli->err, ERROR_INVALID, "give either --template or --image");
	if (ret->template && names_image(ret->template)) {
		ret->image = ret->template;
		ret->template = NULL;
	}
	if (ret->pull && !ret->image)
		return FAIL(cli->err, ERROR_INVALID, "--pull is of an image: give --image, too");
	if (arguments_whole(&cli->args, "gpus", 1, &ret->gpus, cli->err) < 0)
		return -1;
	return resources_parse(&cli->args, &ret->resources, cli->err);
}

/* Shows the build progress of the template, or else the sandbox's last event. */
static void tell_progress(struct cli *cli, struct progress_line *progress,
                          const struct json_value *sandbox)
{
	const char *name = json_get_text(sandbox, "template", "");
	const char *text = json_get_text(json_get(sandbox, "last_event"), "text", "creating");
	const struct json_value *template;
	const char *path = escaped_path(cli->arena, TEMPLATES "/", name, "");

	if (server_get(cli, path, &template) == 0 &&
	    strcmp(json_get_text(template, "state", ""), "building") == 0)
		text = arena_format(cli->arena,
		                    json_get_bool(template, "pulled", false)
		                            ? "Pulling image '%s': %s"
		                            : "Building template '%s': %s",
		                    json_get_bool(template, "pulled", false)
		                            ? json_get_text(template, "base_image", "")
		                            : name,
		                    json_get_text(template, "state_text", ""));
	progress_show(progress, cli->arena, text);
}

/* Returns 1 when the sandbox is usable, 0 if it is not yet. */
static int check_state(struct cli *cli, const struct json_value *sandbox)
{
	const char *state = json_get_text(sandbox, "state", "");
	const char *event = json_get_text(json_get(sandbox, "last_event"), "text", state);

	if (strcmp(state, "started") == 0)
		return 1;
	if (strcmp(state, "pending") == 0 || strcmp(state, "creating") == 0)
		return 0;
	return FAIL(cli->err, ERROR_UNAVAILABLE, "create the sandbox: %s", event);
}

static int wait_until_started(struct cli *cli, const struct json_value *sandbox, const char *id,
                              struct progress_line *progress)
{
	int64_t quiet_until = deadline_after(QUIET_MS);
	int result, pause_ms = 1;

	while ((result = check_state(cli, sandbox)) == 0) {
		if (session_was_interrupted()) {
			cli->interrupted = true;
			return -1;
		}
		if (deadline_poll_ms(quiet_until) == 0)
			tell_progress(cli, progress, sandbox);
		(void)poll(NULL, 0, pause_ms);
		pause_ms = pause_ms * 2 > POLL_MS_MAX ? POLL_MS_MAX : pause_ms * 2;
		if (server_get(cli, instance_path(cli->arena, id, ""), &sandbox) < 0)
			return -1;
	}
	return result < 0 ? -1 : 0;
}

/* Deletes the sandbox, because the server would otherwise finish the create. Always fails. */
static int cancel_create(struct cli *cli, const char *id)
{
	struct error *err = cli->err;

	if (delete_sandbox(cli, id) == 0)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "interrupted: the create is cancelled and sandbox '%s' deleted", id);
	error_context(err, "interrupted, but the sandbox was not deleted");
	return FAIL_HINT(err, "atoll rm %s", id);
}

int create_sandbox(struct cli *cli, const struct create_options *options, const char **ret_id)
{
	struct server_call call = {.method = "POST", .path = INSTANCES "?wait=false"};
	struct progress_line progress = {0};
	const struct json_value *sandbox;
	const char *id;
	int result;

	if (create_body(cli->arena, options, &call.body, cli->err) < 0 ||
	    server_call(cli, &call, &sandbox) < 0)
		return -1;
	*ret_id = id = json_get_text(sandbox, "id", NULL);
	if (!id)
		return FAIL(cli->err, ERROR_UNAVAILABLE, "the server's answer has no sandbox id");
	result = wait_until_started(cli, sandbox, id, &progress);
	progress_end(&progress);
	if (!cli->interrupted)
		return result;
	*ret_id = NULL;
	return cancel_create(cli, id);
}

int delete_sandbox(struct cli *cli, const char *id)
{
	struct server_call call = {.method = "DELETE", .path = instance_path(cli->arena, id, "")};

	if (server_call(cli, &call, NULL) < 0)
		return FAIL_CONTEXT(cli->err, "delete sandbox '%s'", id);
	return 0;
}
