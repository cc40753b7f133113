/* SPDX-License-Identifier: Apache-2.0 */
/* The provider docker against a daemon of a few lines: what it asks, and what it makes of the
 * answers. The real daemon is asked by tests/contract and tests/system/test_docker.py. */
#include "unit.h"

#include "fake_engine.h"
#include "json/json.h"
#include "provider/docker/container.h"

static const struct json_value *write_and_load(struct arena *a, const struct sandbox_spec *spec)
{
	AUTO(buf_done) struct buf body = BUF(65536);
	const struct docker_container c = {.spec = spec,
	                                   .server = SERVER,
	                                   .image = "worker:1",
	                                   .program = "/agent \"quoted\"",
	                                   .folder = "/data/links/" SANDBOX,
	                                   .token = "secret"};
	const struct json_value *root;
	struct error err = {0};

	docker_write_container(&body, &c);
	assert_false(body.overflowed);
	if (json_load(a, (struct span){arena_copy(a, buf_span(&body)), body.size}, &root, &err) < 0)
		fail_msg("%s", err.text);
	return root;
}

TEST(a_container_has_few_rights_limits_labels_and_two_read_only_mounts)
{
	AUTO(arena_done) struct arena a = {0};
	const struct sandbox_spec spec = spec_of();
	const struct json_value *root = write_and_load(&a, &spec), *host, *mounts;

	host = json_get(root, "HostConfig");
	mounts = json_get(host, "Mounts");
	assert_string_equal(json_get_text(root, "Image", ""), "worker:1");
	assert_string_equal(json_get_text(root, "User", ""), "0:0");
	assert_string_equal(json_get_text(host, "NetworkMode", ""), "none");
	assert_string_equal(json_text(json_item_at(json_get(host, "CapDrop"), 0), ""), "ALL");
	assert_string_equal(json_text(json_item_at(json_get(host, "SecurityOpt"), 0), ""),
	                    "no-new-privileges:true");
	assert_int_equal(json_get_whole(host, "Memory", 0), 64 << 20);
	assert_int_equal(json_get_whole(host, "MemorySwap", 0), 64 << 20);
	assert_int_equal(json_get_whole(host, "NanoCpus", 0), 500000000);
	assert_int_equal(json_get_whole(host, "PidsLimit", 0), 32);
	assert_int_equal(json_count(mounts), 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(json_get_bool(json_item_at(mounts, i), "ReadOnly", false));
	assert_string_equal(json_get_text(json_item_at(mounts, 0), "Source", ""),
	                    "/agent \"quoted\"");
	assert_string_equal(json_get_text(json_get(root, "Labels"), DOCKER_SERVER_LABEL, ""),
	                    SERVER);
	assert_false(json_get_bool(host, "Privileged", false));
}

TEST(internet_privileges_and_background_change_only_their_own_part)
{
	AUTO(arena_done) struct arena a = {0};
	struct sandbox_spec spec = spec_of();

	spec.network = SANDBOX_NETWORK_INTERNET;
	spec.privileges = spec.background = true;
	const struct json_value *host = json_get(write_and_load(&a, &spec), "HostConfig");
	assert_string_equal(json_get_text(host, "NetworkMode", ""), DOCKER_NETWORK);
	assert_int_equal(json_count(json_get(host, "SecurityOpt")), 0);
	assert_int_equal(json_get_whole(host, "CpuShares", 0), 2);
	assert_string_equal(json_text(json_item_at(json_get(host, "CapDrop"), 0), ""), "ALL");
}

TEST(gpus_are_device_requests_and_are_read_back)
{
	AUTO(arena_done) struct arena a = {0};
	AUTO(buf_done) struct buf inspected = BUF(65536), body = BUF(65536);
	struct sandbox_spec spec = spec_of(), again;
	struct docker_state found;
	struct error err = {0};
	const struct docker_container c = {.spec = &spec,
	                                   .server = SERVER,
	                                   .image = "worker:1",
	                                   .program = "/agent",
	                                   .folder = "/links",
	                                   .token = "secret"};

	assert_null(json_get(json_get(write_and_load(&a, &spec), "HostConfig"), "DeviceRequests"));
	spec.gpus = 2;
	const struct json_value *request = json_item_at(
	        json_get(json_get(write_and_load(&a, &spec), "HostConfig"), "DeviceRequests"), 0);
	assert_int_equal(json_get_whole(request, "Count", 0), 2);
	assert_string_equal(
	        json_text(json_item_at(json_item_at(json_get(request, "Capabilities"), 0), 0), ""),
	        "gpu");
	/* An inspection shows the same members, with a state. */
	docker_write_container(&body, &c);
	buf_addf(&inspected, "{\"State\":{},\"Config\":{},%s", buf_text(&body) + 1);
	if (docker_read_state(&a, buf_span(&inspected), &found, &again, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(again.gpus, 2);
}

static unsigned abilities_with(const struct docker_options *docker)
{
	const struct provider_options options = {.docker = docker};
	struct provider_ops ops = *provider_find("docker");

	ops.describe(&options, &ops);
	return ops.abilities & (PROVIDER_CAN_GPU | PROVIDER_CAN_GPU_NETWORK);
}

TEST(gpus_need_a_switch_and_a_network_beside_them_a_second_one)
{
	assert_int_equal(abilities_with(&(struct docker_options){.has_gpu_network = true}), 0);
	assert_int_equal(abilities_with(&(struct docker_options){.has_gpus = true}),
	                 PROVIDER_CAN_GPU);
	assert_int_equal(
	        abilities_with(&(struct docker_options){.has_gpus = true, .has_gpu_network = true}),
	        PROVIDER_CAN_GPU | PROVIDER_CAN_GPU_NETWORK);
	/* gVisor has no driver of the machine's GPUs. */
	assert_int_equal(
	        abilities_with(&(struct docker_options){.has_gpus = true, .runtime = "runsc"}), 0);
}

TEST(gpus_are_refused_by_name)
{
	static const char *const answers[] = {"500 {\"message\":\"never asked\"}", NULL};
	struct sandbox_spec spec = spec_of();
	struct provider_created created;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	spec.gpus = 1;
	assert_int_equal(
	        provider_find("docker")->create(p, &spec, deadline_after(1000), &created, &err),
	        -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "give GPUs"));
	assert_int_equal(f.count, 0);
	stop_fake(&f, p);
}

TEST(a_name_holds_both_ids)
{
	char name[DOCKER_NAME_SIZE];

	docker_container_name(SERVER, SANDBOX, name);
	assert_string_equal(name, "atoll-" SERVER "-" SANDBOX);
}

TEST(a_list_takes_only_containers_of_sandboxes)
{
	AUTO(arena_done) struct arena a = {0};
	struct provider_list list = {0};
	struct error err = {0};
	const char *body = "[{\"State\":\"running\",\"Labels\":{\"atoll.sandbox\":\"" SANDBOX
	                   "\",\"atoll.owner\":\"" OWNER "\",\"atoll.epoch\":\"7\"}},"
	                   "{\"State\":\"running\",\"Labels\":{\"atoll.sandbox\":\"../x\"}},"
	                   "{\"State\":\"running\",\"Labels\":null},"
	                   "{\"State\":\"paused\",\"Labels\":{\"atoll.sandbox\":\"" OWNER "\"}},"
	                   "{\"State\":\"created\",\"Labels\":{\"atoll.sandbox\":\"" SERVER "\"}}]";

	assert_int_equal(docker_read_list(&a, span_of(body), &list, &err), 0);
	assert_int_equal(list.count, 3);
	assert_true(list.entries[0].running && !list.entries[0].paused);
	assert_string_equal(list.entries[0].owner, OWNER);
	assert_int_equal(list.entries[0].lease_epoch, 7);
	assert_true(list.entries[1].running && list.entries[1].paused);
	assert_false(list.entries[2].running);
	assert_int_equal(docker_read_list(&a, SPAN("<html>"), &list, &err), -1);
}

TEST(a_state_is_read_with_the_token_and_without_it_fails_to_be_one)
{
	AUTO(arena_done) struct arena a = {0};
	struct docker_state found = {0};
	struct error err = {0};
	const char *body = "{\"State\":{\"Running\":true,\"Paused\":false,\"OOMKilled\":true,"
	                   "\"ExitCode\":137,\"StartedAt\":\"2026-11-21T02:25:00.123456789Z\"},"
	                   "\"Config\":{\"Env\":[\"PATH=/bin\",\"ATOLL_AGENT_TOKEN=abc\"]}}";

	assert_int_equal(docker_read_state(&a, span_of(body), &found, NULL, &err), 0);
	assert_true(found.running && !found.paused && found.oom_killed);
	assert_int_equal(found.exit_code, 137);
	assert_string_equal(found.token, "abc");
	assert_true(found.started_unix_ms > 0);
	assert_int_equal(found.size_bytes, -1);
	assert_int_equal(docker_read_state(&a, SPAN("{}"), &found, NULL, &err), -1);
}

TEST(stats_of_both_cgroup_versions_are_read_and_nonsense_is_zero)
{
	AUTO(arena_done) struct arena a = {0};
	struct provider_stats s = {0};
	struct error err = {0};

	assert_int_equal(
	        docker_read_stats(
	                &a,
	                SPAN("{\"cpu_stats\":{\"cpu_usage\":{\"total_usage\":5000000}},"
	                     "\"memory_stats\":{\"usage\":3000,\"limit\":9000,"
	                     "\"stats\":{\"total_inactive_file\":1000}},"
	                     "\"pids_stats\":{\"current\":2,\"limit\":32},\"networks\":"
	                     "{\"a\":{\"rx_bytes\":1,\"tx_bytes\":2},\"b\":{\"rx_bytes\":3}}}"),
	                &s, &err),
	        0);
	assert_int_equal(s.cpu_usage_us, 5000);
	assert_int_equal(s.memory_bytes, 2000);
	assert_int_equal(s.memory_limit_bytes, 9000);
	assert_int_equal(s.pids_limit, 32);
	assert_int_equal(s.network_in_bytes, 4);
	assert_int_equal(s.network_out_bytes, 2);
	assert_int_equal(docker_read_stats(&a,
	                                   SPAN("{\"memory_stats\":{\"usage\":-5,\"limit\":1e300,"
	                                        "\"stats\":{\"inactive_file\":9}}}"),
	                                   &s, &err),
	                 0);
	assert_int_equal(s.memory_bytes, 0);
	assert_int_equal(s.memory_limit_bytes, 0);
}

TEST(a_create_that_cannot_start_removes_its_container_and_folder)
{
	static const char *const answers[] = {
	        "404 {\"message\":\"No such image: worker:1\"}",
	        "200 {\"status\":\"Pulling\"}\n{\"status\":\"Done\"}\n",
	        "201 {\"Id\":\"x\"}",
	        "500 {\"message\":\"runc failed\"}",
	        "204 ",
	        NULL};
	const struct sandbox_spec spec = spec_of();
	struct provider_created created;
	struct error err = {0};
	char path[256];
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	const struct provider_ops *ops = provider_find("docker");
	assert_int_equal(ops->create(p, &spec, deadline_after(10000), &created, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "runc failed"));
	assert_int_equal(f.count, 5);
	assert_non_null(strstr(f.asked[0], "POST /v1.41/containers/create?name=atoll-"));
	assert_non_null(strstr(f.asked[1], "fromImage=worker%3A1"));
	assert_non_null(strstr(f.asked[3], "/start"));
	assert_non_null(strstr(f.asked[4], "DELETE /v1.41/containers/atoll-"));
	assert_non_null(strstr(f.asked[4], "-" SANDBOX "?force=1"));
	(void)snprintf(path, sizeof(path), "%s/docker/links/" SANDBOX, f.dir);
	assert_int_equal(access(path, F_OK), -1);
	stop_fake(&f, p);
}

TEST(a_pull_that_fails_is_told_and_leaves_nothing)
{
	static const char *const answers[] = {
	        "404 {\"message\":\"No such image\"}",
	        "200 {\"status\":\"Pulling\"}\n{\"error\":\"registry is on fire\"}\n",
	        "404 {\"message\":\"No such container\"}", NULL};
	const struct sandbox_spec spec = spec_of();
	struct provider_created created;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	assert_int_equal(
	        provider_find("docker")->create(p, &spec, deadline_after(10000), &created, &err),
	        -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "worker:1"));
	assert_non_null(strstr(err.text, "registry is on fire"));
	stop_fake(&f, p);
}

TEST(a_template_without_an_image_is_not_looked_for_in_a_registry)
{
	static const char *const answers[] = {"404 {\"message\":\"No such image\"}",
	                                      "404 {\"message\":\"No such container\"}", NULL};
	struct sandbox_spec spec = spec_of();
	struct provider_created created;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	spec.template_dir = "python";
	assert_int_equal(
	        provider_find("docker")->create(p, &spec, deadline_after(10000), &created, &err),
	        -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_int_equal(f.count, 2);
	assert_non_null(strstr(f.asked[1], "DELETE"));
	stop_fake(&f, p);
}

TEST(what_exists_already_is_left_alone)
{
	static const char *const answers[] = {"409 {\"message\":\"name in use\"}", NULL};
	const struct sandbox_spec spec = spec_of();
	struct provider_created created;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	assert_int_equal(
	        provider_find("docker")->create(p, &spec, deadline_after(10000), &created, &err),
	        -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_int_equal(f.count, 1);
	stop_fake(&f, p);
}

TEST(a_network_of_that_name_is_used_only_if_atoll_made_it)
{
	static const char fine[] =
	        "{\"Driver\":\"bridge\",\"Labels\":{\"atoll.server\":\"" SERVER "\"},"
	        "\"Options\":{\"com.docker.network.bridge.enable_icc\":\"false\"}}";
	static const char *const bad[] = {
	        "{\"Driver\":\"bridge\",\"Labels\":{},"
	        "\"Options\":{\"com.docker.network.bridge.enable_icc\":\"false\"}}",
	        "{\"Driver\":\"bridge\",\"Labels\":{\"atoll.server\":\"" SERVER "\"},"
	        "\"Options\":{}}",
	        "{\"Driver\":\"host\",\"Labels\":{\"atoll.server\":\"" SERVER "\"},"
	        "\"Options\":{\"com.docker.network.bridge.enable_icc\":\"false\"}}",
	        "[]", "{}"};
	struct error err = {0};

	assert_int_equal(docker_check_network(span_of(fine), &err), 0);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		err = (struct error){0};
		assert_int_equal(docker_check_network(span_of(bad[i]), &err), -1);
		assert_int_equal(err.code, ERROR_CONFLICT);
		assert_non_null(strstr(err.text, "'atoll'"));
	}
}

TEST(another_daemon_has_no_list_and_both_are_named)
{
	static const char *const answers[] = {
	        "200 {\"ID\":\"AAAA:1\",\"DockerRootDir\":\"/one\"}",
	        "200 []",
	        "200 {\"ID\":\"AAAA:1\",\"DockerRootDir\":\"/one\"}",
	        "200 []",
	        "200 {\"ID\":\"AAAA:1\",\"DockerRootDir\":\"/other\"}",
	        "200 {\"DockerRootDir\":\"/one\"}",
	        NULL};
	AUTO(arena_done) struct arena a = {0};
	struct provider_list list;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	const struct provider_ops *ops = provider_find("docker");
	assert_int_equal(ops->list(p, &a, &list, &err), 0);
	assert_int_equal(ops->list(p, &a, &list, &err), 0);
	assert_int_equal(ops->list(p, &a, &list, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, "'AAAA:1 at /other' in place of 'AAAA:1 at /one'"));
	err = (struct error){0};
	assert_int_equal(ops->list(p, &a, &list, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_int_equal(f.count, 6);
	assert_int_equal(f.versions, 1);
	stop_fake(&f, p);
}

TEST(podman_is_known_by_its_data_root_and_has_no_network)
{
	static const char *const answers[] = {
	        "200 {\"ID\":\"a\",\"DockerRootDir\":\"/one\"}", "200 []",
	        "200 {\"ID\":\"b\",\"DockerRootDir\":\"/one\"}", "200 []", NULL};
	struct sandbox_spec spec = spec_of();
	struct provider_created created;
	AUTO(arena_done) struct arena a = {0};
	struct provider_list list;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	const struct provider_ops *ops = provider_find("docker");
	f.version = PODMAN_VERSION;
	assert_int_equal(ops->list(p, &a, &list, &err), 0);
	assert_int_equal(ops->list(p, &a, &list, &err), 0);
	spec.network = SANDBOX_NETWORK_INTERNET;
	assert_int_equal(ops->create(p, &spec, deadline_after(10000), &created, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "podman"));
	assert_int_equal(f.versions, 1);
	stop_fake(&f, p);
}

TEST(a_daemon_that_is_not_there_is_named_and_its_nonsense_is_no_answer)
{
	static const char *const answers[] = {"200 <html>", NULL};
	AUTO(arena_done) struct arena a = {0};
	struct provider_list list;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	assert_int_equal(provider_find("docker")->list(p, &a, &list, &err), -1);
	pthread_join(f.thread, NULL);
	assert_int_equal(pthread_create(&f.thread, NULL, run_fake, &f), 0);
	(void)shutdown(f.listener, SHUT_RDWR);
	err = (struct error){0};
	assert_int_equal(provider_find("docker")->health(p, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	assert_non_null(strstr(err.text, f.host));
	stop_fake(&f, p);
}

TEST(what_docker_has_not_is_refused_by_name_and_another_host_too)
{
	static const char *const answers[] = {NULL};
	const struct sandbox_review review = {.subject = SANDBOX};
	struct sandbox_spec spec = spec_of();
	struct provider_created created;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	spec.review = &review;
	assert_int_equal(
	        provider_find("docker")->create(p, &spec, deadline_after(1000), &created, &err),
	        -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "docker"));
	err = (struct error){0};
	const struct docker_options same = {f.host, "worker:1", "/agent"};
	const struct provider_options twice = {.data_dir = f.dir, .docker = &same};
	struct provider *second = NULL;
	assert_int_equal(provider_find("docker")->open(&twice, &second, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	/* Under another name it has a folder of its own. */
	err = (struct error){0};
	const struct provider_options further = {
	        .name = "further", .data_dir = f.dir, .docker = &same};
	assert_int_equal(provider_find("docker")->open(&further, &second, &err), 0);
	provider_find("docker")->close(second);
	second = NULL;
	const struct docker_options far = {"tcp://10.0.0.1:2375", "worker:1", "/agent"};
	const struct provider_options options = {.data_dir = f.dir, .docker = &far};
	struct provider *other = NULL;
	assert_int_equal(provider_find("docker")->open(&options, &other, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	stop_fake(&f, p);
}

static const char *isolation_with(const char *runtime)
{
	const struct docker_options docker = {.runtime = runtime};
	const struct provider_options options = {.docker = &docker};
	struct provider_ops ops = *provider_find("docker");

	ops.describe(&options, &ops);
	return ops.isolation;
}

TEST(the_isolation_follows_the_runtime)
{
	assert_string_equal(isolation_with(NULL), "namespaces");
	assert_string_equal(isolation_with(""), "namespaces");
	assert_string_equal(isolation_with("runc"), "namespaces");
	assert_string_equal(isolation_with("crun"), "namespaces");
	assert_string_equal(isolation_with("runsc-kvm"), "gvisor");
	assert_string_equal(isolation_with("kata-qemu"), "microvm");
}

#define RUNTIMES                                                                                   \
	"200 {\"ID\":\"a\",\"DockerRootDir\":\"/d\",\"Runtimes\":{\"runc\":{\"path\":\"runc\"},"   \
	"\"runsc-false\":{\"path\":\"/usr/bin/runc\"}}}"

/* Opens, and asks for a sandbox that is refused. */
static struct error create_with(const char *runtime, const char *const *answers)
{
	struct provider_created created;
	struct provider *p = NULL;
	struct error err = {0};
	struct fake f;

	start_fake(&f, answers);
	const struct docker_options docker = {
	        .host = f.host, .image = "worker:1", .program = "/agent", .runtime = runtime};
	const struct provider_options options = {.data_dir = f.dir, .docker = &docker};
	struct sandbox_spec spec = spec_of();
	if (provider_find("docker")->open(&options, &p, &err) == 0) {
		assert_int_equal(
		        provider_ops_of(p)->create(p, &spec, deadline_after(5000), &created, &err),
		        -1);
		/* The answer is kept: the daemon is not asked again. */
		struct error again = {0};
		assert_int_equal(provider_ops_of(p)->create(p, &spec, deadline_after(5000),
		                                            &created, &again),
		                 -1);
		assert_string_equal(err.text, again.text);
	}
	stop_fake(&f, p);
	return err;
}

TEST(a_runtime_that_the_daemon_lacks_or_that_is_another_program_is_refused)
{
	static const char *const asked_once[] = {RUNTIMES, NULL}, *const never[] = {NULL};
	struct error err = create_with("runsc", asked_once);

	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "no runtime 'runsc'; it has: runc, runsc-false"));
	err = create_with("runsc-false", asked_once);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_non_null(strstr(err.text, "/usr/bin/runc"));
	err = create_with("fast", never);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_non_null(strstr(err.text, "'fast'"));
}

TEST(an_old_folder_of_one_provider_is_not_given_to_one_of_two)
{
	static const char *const answers[] = {NULL};
	struct provider *p = NULL;
	struct error err = {0};
	struct fake f;
	char command[512];

	start_fake(&f, answers);
	(void)snprintf(command, sizeof(command),
	               "mkdir -p %.100s/docker && printf " SERVER " > %.100s/docker/id", f.dir,
	               f.dir);
	assert_int_equal(system(command), 0);
	struct docker_options docker = {
	        .host = f.host, .image = "", .program = "/agent", .providers = 2};
	const struct provider_options options = {
	        .name = "box", .data_dir = f.dir, .docker = &docker};
	assert_int_equal(provider_find("docker")->open(&options, &p, &err), -1);
	assert_int_equal(err.code, ERROR_CONFLICT);
	assert_non_null(strstr(err.text, "which provider"));
	docker.providers = 1;
	err = (struct error){0};
	assert_int_equal(provider_find("docker")->open(&options, &p, &err), 0);
	provider_find("docker")->close(p);
	docker.providers = 2;
	assert_int_equal(provider_find("docker")->open(&options, &p, &err), 0);
	stop_fake(&f, p);
}

int main(void)
{
	return RUN(CASE(a_container_has_few_rights_limits_labels_and_two_read_only_mounts),
	           CASE(internet_privileges_and_background_change_only_their_own_part),
	           CASE(the_isolation_follows_the_runtime),
	           CASE(a_runtime_that_the_daemon_lacks_or_that_is_another_program_is_refused),
	           CASE(an_old_folder_of_one_provider_is_not_given_to_one_of_two),
	           CASE(gpus_are_device_requests_and_are_read_back),
	           CASE(gpus_need_a_switch_and_a_network_beside_them_a_second_one),
	           CASE(gpus_are_refused_by_name), CASE(a_name_holds_both_ids),
	           CASE(a_list_takes_only_containers_of_sandboxes),
	           CASE(a_state_is_read_with_the_token_and_without_it_fails_to_be_one),
	           CASE(stats_of_both_cgroup_versions_are_read_and_nonsense_is_zero),
	           CASE(a_create_that_cannot_start_removes_its_container_and_folder),
	           CASE(a_pull_that_fails_is_told_and_leaves_nothing),
	           CASE(a_template_without_an_image_is_not_looked_for_in_a_registry),
	           CASE(what_exists_already_is_left_alone),
	           CASE(a_network_of_that_name_is_used_only_if_atoll_made_it),
	           CASE(podman_is_known_by_its_data_root_and_has_no_network),
	           CASE(another_daemon_has_no_list_and_both_are_named),
	           CASE(a_daemon_that_is_not_there_is_named_and_its_nonsense_is_no_answer),
	           CASE(what_docker_has_not_is_refused_by_name_and_another_host_too));
}
