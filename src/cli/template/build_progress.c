/* SPDX-License-Identifier: Apache-2.0 */
/* The request that makes a template is answered minutes later. Meanwhile a thread with its own
 * client asks for the progress. */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/error.h"
#include "cli/core/progress.h"
#include "cli/template/template.h"

#define LOOK_MS 500 /* shorter builds show no progress */
#define LOOK_TIMEOUT_MS 5000

struct builder {
	const struct http_client_options *server;
	const char *template;
	int stop_fd; /* readable once the call is answered */
	struct progress_line progress;
};

static void show_state(struct builder *b, struct cli *cli)
{
	const struct server_call call = {
	        .method = "GET",
	        .path = escaped_path(cli->arena, TEMPLATES "/", b->template, ""),
	        .timeout_ms = LOOK_TIMEOUT_MS,
	};
	const struct json_value *template;

	if (server_call(cli, &call, &template) == 0 &&
	    strcmp(json_get_text(template, "state", ""), "building") == 0)
		progress_show(&b->progress, cli->arena,
		              arena_format(cli->arena, "Building template '%s': %s", b->template,
		                           json_get_text(template, "state_text", "")));
	arena_reset(cli->arena);
}

static void *watch_build(void *argument)
{
	struct builder *b = argument;
	AUTO(arena_done) struct arena arena = {0};
	struct error ignored; /* failures only mean that no progress is shown */
	struct cli cli = {.arena = &arena, .server = b->server, .err = &ignored};
	struct pollfd stop = {.fd = b->stop_fd, .events = POLLIN};

	if (http_client_open(b->server, &cli.client, &ignored) < 0)
		return NULL;
	while (poll(&stop, 1, LOOK_MS) <= 0)
		show_state(b, &cli);
	http_client_close(cli.client);
	return NULL;
}

int template_call(struct cli *cli, const struct server_call *call, const char *template,
                  const struct json_value **ret)
{
	AUTO_CLOSE int stop_fd = eventfd(0, EFD_CLOEXEC);
	struct builder b = {.server = cli->server, .template = template, .stop_fd = stop_fd};
	pthread_t thread;
	bool is_watched = false;
	int result;

	if (stop_fd >= 0)
		is_watched = pthread_create(&thread, NULL, watch_build, &b) == 0;
	result = server_call(cli, call, ret);
	if (!is_watched)
		return result;
	(void)eventfd_write(stop_fd, 1);
	(void)pthread_join(thread, NULL);
	progress_end(&b.progress);
	return result;
}
