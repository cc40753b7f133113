/* SPDX-License-Identifier: Apache-2.0 */
/* What every provider promises (provider/provider.h), asked of each that this machine can run. A
 * check that needs an ability is left out for a provider that does not claim it. */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "contract.h"
#include "provider/compute.h"
#include "provider/compute_run.h"
#include "provider/dial.h"
#include "provider/entries.h"
#include "provider/kind_options.h"
#include "provider/provider.h"
#include "provider/shared.h"
#include "provider/snapshots.h"
#include "provider/templates.h"
#include "provider/volume.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

#define CHECKS_MAX 64
#define PROVIDER_KINDS_MAX 16
#define IMAGE_MS 120000

static struct broker_programs programs;

/* A daemon that the caller has started; host NULL: there is none. */
static struct docker_options docker;

/* A kernel and a small root filesystem that the caller has prepared; kernel NULL: there is none. */
static struct microvm_options microvm;
static const char *microvm_root;

/* Another server of Atoll, which serves the APIs of these kinds; url NULL: there is none. */
static struct remote_options e2b, daytona;

/* A cluster that the caller has started; config NULL: there is none. */
static struct kubernetes_options cluster;
static struct provider_shared store_key; /* of this run: a provider is opened again with it */
static struct remote_options kubernetes;
/* A service that stands for AWS Lambda; endpoint NULL: there is none. */
static struct lambda_options functions;

static const struct remote_options *remote_options_of(const struct provider_ops *ops)
{
	if (strcmp(ops->name, "kubernetes") == 0)
		return &kubernetes;
	return strcmp(ops->name, "daytona") == 0 ? &daytona : &e2b;
}

static bool is_remote(const struct provider_ops *ops)
{
	return strcmp(ops->isolation, "remote") == 0 || strcmp(ops->name, "kubernetes") == 0;
}

static bool is_kubernetes(const struct provider_ops *ops)
{
	return strcmp(ops->name, "kubernetes") == 0;
}

static bool is_lambda(const struct provider_ops *ops)
{
	return strcmp(ops->name, "lambda") == 0;
}

static bool is_microvm(const struct provider_ops *ops)
{
	return strcmp(ops->name, "microvm") == 0;
}

static bool is_docker(const struct provider_ops *ops)
{
	return strcmp(ops->name, "docker") == 0;
}

static bool needs_broker(const struct provider_ops *ops)
{
	return strcmp(ops->name, "null") != 0 && !is_docker(ops) && !is_remote(ops);
}

/* A start of microvm boots an emulated machine, which took 23 s beside a load of 20. A pod of a
 * node on this machine took 20 s to start beside a load of 11. */
static int64_t patience_ms;

int64_t contract_soon(void)
{
	return deadline_after(patience_ms);
}

void contract_create(struct fixture *f)
{
	struct provider_created created;

	CHECK_OK(f->ops->create(f->p, &f->spec, contract_soon(), &created, &err));
}

static int run(struct fixture *f, const char **args, const char *input, int64_t deadline,
               struct compute_result *ret, struct error *err)
{
	struct agent_exec exec = {
	        .args = args, .stdin_bytes = span_of(input), .env = (const char *[]){NULL}};

	struct compute_run options = {&exec, 64 * 1024, deadline};

	return compute_run(f->p, f->id.text, &f->arena, &options, ret, err);
}

/* Standard output of a shell line. */
const char *contract_shell(struct fixture *f, const char *line)
{
	const char *args[] = {"/bin/sh", "-c", line, NULL};
	struct compute_result result = {0};

	CHECK_OK(run(f, args, "", contract_soon(), &result, &err));
	return result.out[0].data;
}

#define OWNER "aaaaaaaaaaaaaaaaaaaa"
#define EPOCH INT64_C(4294967301)

/* The list says whose a running sandbox is, and of which claim: the orphan sweep goes by that. */
static size_t count_listed(struct fixture *f, bool *ret_running)
{
	struct provider_list list = {0};
	size_t count = 0;

	CHECK_OK(f->ops->list(f->p, &f->arena, &list, &err));
	for (size_t i = 0; i < list.count; i++)
		if (!strcmp(list.entries[i].id, f->id.text)) {
			count++;
			*ret_running = list.entries[i].running;
			if (*ret_running) {
				assert_string_equal(list.entries[i].owner, OWNER);
				assert_int_equal(list.entries[i].lease_epoch, EPOCH);
			}
		}
	return count;
}

/* ---- life ---- */

static void a_sandbox_is_listed_from_create_to_destroy(struct fixture *f)
{
	bool running = false;

	assert_int_equal(count_listed(f, &running), 0);
	contract_create(f);
	assert_int_equal(count_listed(f, &running), 1);
	assert_true(running);
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
	assert_int_equal(count_listed(f, &running), 0);
}

static void an_id_that_exists_is_refused(struct fixture *f)
{
	struct provider_created created;
	struct error err = {0};

	contract_create(f);
	assert_int_equal(f->ops->create(f->p, &f->spec, contract_soon(), &created, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
}

static void destroying_what_is_not_there_is_fine(struct fixture *f)
{
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
	contract_create(f);
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
}

static void a_missing_sandbox_takes_no_connection(struct fixture *f)
{
	struct error err = {0};
	int fd = -1;

	assert_int_equal(f->ops->compute->connect(f->p, f->id.text, contract_soon(), &fd, &err),
	                 -1);
	/* Who finds agents by their sockets cannot tell one that has just ended from none. */
	assert_true(err.code == ERROR_NOT_FOUND || err.code == ERROR_UNAVAILABLE);
}

static void destroy_ends_the_connections(struct fixture *f)
{
	struct pollfd p = {.events = POLLIN};

	contract_create(f);
	CHECK_OK(f->ops->compute->connect(f->p, f->id.text, contract_soon(), &p.fd, &err));
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
	assert_int_equal(poll(&p, 1, 10000), 1);
	close(p.fd);
}

static void a_stopped_sandbox_starts_again(struct fixture *f)
{
	struct provider_created created;
	struct compute_result result;
	struct error refused = {0};
	bool running = true;

	contract_create(f);
	CHECK_OK(f->ops->stop(f->p, f->id.text, 1000, contract_soon(), &err));
	CHECK_OK(f->ops->stop(f->p, f->id.text, 1000, contract_soon(), &err));
	assert_int_equal(count_listed(f, &running), 1);
	assert_false(running);
	assert_int_equal(
	        run(f, (const char *[]){"true", NULL}, "", contract_soon(), &result, &refused), -1);
	CHECK_OK(f->ops->start(f->p, &f->spec, contract_soon(), &created, &err));
	CHECK_OK(f->ops->start(f->p, &f->spec, contract_soon(), &created, &err));
	CHECK_OK(run(f, (const char *[]){"true", NULL}, "", contract_soon(), &result, &err));
	assert_int_equal(result.process.exit_code, 0);
}

static bool is_listed_as_paused(struct fixture *f)
{
	struct provider_list list = {0};

	CHECK_OK(f->ops->list(f->p, &f->arena, &list, &err));
	for (size_t i = 0; i < list.count; i++)
		if (!strcmp(list.entries[i].id, f->id.text))
			return list.entries[i].running && list.entries[i].paused;
	return false;
}

static void a_paused_sandbox_goes_on_when_it_is_resumed(struct fixture *f)
{
	struct compute_result result;

	contract_create(f);
	CHECK_OK(f->ops->pause(f->p, f->id.text, contract_soon(), &err));
	CHECK_OK(f->ops->pause(f->p, f->id.text, contract_soon(), &err));
	assert_true(is_listed_as_paused(f));
	CHECK_OK(f->ops->resume(f->p, f->id.text, contract_soon(), &err));
	CHECK_OK(f->ops->resume(f->p, f->id.text, contract_soon(), &err));
	assert_false(is_listed_as_paused(f));
	CHECK_OK(run(f, (const char *[]){"true", NULL}, "", contract_soon(), &result, &err));
	assert_int_equal(result.process.exit_code, 0);
}

static void a_paused_sandbox_is_stopped_and_destroyed_like_any(struct fixture *f)
{
	struct provider_created created;
	bool running = true;

	contract_create(f);
	CHECK_OK(f->ops->pause(f->p, f->id.text, contract_soon(), &err));
	CHECK_OK(f->ops->stop(f->p, f->id.text, 1000, contract_soon(), &err));
	assert_int_equal(count_listed(f, &running), 1);
	assert_false(running);
	CHECK_OK(f->ops->start(f->p, &f->spec, contract_soon(), &created, &err));
	assert_false(is_listed_as_paused(f));
	CHECK_OK(f->ops->pause(f->p, f->id.text, contract_soon(), &err));
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
	assert_int_equal(count_listed(f, &running), 0);
}

static void what_is_not_there_or_stopped_is_not_paused(struct fixture *f)
{
	struct error refused = {0};

	assert_int_equal(f->ops->pause(f->p, f->id.text, contract_soon(), &refused), -1);
	assert_int_equal(refused.code, ERROR_NOT_FOUND);
	contract_create(f);
	CHECK_OK(f->ops->stop(f->p, f->id.text, 1000, contract_soon(), &err));
	assert_int_equal(f->ops->pause(f->p, f->id.text, contract_soon(), &refused), -1);
}

static void files_outlive_a_stop(struct fixture *f)
{
	struct provider_created created;

	contract_create(f);
	contract_shell(f, "cd && echo kept > file");
	CHECK_OK(f->ops->stop(f->p, f->id.text, 1000, contract_soon(), &err));
	CHECK_OK(f->ops->start(f->p, &f->spec, contract_soon(), &created, &err));
	assert_string_equal(contract_shell(f, "cd && cat file"), "kept\n");
}

/* ---- commands ---- */

static void a_command_gets_its_input_and_gives_its_status(struct fixture *f)
{
	struct compute_result result;

	contract_create(f);
	CHECK_OK(run(f, (const char *[]){"cat", NULL}, "hello", contract_soon(), &result, &err));
	assert_string_equal(result.out[0].data, "hello");
	assert_int_equal(result.process.exit_code, 0);
	CHECK_OK(run(f, (const char *[]){"false", NULL}, "", contract_soon(), &result, &err));
	assert_int_equal(result.process.exit_code, 1);
}

static void *run_many(void *argument)
{
	struct fixture mine = *(struct fixture *)argument;
	uintptr_t failures = 0;

	mine.arena = (struct arena){0};
	for (int i = 0; i < 20; i++) {
		struct compute_result result;
		struct error err = {0};
		if (run(&mine, (const char *[]){"cat", NULL}, "x", contract_soon(), &result, &err) <
		            0 ||
		    strcmp(result.out[0].data, "x") != 0)
			failures++;
	}
	arena_done(&mine.arena);
	return (void *)failures;
}

static void many_threads_run_commands_at_once(struct fixture *f)
{
	pthread_t threads[4];

	contract_create(f);
	for (size_t i = 0; i < COUNT_OF(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_many, f), 0);
	for (size_t i = 0; i < COUNT_OF(threads); i++) {
		void *failures;
		pthread_join(threads[i], &failures);
		assert_null(failures);
	}
}

/* Processes by their command line; not every image has pgrep. */
#define COUNT(pattern)                                                                             \
	"for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $f; echo; done 2> /dev/null | "          \
	"grep -c '" pattern "'"

static void a_command_is_ended_with_its_deadline(struct fixture *f)
{
	struct compute_result result;
	struct error err = {0};

	contract_create(f);
	const char *args[] = {"/bin/sh", "-c", "sleep 1234567 & wait", NULL};
	assert_int_equal(run(f, args, "", deadline_after(300), &result, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	/* The shell waits inside for the other to go: nothing here sleeps for luck. */
	assert_string_equal(
	        contract_shell(f,
	                       "n=0; while [ \"$(" COUNT(
	                               "sleep 123456[7]") ")\" != 0 ] && [ $n -lt 100 ]; "
	                                                  "do sleep 0.05; n=$((n+1)); done; " COUNT(
	                                                          "sleep 123456[7]")),
	        "0\n");
}

static void nothing_of_the_servers_environment_is_inside(struct fixture *f)
{
	contract_create(f);
	assert_null(strstr(contract_shell(f, "env"), "leaked-secret"));
	assert_null(strstr(
	        contract_shell(f, "cat /proc/$PPID/environ /proc/self/environ | tr '\\0' '\\n'"),
	        "leaked-secret"));
}

/* ---- files ---- */

static int call_path(struct fixture *f, uint16_t type, const char *path, struct agent_file *ret,
                     struct error *err)
{
	struct agent_path message = {.path = path, .user = "", .root = "", .target = ""};
	struct agent_done done;
	struct compute_call call = {.type = type,
	                            .shape = agent_path_shape,
	                            .message = &message,
	                            .reply_type = AGENT_FILE,
	                            .reply_shape = agent_file_shape,
	                            .reply = ret,
	                            .reply_size = sizeof(*ret),
	                            .done = &done};

	return compute_call(f->p, f->id.text, &f->arena, &call, contract_soon(), err);
}

static void folders_are_made_seen_and_removed(struct fixture *f)
{
	const char *path = is_kubernetes(f->ops) ? "/home/user/contract" : "/contract";
	struct agent_file file = {0};
	struct error gone = {0};

	contract_create(f);
	CHECK_OK(call_path(f, AGENT_MKDIR, path, &file, &err));
	CHECK_OK(call_path(f, AGENT_STAT, path, &file, &err));
	assert_int_equal(file.type, AGENT_FILE_FOLDER);
	CHECK_OK(call_path(f, AGENT_REMOVE, path, &file, &err));
	assert_int_equal(call_path(f, AGENT_STAT, path, &file, &gone), -1);
	assert_int_equal(gone.code, ERROR_NOT_FOUND);
}

/* ---- the rest ---- */

/* The socket was made inside and came out: only there nothing listens on the port. */
static void a_port_without_a_server_refuses(struct fixture *f)
{
	struct error refused = {0};
	int fd;

	contract_create(f);
	const struct dial dial = {.id = f->id.text, .port = 39123, .deadline = contract_soon()};
	assert_int_equal(compute_dial(f->p, &dial, &fd, &refused), -1);
	assert_int_equal(refused.code, ERROR_UNAVAILABLE);
	assert_int_equal(refused.sys_errno, ECONNREFUSED);
}

static void stats_tell_what_was_asked_for(struct fixture *f)
{
	struct provider_stats stats = {0};

	contract_create(f);
	CHECK_OK(f->ops->stats(f->p, f->id.text, &stats, &err));
	assert_true(stats.sampled_unix_ms > 0);
	assert_true(stats.uptime_ms >= 0 && stats.uptime_ms < 60000);
	if (f->ops->abilities & PROVIDER_CAN_LIMIT) {
		assert_int_equal(stats.pids_limit, f->spec.resources.pids);
		assert_int_equal(stats.memory_limit_bytes,
		                 (uint64_t)f->spec.resources.memory_mb << 20);
	}
}

static void a_healthy_provider_says_so(struct fixture *f)
{
	CHECK_OK(f->ops->health(f->p, &err));
}

static void a_missing_template_is_removed_already(struct fixture *f)
{
	struct provider_template request = {.verb = PROVIDER_TEMPLATE_REMOVE,
	                                    .name = "never-made",
	                                    .recipe = "",
	                                    .source_fd = -1};

	CHECK_OK(provider_template(f->p, &request, contract_soon(), &err));
}

static void a_pause_outlives_the_broker(struct fixture *f)
{
	if (!needs_broker(f->ops))
		return;
	contract_create(f);
	CHECK_OK(f->ops->pause(f->p, f->id.text, contract_soon(), &err));
	broker_process_kill(&f->broker);
	assert_true(broker_process_restart(&f->broker));
	assert_true(is_listed_as_paused(f));
	CHECK_OK(f->ops->resume(f->p, f->id.text, contract_soon(), &err));
	assert_string_equal(contract_shell(f, "echo alive"), "alive\n");
}

static void a_sandbox_outlives_the_broker(struct fixture *f)
{
	bool running = false;

	if (!needs_broker(f->ops))
		return;
	contract_create(f);
	broker_process_kill(&f->broker);
	assert_string_equal(contract_shell(f, "echo alive"), "alive\n");
	assert_true(broker_process_restart(&f->broker));
	assert_int_equal(count_listed(f, &running), 1);
	assert_true(running);
	assert_string_equal(contract_shell(f, "echo alive"), "alive\n");
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
}

int contract_open(struct fixture *f)
{
	const struct provider_options options = {.data_dir = f->broker.data,
	                                         .broker_socket = f->broker.socket,
	                                         .docker = &docker,
	                                         .microvm = &microvm,
	                                         .remote = remote_options_of(f->ops),
	                                         .lambda = &functions,
	                                         .shared = &store_key};
	struct error err = {0};

	if (f->ops->open(&options, &f->p, &err) == 0)
		return 0;
	print_error("%s\n", err.text);
	return -1;
}

/* As when the server is restarted. */
static void a_sandbox_outlives_its_server(struct fixture *f)
{
	struct pollfd p = {.events = POLLIN};
	bool running = false;

	contract_create(f);
	assert_string_equal(
	        contract_shell(f, "cd && sleep 7654321 & cd && echo begun > file; echo on"),
	        "on\n");
	f->ops->close(f->p);
	assert_int_equal(contract_open(f), 0);
	assert_int_equal(count_listed(f, &running), 1);
	assert_true(running);
	assert_string_equal(contract_shell(f, "cd && cat file; " COUNT("sleep 765432[1]")),
	                    "begun\n1\n");
	CHECK_OK(f->ops->compute->connect(f->p, f->id.text, contract_soon(), &p.fd, &err));
	close(p.fd);
	CHECK_OK(f->ops->destroy(f->p, f->id.text, contract_soon(), &err));
}

static const struct check own_checks[] = {
        ROW(a_sandbox_is_listed_from_create_to_destroy, 0),
        ROW(an_id_that_exists_is_refused, 0),
        ROW(destroying_what_is_not_there_is_fine, 0),
        ROW(a_missing_sandbox_takes_no_connection, 0),
        ROW(destroy_ends_the_connections, 0),
        ROW(a_stopped_sandbox_starts_again, PROVIDER_CAN_STOP | PROVIDER_CAN_EXEC),
        ROW(files_outlive_a_stop, PROVIDER_CAN_STOP | REAL_COMMANDS),
        ROW(a_paused_sandbox_goes_on_when_it_is_resumed, PROVIDER_CAN_PAUSE | PROVIDER_CAN_EXEC),
        ROW(a_paused_sandbox_is_stopped_and_destroyed_like_any,
            PROVIDER_CAN_PAUSE | PROVIDER_CAN_STOP),
        ROW(what_is_not_there_or_stopped_is_not_paused, PROVIDER_CAN_PAUSE | PROVIDER_CAN_STOP),
        ROW(a_pause_outlives_the_broker, PROVIDER_CAN_PAUSE | PROVIDER_SURVIVES | REAL_COMMANDS),
        ROW(a_command_gets_its_input_and_gives_its_status, PROVIDER_CAN_EXEC),
        ROW(many_threads_run_commands_at_once, PROVIDER_CAN_EXEC),
        ROW(a_command_is_ended_with_its_deadline, REAL_COMMANDS),
        ROW(nothing_of_the_servers_environment_is_inside, REAL_COMMANDS),
        ROW(folders_are_made_seen_and_removed, PROVIDER_CAN_FILES),
        ROW(a_port_without_a_server_refuses, PROVIDER_CAN_DIAL),
        ROW(stats_tell_what_was_asked_for, PROVIDER_CAN_STATS),
        ROW(a_healthy_provider_says_so, 0),
        ROW(a_missing_template_is_removed_already, PROVIDER_CAN_TEMPLATE),
        ROW(a_sandbox_outlives_its_server, PROVIDER_SURVIVES | REAL_COMMANDS),
        ROW(a_sandbox_outlives_the_broker, PROVIDER_SURVIVES | REAL_COMMANDS),
        {.name = NULL},
};

/* ---- one check on one provider is one test ---- */

struct one_test {
	char name[128];
	const struct check *check;
	struct fixture fixture;
};

#define MICROVM_TEMPLATE "contract"

static bool copy_template(const char *data)
{
	char command[512];

	(void)snprintf(command, sizeof(command),
	               "mkdir -p '%s/templates/" MICROVM_TEMPLATE
	               "' && cp -a '%.200s' '%s/templates/" MICROVM_TEMPLATE "/rootfs'",
	               data, microvm_root, data);
	return system(command) == 0;
}

/* All checks of microvm share a broker, so that the image of its machines is made once. */
static struct broker_process microvm_broker;

static int make_image(struct fixture *f)
{
	struct provider_created created;
	struct error err = {0};

	if (contract_open(f) < 0)
		return -1;
	int status = f->ops->create(f->p, &f->spec, deadline_after(IMAGE_MS), &created, &err);
	if (status < 0)
		print_error("microvm: %s\n", err.text);
	(void)!f->ops->destroy(f->p, f->id.text, contract_soon(), &err);
	f->ops->close(f->p);
	f->p = NULL;
	return status;
}

static int start_microvm_broker(struct fixture *f)
{
	f->broker = microvm_broker;
	if (f->broker.pid > 0)
		return 0;
	if (!broker_process_start(&f->broker, &programs) || !copy_template(f->broker.data))
		return -1;
	microvm_broker = f->broker;
	return make_image(f);
}

static int start_broker(struct fixture *f)
{
	if (is_microvm(f->ops))
		return start_microvm_broker(f);
	if ((is_docker(f->ops) || is_remote(f->ops)) && !mkdtemp(f->broker.data))
		return -1;
	return needs_broker(f->ops) && !broker_process_start(&f->broker, &programs) ? -1 : 0;
}

static int start_check(void **state)
{
	struct one_test *t = *state;
	struct fixture *f = &t->fixture;

	(void)snprintf(f->broker.data, sizeof(f->broker.data), "/var/tmp/atoll-test-XXXXXX");
	patience_ms = is_microvm(f->ops) || is_kubernetes(f->ops) ? 60000 : 20000;
	f->id = id_new();
	f->spec = (struct sandbox_spec){
	        .id = f->id.text,
	        .hostname = "contract",
	        .template_dir = is_microvm(f->ops) ? MICROVM_TEMPLATE : "host",
	        .resources = {.cpu = 0.5, .memory_mb = 128, .disk_mb = 128, .pids = 64},
	        .network = SANDBOX_NETWORK_BLOCKED,
	        .owner = OWNER,
	        .lease_epoch = EPOCH,
	        .is_ephemeral = true,
	};
	return start_broker(f) < 0 ? -1 : contract_open(f);
}

static int end_check(void **state)
{
	struct one_test *t = *state;
	struct fixture *f = &t->fixture;
	struct error ignored = {0};

	if (f->p) {
		(void)!f->ops->destroy(f->p, f->id.text, contract_soon(), &ignored);
		f->ops->close(f->p);
	}
	if (is_microvm(f->ops))
		microvm_broker = f->broker;
	else if (needs_broker(f->ops) || is_docker(f->ops) || is_remote(f->ops))
		broker_process_stop(&f->broker);
	arena_done(&f->arena);
	return 0;
}

static void run_check(void **state)
{
	struct one_test *t = *state;

	t->check->run(&t->fixture);
}

static size_t add_tests(const struct provider_ops *ops, const struct check *checks,
                        struct CMUnitTest *tests)
{
	static struct one_test all[CHECKS_MAX * PROVIDER_KINDS_MAX];
	static size_t used;
	size_t count = 0;

	for (const struct check *c = checks; c->name; c++) {
		if ((ops->abilities & c->abilities) != c->abilities)
			continue;
		struct one_test *t = &all[used++];
		assert_true(used <= COUNT_OF(all));
		t->check = c;
		t->fixture.ops = ops;
		(void)snprintf(t->name, sizeof(t->name), "%s: %s", ops->name, c->name);
		tests[count++] = (struct CMUnitTest){t->name, run_check, start_check, end_check, t};
	}
	return count;
}

/* What the provider can with the options of this run. */
static const struct provider_ops *describe(const struct provider_ops *kind)
{
	static struct provider_ops described[PROVIDER_KINDS_MAX];
	static size_t used;
	const struct provider_options options = {.docker = &docker,
	                                         .microvm = &microvm,
	                                         .remote = remote_options_of(kind),
	                                         .lambda = &functions};
	struct provider_ops *ops = &described[used++];

	assert_true(used <= COUNT_OF(described));
	*ops = *kind;
	if (kind->describe)
		kind->describe(&options, ops);
	return ops;
}

static void read_cluster(void)
{
	random_bytes(store_key.key, sizeof(store_key.key));
	cluster = (struct kubernetes_options){.config = getenv("CONTRACT_KUBERNETES_CONFIG"),
	                                      .context = "",
	                                      .namespace = getenv("CONTRACT_KUBERNETES_NAMESPACE"),
	                                      .agent_image = "test.local/agent:1",
	                                      .agent_path = "/atoll-agent",
	                                      .runtime_class = getenv("CONTRACT_KUBERNETES_CLASS"),
	                                      .storage_class = "",
	                                      .snapshot_class =
	                                              getenv("CONTRACT_KUBERNETES_SNAPSHOTS"),
	                                      .cpu_request_percent = 10,
	                                      .policies_hold = true};
	if (!cluster.runtime_class)
		cluster.runtime_class = "";
	if (!cluster.snapshot_class)
		cluster.snapshot_class = "none";
	kubernetes = (struct remote_options){.image = "test.local/base:1",
	                                     .images = "",
	                                     .kubernetes = &cluster,
	                                     .allows_internet = true};
}

static void read_functions(void)
{
	functions = (struct lambda_options){.region = "us-east-1",
	                                    .endpoint = getenv("CONTRACT_LAMBDA_URL"),
	                                    .key_id = getenv("CONTRACT_LAMBDA_KEY_ID"),
	                                    .secret = getenv("CONTRACT_LAMBDA_SECRET"),
	                                    .session_token = "",
	                                    .functions = {{"fn-nonet", "fn-net"}, {"", ""}},
	                                    .templates = "host",
	                                    .workspace_project = "",
	                                    .memory_mb = 1024};
}

/* CONTRACT_ONLY: names of providers, separated by commas; without it all are asked. */
static bool is_asked_for(const char *name)
{
	const char *list = getenv("CONTRACT_ONLY");
	size_t size = strlen(name);

	for (const char *at = list; at && (at = strstr(at, name)); at += size)
		if ((at == list || at[-1] == ',') && (at[size] == ',' || !at[size]))
			return true;
	return !list;
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[CHECKS_MAX * PROVIDER_KINDS_MAX];
	size_t count = 0;

	if (argc == 6)
		programs = (struct broker_programs){argv[1], argv[2], argv[3], argv[4], argv[5]};
	const char *reason = broker_process_reason(&programs);
	docker = (struct docker_options){.host = getenv("CONTRACT_DOCKER_HOST"),
	                                 .image = getenv("CONTRACT_DOCKER_IMAGE"),
	                                 .program = programs.agent,
	                                 .runtime = getenv("CONTRACT_DOCKER_RUNTIME")};
	microvm = (struct microvm_options){.kernel = getenv("CONTRACT_MICROVM_KERNEL"),
	                                   .program = programs.agent};
	microvm_root = getenv("CONTRACT_MICROVM_ROOT");
	e2b = (struct remote_options){.key = getenv("CONTRACT_E2B_KEY"),
	                              .url = getenv("CONTRACT_E2B_URL"),
	                              .domain = "",
	                              .sandbox_url = getenv("CONTRACT_E2B_URL"),
	                              .image = "host",
	                              .images = "",
	                              .target = "",
	                              .program = programs.agent,
	                              .allows_internet = true,
	                              .is_secure = true};
	daytona = e2b;
	daytona.url = getenv("CONTRACT_DAYTONA_URL");
	daytona.image = getenv("CONTRACT_DAYTONA_SNAPSHOT");
	daytona.blocks_by_list = true;
	read_cluster();
	read_functions();
	for (size_t i = 0; providers[i]; i++) {
		if (!is_asked_for(providers[i]->name))
			continue;
		if (is_docker(providers[i]) && (!docker.host || !docker.image))
			print_message("skipped provider 'docker': no daemon was started\n");
		else if (strcmp(providers[i]->name, "gvisor") == 0 &&
		         access("/usr/bin/runsc", X_OK) < 0)
			print_message("skipped provider '%s': the Debian package runsc is not "
			              "installed\n",
			              providers[i]->name);
		else if (is_microvm(providers[i]) && (!microvm.kernel || !microvm_root))
			print_message("skipped provider 'microvm': no kernel was prepared\n");
		else if (is_kubernetes(providers[i]) && !cluster.config)
			print_message("skipped provider 'kubernetes': no cluster was started\n");
		else if (is_lambda(providers[i]) && !functions.endpoint)
			print_message("skipped provider 'lambda': no service was started\n");
		else if (is_remote(providers[i]) && !is_kubernetes(providers[i]) &&
		         !is_lambda(providers[i]) && !e2b.url)
			print_message("skipped provider '%s': no other server was started\n",
			              providers[i]->name);
		else if ((needs_broker(providers[i]) || is_docker(providers[i])) && reason)
			print_message("skipped provider '%s': %s\n", providers[i]->name, reason);
		else {
			const struct provider_ops *ops = describe(providers[i]);

			count += add_tests(ops, own_checks, tests + count);
			count += add_tests(ops, contract_kept_checks, tests + count);
		}
	}
	int failed = _cmocka_run_group_tests("provider contract", tests, count, NULL, NULL);
	if (microvm_broker.pid > 0)
		broker_process_stop(&microvm_broker);
	return failed;
}
