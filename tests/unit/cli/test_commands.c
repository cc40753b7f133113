/* SPDX-License-Identifier: Apache-2.0 */
/* Whole commands against a server that answers from a table. */
#include "json/json.h"
#include "loop/loop.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "http/server/http.h"
#include "unit/loopback.h"
#include "worker/worker.h"

struct canned {
	enum http_method method;
	const char *path; /* with its query */
	int status;
	const char *type, *body;
	unsigned times; /* answered so often, then the next row of the same request; 0 = always */
};

static const struct canned *canned;
static unsigned answered[16];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct buf requests; /* a line each, under the lock */

static const struct canned *find_row(const struct request *rq)
{
	char target[512];

	(void)snprintf(target, sizeof(target), "%s%s%.*s", rq->path, rq->raw_query.size ? "?" : "",
	               (int)rq->raw_query.size, rq->raw_query.data);
	buf_addf(&requests, "%d %s %.*s\n", rq->method, target, (int)rq->body.size, rq->body.data);
	for (unsigned i = 0; canned[i].path; i++) {
		if (canned[i].method != rq->method || strcmp(canned[i].path, target) != 0)
			continue;
		if (canned[i].times == 0 || answered[i] < canned[i].times) {
			answered[i]++;
			return &canned[i];
		}
	}
	return NULL;
}

static int answer(struct request *rq, const void *body, struct reply *reply, struct error *err)
{
	const struct canned *row;

	(void)body;
	(void)pthread_mutex_lock(&lock);
	row = find_row(rq);
	(void)pthread_mutex_unlock(&lock);
	if (!row)
		return FAIL(err, ERROR_NOT_FOUND, "no such thing");
	reply_status(reply, row->status);
	if (row->body)
		reply_text(reply, row->type ? row->type : "application/json", span_of(row->body));
	return 0;
}

static const struct route routes[] = {
        {HTTP_ANY, "/*rest", .flags = ROUTE_PUBLIC | ROUTE_RAW_BODY, .handle = answer, .tag = "x",
         .summary = "x"},
        {.path = NULL},
};

static struct loop *loop;
static struct worker_pool *workers;
static struct http_server *server;
static pthread_t thread;

static void *run_loop(void *argument)
{
	loop_run(argument);
	return NULL;
}

static int start_server(void **state)
{
	static const struct route *const tables[] = {routes, NULL};
	struct server_options options = {.routes = tables};
	struct error err;
	uint16_t port = 0;
	char url[64];

	(void)state;
	requests = BUF(1 << 20);
	if (loop_open(&loop, &err) < 0 ||
	    worker_pool_start(&(struct worker_options){2, 16}, &workers, &err) < 0)
		return -1;
	options.loop = loop;
	options.workers = workers;
	if (server_open(&options, &server, &err) < 0 ||
	    server_listen_fd(server, loopback_listen(&port), &err) < 0)
		return -1;
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	(void)setenv("ATOLL_API_URL", url, 1);
	(void)setenv("ATOLL_API_KEY", "atoll_test", 1);
	return pthread_create(&thread, NULL, run_loop, loop);
}

static int stop_server(void **state)
{
	(void)state;
	loop_stop(loop);
	(void)pthread_join(thread, NULL);
	worker_pool_stop(workers);
	server_close(server);
	loop_close(loop);
	buf_done(&requests);
	return 0;
}

/* Runs `atoll WORDS`; what it printed is in `out`. */
static int run_atoll(const struct canned *rows, struct buf *out, const char *words)
{
	char copy[512], *argv[32] = {(char[]){"atoll"}}, *rest = copy;
	char path[] = "/tmp/atoll-commands-XXXXXX";
	int argc = 1, status, saved = dup(STDOUT_FILENO), fd = mkstemp(path);
	struct error err;

	(void)snprintf(copy, sizeof(copy), "%s", words);
	while ((argv[argc] = strsep(&rest, " ")))
		argc++;
	(void)pthread_mutex_lock(&lock);
	canned = rows;
	memset(answered, 0, sizeof(answered));
	buf_reset(&requests);
	(void)pthread_mutex_unlock(&lock);
	(void)fflush(stdout);
	assert_true(fd >= 0 && unlink(path) == 0 && dup2(fd, STDOUT_FILENO) >= 0);
	status = cli_main(argc, argv);
	(void)fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	(void)close(saved);
	(void)lseek(fd, 0, SEEK_SET);
	buf_reset(out);
	assert_int_equal(fd_read_to_end(fd, out, &err), 0);
	(void)close(fd);
	return status;
}

static bool was_requested(const char *text)
{
	bool found;

	(void)pthread_mutex_lock(&lock);
	found = strstr(buf_text(&requests), text) != NULL;
	(void)pthread_mutex_unlock(&lock);
	return found;
}

#define I "/api/sandbox/instances"

TEST(ps_follows_every_page_and_shows_the_living)
{
	static const char first[] = "{\"items\":[{\"id\":\"a1\",\"name\":\"one\","
	                            "\"state\":\"started\"},{\"id\":\"a2\","
	                            "\"name\":\"two\",\"state\":\"stopped\"}],"
	                            "\"next_page\":\"p 2\"}";
	static const char last[] = "{\"items\":[{\"id\":\"a3\",\"name\":\"three\\u001b[2J\","
	                           "\"state\":\"pending\"}],\"next_page\":null}";
	static const struct canned rows[] = {
	        {HTTP_GET, I "?limit=1000", 200, .body = first},
	        {HTTP_GET, I "?limit=1000&page=p%202", 200, .body = last},
	        {HTTP_GET, I "?limit=1000&builds=true", 200, .body = first},
	        {HTTP_GET, I "?limit=1000&builds=true&page=p%202", 200, .body = last},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "ps"), 0);
	assert_non_null(strstr(buf_text(&out), "one"));
	assert_null(strstr(buf_text(&out), "two"));
	assert_non_null(strstr(buf_text(&out), "three?[2J"));
	assert_int_equal(run_atoll(rows, &out, "ps --all --names"), 0);
	assert_true(span_starts_with(buf_span(&out), "one\ntwo\nthree"));
	assert_int_equal(run_atoll(rows, &out, "--json ps -a"), 0);
	assert_int_equal(buf_text(&out)[0], '[');
}

TEST(usage_is_a_table_or_the_csv_of_the_server)
{
	static const struct canned rows[] = {
	        {HTTP_GET, "/v1/usage?limit=10000&group_by=run&from=2026-11-01", 200,
	         .body = "{\"group_by\":\"run\",\"items\":[{\"group\":\"run-7\",\"seconds\":"
	                 "61.5,\"usd\":0.25}],\"next_page\":null}"},
	        {HTTP_GET, "/v1/usage?limit=10000&format=csv", 200, "text/csv", "\"day\"\r\n"},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "usage --by run --from 2026-11-01"), 0);
	assert_non_null(strstr(buf_text(&out), "run-7"));
	assert_non_null(strstr(buf_text(&out), "1m 1s"));
	assert_non_null(strstr(buf_text(&out), "0.250000"));
	assert_int_equal(run_atoll(rows, &out, "usage --csv"), 0);
	assert_string_equal(buf_text(&out), "\"day\"\r\n");
	assert_int_equal(run_atoll(rows, &out, "usage --by nosuch"), 123);
}

TEST(budgets_are_listed_made_and_deleted)
{
	static const struct canned rows[] = {
	        {HTTP_GET, "/v1/budgets", 200,
	         .body = "{\"items\":[{\"id\":\"b1\",\"scope\":\"key\",\"spent_usd\":1.5,"
	                 "\"limit_usd\":2,\"level\":\"warned\"}]}"},
	        {HTTP_POST, "/v1/budgets", 201, .body = "{\"id\":\"b2\"}"},
	        {HTTP_DELETE, "/v1/budgets/b2", 204},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "budget ls"), 0);
	assert_non_null(strstr(buf_text(&out), "warned"));
	assert_int_equal(run_atoll(rows, &out, "budget create --limit 2 --key k1 --window day"), 0);
	assert_string_equal(buf_text(&out), "b2\n");
	assert_int_equal(run_atoll(rows, &out, "budget create --key k1"), 122);
	assert_int_equal(run_atoll(rows, &out, "budget create --limit 1 --key k --sandbox s"), 122);
	assert_int_equal(run_atoll(rows, &out, "budget rm b2"), 0);
}

TEST(a_list_of_several_pages_is_one_table_or_one_array)
{
	static const struct canned rows[] = {
	        {HTTP_GET, "/v1/projects?limit=1000", 200,
	         .body = "{\"items\":[{\"id\":\"p1\",\"name\":\"one\",\"sandboxes_max\":3},"
	                 "{\"id\":\"p2\"}],\"next_page\":\"b c\"}"},
	        {HTTP_GET, "/v1/projects?limit=1000&page=b%20c", 200,
	         .body = "{\"items\":[{\"id\":\"p3\",\"closing\":true}],\"next_page\":null}"},
	        {HTTP_GET, "/v1/leases?limit=1000&prefix=", 200,
	         .body = "{\"items\":[],\"next_page\":null}"},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *array;
	struct error err;

	assert_int_equal(run_atoll(rows, &out, "project ls"), 0);
	assert_non_null(strstr(buf_text(&out), "p1  one   3              open\n"));
	assert_non_null(strstr(buf_text(&out), "p3  -     -              being deleted\n"));
	assert_int_equal(run_atoll(rows, &out, "project ls --json"), 0);
	assert_int_equal(json_load(&arena, buf_span(&out), &array, &err), 0);
	assert_int_equal(json_count(array), 3);
	assert_string_equal(json_text(json_get(json_item_at(array, 2), "id"), ""), "p3");
	assert_int_equal(run_atoll(rows, &out, "lease ls --json"), 0);
	assert_string_equal(buf_text(&out), "[]\n");
	/* A page that does not come: no half of an array. */
	assert_int_equal(run_atoll((const struct canned[]){rows[0], {.path = NULL}}, &out,
	                           "project ls --json"),
	                 123);
	assert_string_equal(buf_text(&out), "");
}

TEST(rm_goes_on_after_a_failure_and_tells_it)
{
	static const struct canned rows[] = {
	        {HTTP_DELETE, I "/a", 204},
	        {HTTP_DELETE, I "/c", 204},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "rm a b c"), 123);
	assert_string_equal(buf_text(&out), "a\nc\n");
	assert_int_equal(run_atoll(rows, &out, "rm --force a b c"), 0);
	assert_int_equal(run_atoll(rows, &out, "rm --all a"), 122);
}

TEST(exec_passes_output_and_status_on)
{
	static const struct canned rows[] = {
	        {HTTP_POST, I "/box/exec?stream=ndjson", 200, "application/x-ndjson",
	         "{\"event\":\"started\",\"process\":4,\"since\":\"0.0\"}\n"
	         "{\"event\":\"stdout\",\"data\":\"hello\\n\",\"since\":\"6.0\"}\n"
	         "{\"event\":\"exit\",\"process\":4,\"exit_code\":7,\"since\":\"6.0\"}\n"},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "exec -u root box -- ls -l"), 7);
	assert_string_equal(buf_text(&out), "hello\n");
	assert_true(was_requested("\"cmd\":\"ls\",\"args\":[\"-l\"],\"user\":\"root\""));
}

TEST(a_stream_that_breaks_is_resumed_from_its_last_byte)
{
	static const struct canned rows[] = {
	        {HTTP_POST, I "/box/exec?stream=ndjson", 200, "application/x-ndjson",
	         "{\"event\":\"started\",\"process\":4,\"since\":\"0.0\"}\n"
	         "{\"event\":\"stdout\",\"data\":\"one \",\"since\":\"4.0\"}\n{\"event\":\"std"},
	        {HTTP_GET, I "/box/processes/4/stream?stream=ndjson&since=4.0", 200,
	         "application/x-ndjson",
	         "{\"event\":\"started\",\"process\":4,\"since\":\"4.0\"}\n"
	         "{\"event\":\"stdout\",\"data\":\"two\",\"since\":\"7.0\"}\n"
	         "{\"event\":\"exit\",\"exit_code\":0,\"since\":\"7.0\"}\n"},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "exec box -- x"), 0);
	assert_string_equal(buf_text(&out), "one two");
}

TEST(run_waits_for_its_sandbox_and_deletes_it)
{
	static const struct canned rows[] = {
	        {HTTP_POST, I "?wait=false", 202, .body = "{\"id\":\"n1\",\"state\":\"pending\"}"},
	        {HTTP_GET, I "/n1", 200, .body = "{\"id\":\"n1\",\"state\":\"creating\"}",
	         .times = 2},
	        {HTTP_GET, I "/n1", 200, .body = "{\"id\":\"n1\",\"state\":\"started\"}"},
	        {HTTP_POST, I "/n1/exec?stream=ndjson", 200, "application/x-ndjson",
	         "{\"event\":\"started\",\"process\":1}\n{\"event\":\"exit\",\"exit_code\":3}\n"},
	        {HTTP_DELETE, I "/n1", 204},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "run -t host --memory 256 -e A=1 -- x"), 3);
	assert_true(was_requested("\"template\":\"host\",\"env\":{\"A\":\"1\"}"));
	assert_true(was_requested("\"memory_mb\":256"));
	assert_true(was_requested("3 " I "/n1") || was_requested("5 " I "/n1"));
	assert_int_equal(run_atoll(rows, &out, "run --keep -- x"), 3);
}

TEST(run_deletes_a_sandbox_that_did_not_start)
{
	static const struct canned rows[] = {
	        {HTTP_POST, I "?wait=false", 202,
	         .body = "{\"id\":\"n2\",\"state\":\"failed\",\"last_event\":{\"text\":\"no "
	                 "room\"}}"},
	        {HTTP_DELETE, I "/n2", 204},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "run -- x"), 120);
	assert_true(was_requested(I "/n2"));
}

#define T "/api/sandbox/templates"

TEST(a_template_is_made_from_another_one_with_a_recipe)
{
	static const struct canned rows[] = {
	        {HTTP_GET, T "/host", 200,
	         .body = "{\"name\":\"host\",\"resources\":{\"cpu\":1,\"memory_mb\":64}}"},
	        {HTTP_POST, T, 201, .body = "{\"name\":\"web\",\"state\":\"ready\"}"},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out,
	                           "template create web --from host -p 80 --cpu 2 -e "
	                           "A=1 -- /bin/server --now"),
	                 0);
	assert_string_equal(buf_text(&out), "web is ready\n");
	assert_true(was_requested(
	        "{\"name\":\"web\",\"from\":\"host\",\"entrypoint\":[\"/bin/server\",\"--now\"],"
	        "\"env\":{\"A\":\"1\"},\"ports\":[80],"
	        "\"resources\":{\"cpu\":2,\"memory_mb\":64,\"disk_mb\":0,\"pids\":0}}"));
	assert_int_equal(run_atoll(rows, &out, "--json template create web --image debian"), 0);
	assert_non_null(strstr(buf_text(&out), "\"ready\""));
	assert_true(was_requested("{\"name\":\"web\",\"image\":\"debian\"}"));
}

TEST(a_template_is_changed_by_what_is_given)
{
	static const struct canned rows[] = {
	        {HTTP_PATCH, T "/web", 200, .body = "{\"name\":\"web\"}"},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "template set web --user root --clear env"), 0);
	assert_string_equal(buf_text(&out), "web is changed\n");
	assert_true(was_requested("{\"user\":\"root\",\"env\":{}}"));
	assert_int_equal(run_atoll(rows, &out, "template set other --user root"), 123);
	/* Partial limits need the template, which is not there. */
	assert_int_equal(run_atoll(rows, &out, "template set web --cpu 1"), 123);
}

TEST(a_wrong_recipe_asks_no_server)
{
	static const struct canned rows[] = {{.path = NULL}};
	static const char *const lines[] = {
	        "template create web",      "template create web --from a --image b",
	        "template create --from a", "template create web --from a --port 0",
	        "template set web",         "template set web --clear name",
	        "template set --user a"};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	for (unsigned i = 0; i < COUNT_OF(lines); i++) {
		assert_int_equal(run_atoll(rows, &out, lines[i]), 122);
		assert_false(was_requested("/"));
	}
}

TEST(a_template_that_is_refused_prints_nothing)
{
	static const struct canned rows[] = {
	        {HTTP_POST, T, 422,
	         .body = "{\"error\":{\"code\":\"unsupported\","
	                 "\"message\":\"isolation: no\"}}"},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_not_equal(
	        run_atoll(rows, &out, "template create web --from host --isolation microvm"), 0);
	assert_string_equal(buf_text(&out), "");
}

#define P "/v1/projects"

TEST(projects_and_members_are_administered)
{
	static const struct canned rows[] = {
	        {HTTP_GET, P "?limit=1000", 200,
	         .body = "{\"items\":[{\"id\":\"p1\",\"name\":\"one\",\"sandboxes_max\":5}],"
	                 "\"next_page\":\"o e\"}"},
	        {HTTP_GET, P "?limit=1000&page=o%20e", 200,
	         .body = "{\"items\":[{\"id\":\"p2\",\"name\":\"two\",\"closing\":true}]}"},
	        {HTTP_POST, P, 201, .body = "{\"id\":\"p3\",\"name\":\"three\"}"},
	        {HTTP_PATCH, P "/p3", 200, .body = "{\"id\":\"p3\"}"},
	        {HTTP_DELETE, P "/p3?force=true", 204},
	        {HTTP_GET, P "/me/members", 200,
	         .body = "{\"items\":[{\"user\":\"ann@example.com\",\"role\":\"admin\"}]}"},
	        {HTTP_POST, P "/p3/members", 201, .body = "{\"user\":\"bob\"}"},
	        {HTTP_PATCH, P "/me/members/bob@example.com", 200, .body = "{}"},
	        {HTTP_DELETE, P "/me/members/bob", 204},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "project ls"), 0);
	assert_non_null(strstr(buf_text(&out), "one"));
	assert_non_null(strstr(buf_text(&out), "being deleted"));
	assert_int_equal(
	        run_atoll(rows, &out, "project create --owner ann --sandboxes-max 7 three"), 0);
	assert_string_equal(buf_text(&out), "p3\n");
	assert_true(was_requested("{\"name\":\"three\",\"owner\":\"ann\",\"sandboxes_max\":7}"));
	assert_int_equal(run_atoll(rows, &out, "project set p3 --name drei"), 0);
	assert_true(was_requested("{\"name\":\"drei\"}"));
	assert_int_equal(run_atoll(rows, &out, "project set p3"), 122);
	assert_int_equal(run_atoll(rows, &out, "project rm p3"), 123);
	assert_int_equal(run_atoll(rows, &out, "project rm --force p3"), 0);
	assert_int_equal(run_atoll(rows, &out, "member ls"), 0);
	assert_non_null(strstr(buf_text(&out), "ann@example.com"));
	assert_int_equal(run_atoll(rows, &out, "member add --project p3 --role viewer bob"), 0);
	assert_true(was_requested("{\"user\":\"bob\",\"role\":\"viewer\"}"));
	assert_int_equal(run_atoll(rows, &out, "member add bob"), 122);
	assert_int_equal(run_atoll(rows, &out, "member set --role admin bob@example.com"), 0);
	assert_true(was_requested("{\"role\":\"admin\"}"));
	assert_int_equal(run_atoll(rows, &out, "member rm bob"), 0);
}

TEST(keys_are_made_for_members_and_rotated)
{
	static const struct canned rows[] = {
	        {HTTP_POST, "/api/sandbox/keys", 201, .body = "{\"key\":\"atoll_x\"}"},
	        {HTTP_POST, "/api/sandbox/keys/k1/rotate", 200, .body = "{\"key\":\"atoll_y\"}"},
	        {HTTP_PUT, "/api/sandbox/settings", 200, .body = "{\"idle_reap_seconds\":60}"},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out,
	                           "key create --member ann --scope sandbox:read --expires 1d ci"),
	                 0);
	assert_string_equal(buf_text(&out), "atoll_x\n");
	assert_true(was_requested("{\"name\":\"ci\",\"scopes\":[\"sandbox:read\"],"
	                          "\"member\":\"ann\",\"expires_in_ms\":86400000}"));
	assert_int_equal(run_atoll(rows, &out, "key rotate --grace 2h k1"), 0);
	assert_string_equal(buf_text(&out), "atoll_y\n");
	assert_true(was_requested("{\"grace_ms\":7200000}"));
	assert_int_equal(run_atoll(rows, &out, "settings set --idle-reap 1m --terminal-ttl 0s"), 0);
	assert_true(was_requested("{\"idle_reap_seconds\":60,\"terminal_ttl_seconds\":0}"));
	assert_int_equal(run_atoll(rows, &out, "settings set --record-terminals on"), 0);
	assert_true(was_requested("{\"record_terminals\":true}"));
	assert_int_equal(run_atoll(rows, &out, "settings set"), 122);
	assert_int_equal(run_atoll(rows, &out, "settings set --idle-reap 5ms"), 122);
}

TEST(plain_commands_send_members_of_the_operations_types)
{
	static const struct canned rows[] = {
	        {HTTP_PATCH, "/v1/webhooks/w1", 200, .body = "{}"},
	        {HTTP_POST, I "/box/artifacts", 201, .body = "{\"id\":\"a1\"}"},
	        {HTTP_POST, "/v1/leases/acquire", 200, .body = "{\"sandbox_id\":\"s1\"}"},
	        {HTTP_GET, "/v1/jobs/r1/logs?conversation=c&tail=65536", 200,
	         .body = "{\"stdout\":\"out\"}"},
	        {HTTP_GET, I "/box/windows/w/screen?form=ansi", 200, .body = "{\"text\":\"$ \"}"},
	        {HTTP_PATCH, "/api/sandbox/volumes/v", 200, .body = "{}"},
	        {HTTP_DELETE, "/api/sandbox/snapshots/s1", 204},
	        {HTTP_DELETE, "/api/sandbox/snapshots/s2", 204},
	        {.path = NULL},
	};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "webhook disable w1"), 0);
	assert_true(was_requested("{\"enabled\":false}"));
	assert_int_equal(run_atoll(rows, &out, "artifact keep --for 1500ms box /f"), 0);
	assert_true(was_requested("{\"path\":\"/f\",\"keep_seconds\":2}"));
	assert_int_equal(run_atoll(rows, &out, "lease acquire --no-internet --fresh k"), 0);
	assert_true(was_requested("{\"key\":\"k\",\"continue\":false,\"resources\":{\"cpu\":0,"
	                          "\"memory_mb\":0,\"disk_mb\":0,\"pids\":0},\"internet\":false}"));
	assert_string_equal(buf_text(&out), "s1\n");
	assert_int_equal(run_atoll(rows, &out, "job logs --conversation c r1"), 0);
	assert_string_equal(buf_text(&out), "out");
	assert_int_equal(run_atoll(rows, &out, "job logs --tail 0 r1"), 122);
	assert_int_equal(run_atoll(rows, &out, "terminal screen --ansi box w"), 0);
	assert_string_equal(buf_text(&out), "$ ");
	assert_int_equal(run_atoll(rows, &out, "volume grow --size 2g v"), 0);
	assert_true(was_requested("{\"size_mb\":2048}"));
	assert_int_equal(run_atoll(rows, &out, "--json snapshot rm s1 s2"), 0);
	assert_string_equal(buf_text(&out), "{\"removed\":2}\n");
}

TEST(a_plain_command_without_a_needed_member_asks_no_server)
{
	static const struct canned rows[] = {{.path = NULL}};
	AUTO(buf_done) struct buf out = BUF(1 << 20);

	assert_int_equal(run_atoll(rows, &out, "volume grow v"), 122);
	assert_int_equal(run_atoll(rows, &out, "member add ann"), 122);
	assert_int_equal(run_atoll(rows, &out, "project set p1"), 122);
	assert_int_equal(run_atoll(rows, &out, "webhook retry w1"), 122);
	assert_int_equal(run_atoll(rows, &out, "budget rm b1 b2"), 122);
	assert_true(was_requested("") && !was_requested("/"));
}

TEST(an_unreachable_server_is_unavailable)
{
	static const struct canned rows[] = {{.path = NULL}};
	AUTO(buf_done) struct buf out = BUF(1 << 20);
	const char *url = getenv("ATOLL_API_URL");
	char saved[64];

	(void)snprintf(saved, sizeof(saved), "%s", url);
	assert_int_equal(setenv("ATOLL_API_URL", "unix:/nonexistent/api.sock", 1), 0);
	assert_int_equal(run_atoll(rows, &out, "ps"), 120);
	assert_int_equal(setenv("ATOLL_API_URL", saved, 1), 0);
	assert_int_equal(run_atoll(rows, &out, "inspect nothing"), 123);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
	        CASE(ps_follows_every_page_and_shows_the_living),
	        CASE(usage_is_a_table_or_the_csv_of_the_server),
	        CASE(budgets_are_listed_made_and_deleted),
	        CASE(a_list_of_several_pages_is_one_table_or_one_array),
	        CASE(rm_goes_on_after_a_failure_and_tells_it),
	        CASE(exec_passes_output_and_status_on),
	        CASE(a_stream_that_breaks_is_resumed_from_its_last_byte),
	        CASE(run_waits_for_its_sandbox_and_deletes_it),
	        CASE(run_deletes_a_sandbox_that_did_not_start),
	        CASE(a_template_is_made_from_another_one_with_a_recipe),
	        CASE(a_template_is_changed_by_what_is_given),
	        CASE(a_wrong_recipe_asks_no_server),
	        CASE(a_template_that_is_refused_prints_nothing),
	        CASE(projects_and_members_are_administered),
	        CASE(keys_are_made_for_members_and_rotated),
	        CASE(plain_commands_send_members_of_the_operations_types),
	        CASE(a_plain_command_without_a_needed_member_asks_no_server),
	        CASE(an_unreachable_server_is_unavailable),
	};

	return cmocka_run_group_tests(cases, start_server, stop_server);
}
