/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime of a provider's containers: which isolation it gives, whether the daemon has it, and
 * whether an agent in such a container reaches this server. */
#include "provider/docker/docker.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "http/client/client.h"
#include "json/json.h"

#define PROBE_MS 20000
#define AGENT_MS 8000
#define CLEAN_UP_MS 10000
#define REST_MS 30000     /* between two probes, while they fail */
#define REST_DOWN_MS 2000 /* while the daemon is down */
#define PROBES_MAX 100
#define GVISOR_PIDS 256 /* threads of its own, as of a native sandbox of gVisor */
#define GVISOR_THREADS 3

/* A runtime's name begins with the name of its program. */
static const struct docker_runtime {
	const char *name, *isolation;
	const char *cure; /* when the agent of a probe does not connect, or NULL */
} runtimes[] = {
        {"runc", "namespaces", NULL},
        {"crun", "namespaces", NULL},
        {"nvidia", "namespaces", NULL},
        {"runsc", "gvisor",
         "gVisor opens no socket of the host unless its runtime has the argument --host-uds=open: "
         "add it to runtimeArgs in /etc/docker/daemon.json and restart Docker"},
        {"kata", "microvm",
         "a virtual machine opens no socket of the host unless its shared folder passes sockets"},
};

static const struct docker_runtime *find_runtime(const char *name)
{
	for (size_t i = 0; i < COUNT_OF(runtimes); i++)
		if (strncmp(name, runtimes[i].name, strlen(runtimes[i].name)) == 0)
			return &runtimes[i];
	return NULL;
}

static const char *name_of(const struct provider_options *options)
{
	return options->docker && options->docker->runtime ? options->docker->runtime : "";
}

void docker_describe(const struct provider_options *options, struct provider_ops *ret)
{
	const struct docker_runtime *r = find_runtime(name_of(options));

	if (r)
		ret->isolation = r->isolation;
	/* The driver of a GPU is this kernel's. */
	if (options->docker && options->docker->has_gpus &&
	    strcmp(ret->isolation, "namespaces") == 0)
		ret->abilities |=
		        PROVIDER_CAN_GPU |
		        (options->docker->has_gpu_network ? PROVIDER_CAN_GPU_NETWORK : 0u);
	/* Their agent cannot hand a socket of the inside to this server. */
	if (strcmp(ret->isolation, "namespaces") != 0)
		ret->abilities &= ~(unsigned)PROVIDER_CAN_DIAL;
}

int docker_check_gpus(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                      struct error *err)
{
	const struct docker_dialect *dialect;

	if (spec->gpus == 0)
		return 0;
	if (provider_require(p, PROVIDER_CAN_GPU, err) < 0 ||
	    (spec->network != SANDBOX_NETWORK_BLOCKED &&
	     provider_require(p, PROVIDER_CAN_GPU_NETWORK, err) < 0) ||
	    docker_engine_dialect(as_docker(p)->engine, deadline, &dialect, err) < 0)
		return -1;
	/* It would make the container without GPUs, and not say so. */
	return dialect->has_gpus ? 0
	                         : FAIL(err, ERROR_UNSUPPORTED, "%s gives no GPUs", dialect->name);
}

static bool is_gvisor(const struct provider *p)
{
	return strcmp(p->ops->isolation, "gvisor") == 0;
}

int64_t docker_kernel_pids(const struct provider *p, int64_t pids)
{
	return is_gvisor(p) ? GVISOR_PIDS + GVISOR_THREADS * pids : pids;
}

uint64_t docker_inner_pids(const struct provider *p, uint64_t kernel_pids)
{
	if (!is_gvisor(p))
		return kernel_pids;
	return kernel_pids > GVISOR_PIDS ? (kernel_pids - GVISOR_PIDS) / GVISOR_THREADS : 0;
}

int docker_check_runtime_name(const struct provider_options *options, struct error *err)
{
	const char *name = name_of(options);

	if (!*name || find_runtime(name))
		return 0;
	(void)FAIL(err, ERROR_INVALID,
	           "docker_runtime: the isolation of runtime '%.60s' is not known", name);
	return FAIL_HINT(err, "name the runtime after its program in the daemon's configuration: "
	                      "runc, crun, nvidia, runsc or kata, with any ending");
}

/* The program of the runtime, or the type of its shim: "/usr/bin/runsc", "io.containerd.kata.v2".
 */
static bool is_program(const struct json_value *entry, const char *name)
{
	const char *path = json_get_text(entry, "path", ""),
	           *type = json_get_text(entry, "runtimeType", "");
	const char *slash = strrchr(path, '/');

	if (!*path && !*type)
		return true; /* the daemon does not say */
	if (strncmp(slash ? slash + 1 : path, name, strlen(name)) == 0)
		return true;
	return strstr(type, name) != NULL || strstr(path, name) != NULL;
}

static int check_listed(const struct json_value *info, const char *name, const char *program,
                        struct error *err)
{
	const struct json_value *list = json_get(info, "Runtimes"), *entry = json_get(list, name);
	AUTO(buf_done) struct buf known = BUF(512);

	if (entry && is_program(entry, program))
		return 0;
	if (entry)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "docker's runtime '%.60s' is the program '%.200s', so its isolation is "
		            "not known",
		            name, json_get_text(entry, "path", ""));
	for (size_t i = 0; i < json_count(list); i++) {
		const char *other = NULL;

		(void)json_member_at(list, i, &other);
		buf_addf(&known, "%s%s", i > 0 ? ", " : "", other);
	}
	(void)FAIL(err, ERROR_UNSUPPORTED, "docker has no runtime '%.60s'; it has: %s", name,
	           buf_text(&known));
	return FAIL_HINT(err, "install it and name it under \"runtimes\" in "
	                      "/etc/docker/daemon.json, then restart Docker");
}

static int check_installed(struct provider *p, const char *program, int64_t deadline,
                           struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct docker_call call = {.method = "GET", .path = "/info", .deadline = deadline};
	const struct json_value *root;

	if (docker_engine_load(as_docker(p)->engine, &call, &arena, &root, err) < 0)
		return -1;
	return check_listed(root, name_of(&as_docker(p)->options), program, err);
}

/* An image without files: the agent needs none, and a probe needs no image of the operator's. */
static int make_empty_image(struct provider *p, const char *id, int64_t deadline, struct buf *out,
                            struct error *err)
{
	static const char empty_tar[1024];
	char path[256];

	(void)snprintf(path, sizeof(path), "/images/create?fromSrc=-&repo=atoll-%s-probe&tag=%s",
	               as_docker(p)->server, id);
	const struct docker_call call = {.method = "POST",
	                                 .path = path,
	                                 .body = {empty_tar, sizeof(empty_tar)},
	                                 .content_type = "application/x-tar",
	                                 .deadline = deadline};
	buf_addf(out, "atoll-%s-probe:%s", as_docker(p)->server, id);
	if (docker_engine_do(as_docker(p)->engine, &call, NULL, err) < 0)
		return FAIL_CONTEXT(err, "image of a probe");
	return 0;
}

static void drop_empty_image(struct provider *p, const char *image)
{
	static const int accepted[] = {404, 409, 0};
	char path[256];
	const struct docker_call call = {.method = "DELETE",
	                                 .path = path,
	                                 .deadline = deadline_after(CLEAN_UP_MS),
	                                 .accepted = accepted};

	(void)snprintf(path, sizeof(path), "/images/%s", image);
	(void)!docker_engine_do(as_docker(p)->engine, &call, NULL, &(struct error){0});
}

/* A server that was killed has left them. */
static void remove_old_probes(struct provider *p, int64_t deadline)
{
	static const int accepted[] = {404, 409, 0};
	AUTO(arena_done) struct arena arena = {0};
	AUTO(buf_done) struct buf path = BUF(1024);
	const struct json_value *root;
	struct error ignored = {0};

	docker_write_list_path(&path, DOCKER_CONTAINER_LIST, DOCKER_PROBE_LABEL,
	                       as_docker(p)->server);
	const struct docker_call list = {
	        .method = "GET", .path = buf_text(&path), .deadline = deadline};
	if (docker_engine_load(as_docker(p)->engine, &list, &arena, &root, &ignored) < 0)
		return;
	for (size_t i = 0; i < json_count(root) && i < PROBES_MAX; i++) {
		const char *id = json_get_text(json_item_at(root, i), "Id", "");
		char one[256];
		const struct docker_call call = {.method = "DELETE",
		                                 .path = one,
		                                 .deadline = deadline,
		                                 .accepted = accepted};

		(void)snprintf(one, sizeof(one), "/containers/%.80s?force=1&v=1", id);
		if (strspn(id, "0123456789abcdef") == strlen(id) && *id)
			(void)!docker_engine_do(as_docker(p)->engine, &call, NULL, &ignored);
	}
}

int docker_probe(struct provider *p, const struct provider_probe *probe, int64_t deadline,
                 struct error *err)
{
	const struct docker_runtime *r = find_runtime(name_of(&as_docker(p)->options));
	AUTO(buf_done) struct buf image = BUF(256);
	struct id id = id_new();
	const struct sandbox_spec spec = {
	        .id = id.text,
	        .hostname = "probe",
	        .template_dir = "host",
	        .resources = {.cpu = 0.5, .memory_mb = 128, .disk_mb = 16, .pids = 64},
	        .network = probe->network};

	if (probe->egress && *probe->egress)
		return FAIL(err, ERROR_UNSUPPORTED, "provider 'docker' cannot do this: %s",
		            provider_ability_name(PROVIDER_CAN_FILTER));
	if (make_empty_image(p, id.text, deadline, &image, err) < 0)
		return -1;
	int64_t agent_by = deadline_after(AGENT_MS);
	const struct docker_container c = {
	        .spec = &spec, .image = buf_text(&image), .is_probe = true};
	int status = docker_make(p, &c, agent_by < deadline ? agent_by : deadline, err);
	if (status == 0)
		status = docker_destroy(p, id.text, deadline_after(CLEAN_UP_MS), err);
	else if (err->code == ERROR_TIMEOUT && r && r->cure) {
		error_clear(err);
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "docker's runtime '%.60s' keeps the agent of a container from the "
		           "server's socket",
		           name_of(&as_docker(p)->options));
		error_hint(err, "%s", r->cure);
	}
	drop_empty_image(p, buf_text(&image));
	return status;
}

static int look_at_runtime(struct provider *p, int64_t deadline, struct error *err)
{
	const struct docker_runtime *r = find_runtime(name_of(&as_docker(p)->options));

	if (!r || check_installed(p, r->name, deadline, err) < 0)
		return -1;
	if (!r->cure)
		return 0;
	remove_old_probes(p, deadline);
	return docker_probe(p, &(struct provider_probe){SANDBOX_NETWORK_BLOCKED, NULL}, deadline,
	                    err);
}

int docker_check_runtime(struct provider *p, struct error *err)
{
	struct docker_provider *d = as_docker(p);

	if (!*name_of(&d->options) || atomic_load(&d->has_runtime))
		return 0;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&d->runtime_mutex);
	if (atomic_load(&d->has_runtime))
		return 0;
	if (d->runtime_problem.code && clock_monotonic_ms() < d->runtime_again_at) {
		*err = d->runtime_problem;
		return -1;
	}
	if (look_at_runtime(p, deadline_after(PROBE_MS), err) == 0) {
		atomic_store(&d->has_runtime, true);
		return 0;
	}
	d->runtime_problem = *err;
	d->runtime_again_at =
	        deadline_after(err->code == ERROR_UNAVAILABLE ? REST_DOWN_MS : REST_MS);
	return -1;
}
