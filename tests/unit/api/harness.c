/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "account/account.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/id.h"
#include "config/config.h"
#include "edge/api.h"
#include "edge/hooks.h"
#include "fleet/server/fleet.h"
#include "harness.h"
#include "loop/loop.h"
#include "store/database.h"
#include "store/keys.h"
#include "store/projects.h"
#include "unit.h"
#include "unit/loopback.h"
#include "worker/worker.h"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		struct error err = {.code = ERROR_NONE};                                           \
		if ((call) < 0) {                                                                  \
			fprintf(stderr, "%s: %s\n", #call, err.text);                              \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
#define CHECKED(function, ...) CHECK(function(__VA_ARGS__, &err))

void harness_key(struct harness *h, const char *project_id, unsigned scopes, char ret[64])
{
	struct id id = id_new();
	struct account_key key;
	struct key_record record;

	account_key_generate(&key);
	record = (struct key_record){
	        .id = id.text,
	        .project_id = project_id,
	        .name = "test",
	        .prefix = key.prefix,
	        .scopes = scopes,
	        .created_at = 1,
	};
	memcpy(record.hash, key.hash, sizeof(record.hash));
	CHECKED(store_key_insert, h->store, &record);
	(void)snprintf(ret, 64, "%s", key.text);
}

static void open_store(struct harness *h)
{
	struct project_record projects[] = {{.id = "default", .name = "default", .created_at = 1},
	                                    {.id = "other", .name = "other", .created_at = 1}};

	CHECKED(store_open, "sqlite::memory:", &h->store);
	for (unsigned i = 0; i < COUNT_OF(projects); i++) {
		struct error err;

		if (store_project_insert(h->store, &projects[i], &err) < 0 &&
		    err.code != ERROR_CONFLICT)
			abort();
	}
	harness_key(h, "default", SCOPE_ALL, h->admin);
}

static void *run_loop(void *context)
{
	loop_run(context);
	return NULL;
}

static void open_server(struct harness *h)
{
	struct server_options options = {
	        .loop = h->loop,
	        .workers = h->workers,
	        .routes = api_routes,
	        .aliases = api_aliases,
	        .context = &h->api,
	        .authorize = api_authorize,
	        .write_failure = api_write_failure,
	        .on_done = api_on_done,
	        .on_handle = api_on_handle,
	        .on_answer = api_on_answer,
	        .fast_deadline_ms = h->options.deadline_ms,
	        .slow_deadline_ms = h->options.deadline_ms,
	};

	h->api = (struct api){
	        .config = &h->config,
	        .store = h->store,
	        .fleet = h->fleet,
	        .provider = h->provider,
	        .workers = h->workers,
	        .loop = h->loop,
	};
	CHECK(api_open(&h->api, &err));
	CHECKED(server_open, &options, &h->server);
	h->api.server = h->server;
	CHECKED(server_listen_fd, h->server, loopback_listen(&h->port));
}

void harness_open(struct harness *h)
{
	harness_open_with(h, &(struct harness_options){0});
}

void harness_open_with(struct harness *h, const struct harness_options *wanted)
{
	const struct worker_options workers = {
	        .threads = wanted->threads ? wanted->threads : 4,
	        .queue_max = wanted->threads ? 1024 : 256,
	        .agent_threads = wanted->agent_threads,
	        .long_threads = wanted->agent_threads,
	        .agent_share_max = {[WORKER_SANDBOX] = wanted->agent_calls_per_sandbox_max},
	};
	const char *flags[] = {"provider=null", "data=/tmp", "default_template=host", NULL};
	const struct config_source source = {.flags = flags};
	struct fleet_options options;
	char spool[80];

	*h = (struct harness){.options = *wanted};
	unit_folder(h->data, sizeof(h->data), "api-test");
	(void)snprintf(spool, sizeof(spool), "%s/tmp", h->data);
	if (mkdir(spool, 0700) < 0)
		abort();
	CHECKED(config_load, &h->config_texts, &source, &h->config);
	h->config.data_dir = h->data;
	h->config.provider = "null";
	h->config.default_template = "host";
	h->config.peer_url = h->config.peer_ca = "";
	h->config.region = "local";
	h->config.preview_ports = "3000";
	h->config.preview_sharing = true;
	h->config.preview_domain = h->config.preview_origin = h->config.preview_secret = "";
	h->config.requests_per_key_max =
	        wanted->requests_per_key_max ? wanted->requests_per_key_max : 8;
	if (wanted->deadline_ms)
		h->config.agent_timeout_ms = wanted->deadline_ms;
	open_store(h);
	h->provider = fake_provider_open();
	CHECKED(worker_pool_start, &workers, &h->workers);
	options = (struct fleet_options){
	        .config = &h->config,
	        .store = h->store,
	        .provider = h->provider,
	        .workers = h->workers,
	};
	CHECKED(fleet_open, &options, &h->fleet);
	CHECK(fleet_recover(h->fleet, &err));
	CHECK(loop_open(&h->loop, &err));
	open_server(h);
	if (pthread_create(&h->thread, NULL, run_loop, h->loop) != 0)
		abort();
}

void harness_close(struct harness *h)
{
	char spool[80];

	loop_stop(h->loop);
	(void)pthread_join(h->thread, NULL);
	server_close(h->server);
	worker_pool_stop(h->workers);
	api_stop_background(&h->api);
	fleet_close(h->fleet);
	fake_provider_close(h->provider);
	api_close(&h->api);
	store_close(h->store);
	loop_close(h->loop);
	arena_done(&h->config_texts);
	(void)snprintf(spool, sizeof(spool), "%s/tmp", h->data);
	(void)rmdir(spool);
	(void)rmdir(h->data);
}

static int dial(uint16_t port)
{
	struct sockaddr_in address = {
	        .sin_family = AF_INET,
	        .sin_port = htons(port),
	        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		abort();
	return fd;
}

struct answer harness_call(const struct harness *h, const struct call *call)
{
	AUTO_CLOSE int fd = dial(h->port);
	AUTO(buf_done) struct buf request = BUF(64 * 1024 * 1024);
	struct answer answer = {.text = BUF(256 * 1024 * 1024)};
	struct error err;
	const char *end;

	buf_addf(&request, "%s %s HTTP/1.0\r\n%s", call->method, call->path,
	         call->names_no_host ? "" : "Host: test\r\n");
	if (call->key)
		buf_addf(&request, "Authorization: Bearer %s\r\n", call->key);
	if (call->body.data)
		buf_addf(&request, "Content-Type: %s\r\nContent-Length: %zu\r\n",
		         call->type ? call->type : "application/json", call->body.size);
	buf_addf(&request, "%s\r\n", call->headers ? call->headers : "");
	buf_add_span(&request, call->body);
	/* A server that refuses early may close before it has read all. */
	(void)!fd_write_all(fd, request.data, request.size, &err);
	(void)!fd_read_to_end(fd, &answer.text, &err);
	if (answer.text.size > 12)
		answer.status = (int)strtol(answer.text.data + 9, NULL, 10);
	end = answer.text.size ? memmem(answer.text.data, answer.text.size, "\r\n\r\n", 4) : NULL;
	answer.body = end ? end + 4 : "";
	return answer;
}

void answer_done(struct answer *a)
{
	buf_done(&a->text);
}
