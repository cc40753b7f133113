/* SPDX-License-Identifier: Apache-2.0 */
/* What provider kubernetes reads: kubeconfig files and pods. Its calls are tested on a cluster. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "json/json.h"
#include "provider/kind_options.h"
#include "provider/kubernetes/access.h"
#include "provider/kubernetes/class.h"
#include "provider/kubernetes/kubernetes.h"
#include "provider/kubernetes/quantity.h"

#define CLUSTER                                                                                    \
	"clusters:\n- name: c\n  cluster: {server: 'https://a:1', certificate-authority-data: "    \
	"Q0E=%s}\n"
#define CONTEXTS                                                                                   \
	"contexts:\n- {name: x, context: {cluster: c, user: u, namespace: some}}\n"                \
	"- {name: y, context: {cluster: c, user: nobody}}\ncurrent-context: x\n"

static struct arena arena;
static char path[64];

static int load_with(const char *user, const char *more, const char *context,
                     struct cluster_access *ret, struct error *err)
{
	struct kubernetes_options options = {.config = path, .context = context, .namespace = ""};
	char text[2048];

	(void)snprintf(path, sizeof(path), "/tmp/atoll-kubeconfig-%d", getpid());
	(void)snprintf(text, sizeof(text), CLUSTER "users:\n- name: u\n  user: {%s}\n" CONTEXTS,
	               more, user);
	assert_int_equal(file_write(AT_FDCWD, path, span_of(text), 0600, err), 0);
	int status = cluster_access_load(&arena, &options, ret, err);
	(void)unlink(path);
	return status;
}

TEST(a_kubeconfig_names_server_user_and_namespace)
{
	struct cluster_access access;
	struct error err = {0};

	assert_int_equal(load_with("token: secret", "", "", &access, &err), 0);
	assert_string_equal(access.url, "https://a:1");
	assert_string_equal(access.namespace, "some");
	assert_string_equal(access.token, "secret");
	assert_string_equal(access.authorities, "CA");
	assert_null(access.key);
}

TEST(a_client_certificate_comes_with_its_key)
{
	struct cluster_access access;
	struct error err = {0};

	assert_int_equal(load_with("client-certificate-data: QQ==, client-key-data: Qg==", "", "",
	                           &access, &err),
	                 0);
	assert_string_equal(access.certificate, "A");
	assert_string_equal(access.key, "B");
	assert_int_equal(load_with("client-certificate-data: QQ==", "", "", &access, &err), -1);
	assert_non_null(strstr(err.text, "goes with a client-key"));
}

static void refuses(const char *user, const char *more, const char *context, const char *words)
{
	struct cluster_access access;
	struct error err = {0};

	assert_int_equal(load_with(user, more, context, &access, &err), -1);
	assert_non_null(strstr(err.text, words));
}

TEST(what_would_be_unsafe_or_is_not_known_is_refused_by_name)
{
	refuses("token: a", ", insecure-skip-tls-verify: true", "", "insecure-skip-tls-verify");
	refuses("exec: {command: get-token}", "", "", "users.user.exec");
	refuses("username: a", "", "", "users.user.username");
	refuses("token: a", "", "z", "has no context 'z'");
	refuses("token: a", "", "y", "has no user 'nobody'");
	refuses("token: \"a b\"", "", "", "blank");
	refuses("client-key-data: '!'", "", "", "no base64");
	refuses("[", "", "", "kubeconfig");
	refuses("token: *nothing", "", "", "kubeconfig");
}

static struct pod_state read_pod(const char *status)
{
	struct pod_state pod;
	const struct json_value *value;
	struct error err = {0};
	const char *text =
	        arena_format(&arena, "{\"metadata\":{\"name\":\"a\"},\"status\":%s}", status);

	assert_int_equal(json_load(&arena, span_of(text), &value, &err), 0);
	assert_true(kubernetes_read_pod(value, &pod));
	return pod;
}

#define MAIN(state) "\"containerStatuses\":[{\"name\":\"main\",\"state\":{" state "}}]"

TEST(a_pod_runs_when_its_own_container_does)
{
	assert_int_equal(read_pod("{}").phase, POD_PENDING);
	assert_int_equal(read_pod("{\"phase\":\"Pending\"}").phase, POD_PENDING);
	assert_int_equal(read_pod("{\"phase\":\"Running\"," MAIN("\"waiting\":{}") "}").phase,
	                 POD_PENDING);
	struct pod_state pod = read_pod("{\"phase\":\"Running\"," MAIN(
	        "\"running\":{\"startedAt\":\"2026-01-02T03:04:05Z\"}") "}");
	assert_int_equal(pod.phase, POD_RUNNING);
	assert_true(pod.started_unix_ms > 0);
}

static struct pod_state read_labels(const char *labels)
{
	struct pod_state pod;
	const struct json_value *value;
	struct error err = {0};
	const char *text = arena_format(&arena,
	                                "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":"
	                                "\"2026-01-02T03:04:05Z\",\"labels\":{%s}}}",
	                                labels);

	assert_int_equal(json_load(&arena, span_of(text), &value, &err), 0);
	assert_true(kubernetes_read_pod(value, &pod));
	return pod;
}

TEST(a_pod_is_a_sandboxs_or_a_warm_one)
{
	struct pod_state pod = read_labels("\"atoll.sandbox\":\"abcdefghijklmnopqrst\"");

	assert_string_equal(pod.sandbox, "abcdefghijklmnopqrst");
	assert_string_equal(pod.warm, "");
	assert_true(pod.made_unix_ms > 0);
	pod = read_labels("\"atoll.warm\":\"0123456789abcdef\"");
	assert_string_equal(pod.sandbox, "");
	assert_string_equal(pod.warm, "0123456789abcdef");
	/* A claimed pod is a sandbox's, whatever its other labels are. */
	pod = read_labels("\"atoll.warm\":\"0123456789abcdef\","
	                  "\"atoll.sandbox\":\"abcdefghijklmnopqrst\"");
	assert_string_equal(pod.warm, "");
	pod = read_labels("\"atoll.warm\":\"longer than any shape\",\"atoll.sandbox\":\"../a\"");
	assert_string_equal(pod.sandbox, "");
	assert_string_equal(pod.warm, "");
}

TEST(a_pod_tells_its_node)
{
	const struct json_value *value;
	struct error err = {0};
	struct pod_state pod;
	static const char *const texts[] = {
	        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":\"worker-1.example\"}}",
	        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"nodeName\":7}}",
	        "{\"metadata\":{\"name\":\"a\"}}"};
	static const char *const nodes[] = {"worker-1.example", "", ""};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		assert_int_equal(json_load(&arena, span_of(texts[i]), &value, &err), 0);
		assert_true(kubernetes_read_pod(value, &pod));
		assert_string_equal(pod.node, nodes[i]);
	}
}

TEST(a_pod_says_why_it_does_not_start)
{
	struct pod_state pod = read_pod(
	        "{\"phase\":\"Pending\"," MAIN("\"waiting\":{\"reason\":\"ImagePullBackOff\","
	                                       "\"message\":\"no\\u0007 such image\"}") "}");

	assert_true(pod.is_stuck);
	assert_string_equal(pod.problem, "main: ImagePullBackOff: no  such image");
	pod = read_pod(
	        "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
	        "\"False\",\"message\":\"Insufficient cpu\"}]}");
	assert_true(pod.lacks_node && !pod.is_stuck);
	assert_string_equal(pod.problem, "no node takes it: Insufficient cpu");
}

TEST(a_pod_whose_volume_is_being_made_does_not_lack_a_node)
{
	static const char *const messages[] = {
	        "0/1 nodes are available: 1 pod has unbound immediate PersistentVolumeClaims.",
	        "0/1 nodes are available: 1 persistentvolumeclaim \\\"atoll-x\\\" not found."};

	for (size_t i = 0; i < COUNT_OF(messages); i++) {
		char status[512];

		(void)snprintf(status, sizeof(status),
		               "{\"phase\":\"Pending\",\"conditions\":[{\"type\":\"PodScheduled\","
		               "\"status\":\"False\",\"message\":\"%s\"}]}",
		               messages[i]);
		struct pod_state pod = read_pod(status);

		assert_true(!pod.lacks_node && !pod.is_stuck);
		assert_non_null(strcasestr(pod.problem, "persistentvolumeclaim"));
	}
}

TEST(a_pod_says_why_it_has_ended)
{
	struct pod_state pod = read_pod("{\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":"
	                                "\"disk\"}");

	assert_int_equal(pod.phase, POD_ENDED);
	assert_int_equal(pod.ended, SANDBOX_REASON_EXIT);
	assert_string_equal(pod.problem, "Evicted: disk");
	pod = read_pod("{\"phase\":\"Failed\"," MAIN(
	        "\"terminated\":{\"reason\":\"OOMKilled\",\"exitCode\":137}") "}");
	assert_int_equal(pod.ended, SANDBOX_REASON_OOM);
}

TEST(what_is_no_pod_is_none)
{
	struct pod_state pod;
	const struct json_value *value;
	struct error err = {0};

	assert_int_equal(json_load(&arena, SPAN("{\"metadata\":{}}"), &value, &err), 0);
	assert_false(kubernetes_read_pod(value, &pod));
	assert_false(kubernetes_read_pod(NULL, &pod));
}

TEST(a_class_gives_what_its_handler_gives)
{
	struct error err = {0};

	assert_string_equal(kubernetes_isolation_of(""), "namespaces");
	assert_string_equal(kubernetes_isolation_of("fast"), "namespaces");
	assert_string_equal(kubernetes_isolation_of("gvisor"), "gvisor");
	assert_string_equal(kubernetes_isolation_of("kata-qemu"), "microvm");
	assert_int_equal(kubernetes_check_handler("gvisor", "runsc", &err), 0);
	assert_int_equal(kubernetes_check_handler("gvisor", "runc", &err), -1);
	assert_non_null(strstr(err.text, "handler 'runc'"));
	assert_int_equal(kubernetes_check_handler("kata-qemu", "runsc", &err), -1);
}

TEST(a_pod_of_an_object_has_the_id_of_its_start)
{
	const struct json_value *value;
	struct error err = {0};
	struct pod_state pod;
	struct id start = id_new();
	const char *text = arena_format(
	        &arena,
	        "{\"metadata\":{\"name\":\"a\",\"uid\":\"u\",\"annotations\":{\"" NOTE_START
	        "\":\"%s\"}}}",
	        start.text);

	assert_int_equal(json_load(&arena, span_of(text), &value, &err), 0);
	assert_true(kubernetes_read_pod(value, &pod));
	assert_string_equal(pod.start, start.text);
	assert_string_equal(pod.uid, "u");
	assert_string_equal(read_pod("{}").start, "");
}

/* The controller's own label of a Sandbox object. */
TEST(a_name_has_the_hash_of_the_controllers_label)
{
	char hash[9];

	kubernetes_sandbox_hash("", hash);
	assert_string_equal(hash, "811c9dc5");
	kubernetes_sandbox_hash("foobar", hash);
	assert_string_equal(hash, "bf9cf968");
}

TEST(sizes_are_read_as_the_cluster_writes_them)
{
	static const struct {
		const char *text;
		int64_t mb;
	} sizes[] = {{"0", 0},         {"1", 1},           {"1048576", 1},   {"1048577", 2},
	             {"5Gi", 5120},    {"100Mi", 100},     {"1.5Gi", 1536},  {"1G", 954},
	             {"1e9", 954},     {"1048576000m", 1}, {"2Ti", 2097152}, {"", 0},
	             {"-1Gi", 0},      {" 1Gi", 0},        {"0x10Gi", 0},    {"nan", 0},
	             {"inf", 0},       {"1Xi", 0},         {"1Gi ", 0},      {"1e400", 0},
	             {"9999999Ei", 0}, {"1.Gi", 1024},     {".5Gi", 512}};

	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		if (quantity_mb(sizes[i].text) != sizes[i].mb)
			fail_msg("'%s' is %lld", sizes[i].text,
			         (long long)quantity_mb(sizes[i].text));
}

int main(void)
{
	return RUN(CASE(a_class_gives_what_its_handler_gives),
	           CASE(a_kubeconfig_names_server_user_and_namespace),
	           CASE(a_client_certificate_comes_with_its_key),
	           CASE(what_would_be_unsafe_or_is_not_known_is_refused_by_name),
	           CASE(a_pod_runs_when_its_own_container_does),
	           CASE(a_pod_is_a_sandboxs_or_a_warm_one), CASE(a_pod_tells_its_node),
	           CASE(a_pod_says_why_it_does_not_start),
	           CASE(a_pod_whose_volume_is_being_made_does_not_lack_a_node),
	           CASE(a_pod_says_why_it_has_ended), CASE(what_is_no_pod_is_none),
	           CASE(a_pod_of_an_object_has_the_id_of_its_start),
	           CASE(a_name_has_the_hash_of_the_controllers_label),
	           CASE(sizes_are_read_as_the_cluster_writes_them));
}
