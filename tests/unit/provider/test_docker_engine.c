/* SPDX-License-Identifier: Apache-2.0 */
/* What the provider docker makes of a daemon that fails, answers nonsense or changes. */
#include "fake_engine.h"

/* Of GET for a container, whose first answer is this one. */
static struct error measure_with(const char *version, const char *answer, struct fake *f)
{
	static const char *answers[2];
	struct error err = {0};
	uint64_t bytes;

	answers[0] = answer;
	start_fake(f, answers);
	struct provider *p = open_docker(f);
	f->version = version ? version : f->version;
	assert_int_equal(provider_find("docker")->measure(p, PROVIDER_MEASURE_SANDBOX, SANDBOX,
	                                                  deadline_after(5000), &bytes, &err),
	                 -1);
	stop_fake(f, p);
	return err;
}

TEST(nonsense_of_every_kind_is_a_failure_of_the_daemon_and_no_missing_sandbox)
{
	static const char *const nonsense[] = {
	        "RAW \1\2 no HTTP at all\r\n\r\n",
	        "RAW HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"State\":",
	        "200 <html>",
	        "200 []",
	        "200 {\"State\":",
	        "204 ",
	        "400 Bad Request",
	        "404 <html>",
	        "404 {}",
	        "404 ",
	        "409 {\"error\":1}",
	        "500 {\"message\":\"no space left\"}",
	        "502 <html>",
	};
	struct fake f;

	for (size_t i = 0; i < COUNT_OF(nonsense); i++) {
		struct error err = measure_with(NULL, nonsense[i], &f);

		if (err.code != ERROR_UNAVAILABLE)
			fail_msg("%s: %s", nonsense[i], err.text);
	}
	struct error gone = measure_with(NULL, "404 {\"message\":\"No such container\"}", &f);
	assert_int_equal(gone.code, ERROR_NOT_FOUND);
}

TEST(a_daemon_that_hangs_is_a_timeout)
{
	static const char *const answers[] = {"RAW ", "RAW ", NULL};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct docker_options docker;
	struct provider *p = NULL;
	struct error err = {0};
	struct fake f;

	/* It accepts connections, and answers nothing. */
	start_fake(&f, answers);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/mute", f.dir);
	AUTO_CLOSE int mute = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(mute, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(mute, 8), 0);
	char host[160];
	(void)snprintf(host, sizeof(host), "unix://%s", address.sun_path);
	docker = (struct docker_options){host, "worker:1", "/agent"};
	const struct provider_options options = {.data_dir = f.dir, .docker = &docker};
	assert_int_equal(provider_find("docker")->open(&options, &p, &err), 0);
	const struct sandbox_spec spec = spec_of();
	struct provider_created created;
	int64_t begun = clock_monotonic_ms();
	assert_int_equal(
	        provider_find("docker")->create(p, &spec, deadline_after(300), &created, &err), -1);
	assert_int_equal(err.code, ERROR_TIMEOUT);
	assert_true(clock_monotonic_ms() - begun < 5000);
	stop_fake(&f, p);
}

TEST(the_version_is_asked_for_once_and_again_after_a_broken_connection)
{
	static const char running[] = "200 {\"State\":{\"Running\":true},\"SizeRw\":5}";
	static const char *const answers[] = {running, running, "RAW HTTP/1.1 2",
	                                      running, running, NULL};
	const struct provider_ops *ops = provider_find("docker");
	unsigned failures = 0;
	uint64_t bytes;
	struct fake f;

	start_fake(&f, answers);
	struct provider *p = open_docker(&f);
	for (unsigned i = 0; i < 5; i++) {
		struct error err = {0};

		failures += ops->measure(p, PROVIDER_MEASURE_SANDBOX, SANDBOX, deadline_after(5000),
		                         &bytes, &err) < 0;
	}
	assert_int_equal(failures, 1);
	assert_int_equal(f.count, 5);
	assert_int_equal(f.versions, 2);
	stop_fake(&f, p);
}

TEST(the_oldest_common_version_of_the_api_is_spoken)
{
	static const char newer[] = "200 {\"Components\":[{\"Name\":\"Engine\"}],"
	                            "\"ApiVersion\":\"1.52\",\"MinAPIVersion\":\"1.44\"}";
	static const struct {
		const char *version, *words;
	} refused[] = {
	        {"200 {\"Components\":[{\"Name\":\"Engine\"}],\"ApiVersion\":\"1.30\"}",
	         "versions 1.0 to 1.30"},
	        {"200 {\"Components\":[{\"Name\":\"Engine\"}],\"ApiVersion\":\"1.90\","
	         "\"MinAPIVersion\":\"1.80\"}",
	         "versions 1.80 to 1.90"},
	        {"200 {\"Components\":[{\"Name\":\"Other\"}],\"ApiVersion\":\"1.41\"}", "neither"},
	        {"200 {\"Components\":[{\"Name\":\"Engine\"}]}", "versions"},
	        {"503 {\"message\":\"starting\"}", "status 503"},
	        {"200 <html>", "JSON"},
	        {"200 []", "neither"},
	};
	struct fake f;

	(void)measure_with(NULL, "404 {}", &f);
	assert_non_null(strstr(f.asked[0], "GET /v1.41/containers/"));
	(void)measure_with(newer, "404 {}", &f);
	assert_non_null(strstr(f.asked[0], "GET /v1.44/containers/"));
	for (size_t i = 0; i < COUNT_OF(refused); i++) {
		struct error err = measure_with(refused[i].version, "404 {}", &f);

		assert_int_equal(err.code, ERROR_UNAVAILABLE);
		assert_non_null(strstr(err.text, refused[i].words));
		assert_int_equal(f.count, 0);
	}
}

int main(void)
{
	return RUN(CASE(nonsense_of_every_kind_is_a_failure_of_the_daemon_and_no_missing_sandbox),
	           CASE(a_daemon_that_hangs_is_a_timeout),
	           CASE(the_version_is_asked_for_once_and_again_after_a_broken_connection),
	           CASE(the_oldest_common_version_of_the_api_is_spoken));
}
