/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/docker/container.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "http/client/client.h"
#include "json/json.h"
#include "json/write.h"

#define INSIDE "/.atoll"
#define LOG_SIZE_MAX "1m" /* of what the agent itself reports */
#define SHARES_IN_BACKGROUND 2
#define ENABLE_ICC "com.docker.network.bridge.enable_icc"
#define OWNER_LABEL "atoll.owner"
#define EPOCH_LABEL "atoll.epoch"
#define TEMPLATE_LABEL "atoll.template"

void docker_container_name(const char *server, const char *sandbox, char out[DOCKER_NAME_SIZE])
{
	(void)snprintf(out, DOCKER_NAME_SIZE, "atoll-%s-%s", server, sandbox);
}

static void write_mount(struct buf *out, const char *source, const char *target)
{
	json_begin_object(out, NULL);
	json_add_text(out, "Type", "bind");
	json_add_text(out, "Source", source);
	json_add_text(out, "Target", target);
	json_add_bool(out, "ReadOnly", true);
	json_end_object(out);
}

const char *docker_volume_id(const char *name)
{
	size_t before = strlen("atoll-") + ID_SIZE + 1;

	return strncmp(name, "atoll-", 6) == 0 && strlen(name) == before + ID_SIZE &&
	                       id_is_valid(name + before)
	               ? name + before
	               : NULL;
}

static bool has_same_mount(const struct sandbox_spec *spec, const struct sandbox_mount *wanted)
{
	for (size_t i = 0; i < spec->mount_count; i++) {
		const struct sandbox_mount *m = &spec->mounts[i];

		if (strcmp(m->volume_id, wanted->volume_id) == 0 &&
		    strcmp(m->path, wanted->path) == 0 && m->is_read_only == wanted->is_read_only)
			return true;
	}
	return false;
}

bool docker_mounts_are_same(const struct sandbox_spec *a, const struct sandbox_spec *b)
{
	if (a->mount_count != b->mount_count)
		return false;
	for (size_t i = 0; i < a->mount_count; i++)
		if (!has_same_mount(b, &a->mounts[i]))
			return false;
	return true;
}

static void write_volume(struct buf *out, const char *server, const struct sandbox_mount *mount)
{
	char name[DOCKER_NAME_SIZE];

	docker_container_name(server, mount->volume_id, name);
	json_begin_object(out, NULL);
	json_add_text(out, "Type", "volume");
	json_add_text(out, "Source", name);
	json_add_text(out, "Target", mount->path);
	json_add_bool(out, "ReadOnly", mount->is_read_only);
	json_begin_object(out, "VolumeOptions");
	json_add_bool(out, "NoCopy", true);
	json_end_object(out);
	json_end_object(out);
}

int64_t docker_nano_cpus(const struct sandbox_resources *resources)
{
	return (int64_t)(resources->cpu * 1e9 + 0.5);
}

/* Without swap: the limit is of all memory. */
static void write_limit_members(struct buf *out, const struct sandbox_resources *r)
{
	json_add_whole(out, "Memory", r->memory_mb << 20);
	json_add_whole(out, "MemorySwap", r->memory_mb << 20);
	json_add_whole(out, "NanoCpus", docker_nano_cpus(r));
	json_add_whole(out, "PidsLimit", r->pids);
}

void docker_write_limits(struct buf *out, const struct sandbox_resources *resources)
{
	json_begin_object(out, NULL);
	write_limit_members(out, resources);
	json_end_object(out);
}

static void write_log(struct buf *out)
{
	json_begin_object(out, "LogConfig");
	json_add_text(out, "Type", "json-file");
	json_begin_object(out, "Config");
	json_add_text(out, "max-size", LOG_SIZE_MAX);
	json_end_object(out);
	json_end_object(out);
}

static void write_gpus(struct buf *out, unsigned count)
{
	static const char *const gpu[] = {"gpu", NULL};

	json_begin_list(out, "DeviceRequests");
	json_begin_object(out, NULL);
	json_add_text(out, "Driver", "");
	json_add_whole(out, "Count", count);
	json_begin_list(out, "Capabilities");
	json_add_texts(out, NULL, gpu);
	json_end_list(out);
	json_end_object(out);
	json_end_list(out);
}

static void write_host_part(struct buf *out, const struct docker_container *c)
{
	/* Those of isolation_capabilities. */
	static const char *const capabilities[] = {
	        "CHOWN",  "DAC_OVERRIDE", "FOWNER",           "FSETID",     "KILL",    "SETGID",
	        "SETUID", "SETPCAP",      "NET_BIND_SERVICE", "SYS_CHROOT", "SETFCAP", NULL};
	static const char *const all[] = {"ALL", NULL}, *const none[] = {NULL};
	static const char *const no_privileges[] = {"no-new-privileges:true", NULL};

	json_begin_object(out, "HostConfig");
	if (c->runtime && *c->runtime)
		json_add_text(out, "Runtime", c->runtime);
	write_limit_members(out, &c->spec->resources);
	if (c->spec->background)
		json_add_whole(out, "CpuShares", SHARES_IN_BACKGROUND);
	if (c->spec->gpus > 0)
		write_gpus(out, c->spec->gpus);
	json_add_text(out, "NetworkMode",
	              c->spec->network == SANDBOX_NETWORK_INTERNET ? DOCKER_NETWORK : "none");
	json_add_texts(out, "CapDrop", all);
	json_add_texts(out, "CapAdd", capabilities);
	json_add_texts(out, "SecurityOpt", c->spec->privileges ? none : no_privileges);
	json_begin_list(out, "Mounts");
	write_mount(out, c->program, INSIDE "/agent");
	write_mount(out, c->folder, INSIDE "/link");
	for (size_t i = 0; i < c->spec->mount_count; i++)
		write_volume(out, c->server, &c->spec->mounts[i]);
	json_end_list(out);
	write_log(out);
	json_end_object(out);
}

static void write_labels(struct buf *out, const struct docker_container *c)
{
	char epoch[24];

	json_begin_object(out, "Labels");
	if (c->is_probe) {
		json_add_text(out, DOCKER_PROBE_LABEL, c->server);
		json_end_object(out);
		return;
	}
	json_add_text(out, DOCKER_SERVER_LABEL, c->server);
	json_add_text(out, DOCKER_SANDBOX_LABEL, c->spec->id);
	json_add_text(out, OWNER_LABEL, c->spec->owner ? c->spec->owner : "");
	(void)snprintf(epoch, sizeof(epoch), "%lld", (long long)c->spec->lease_epoch);
	json_add_text(out, EPOCH_LABEL, epoch);
	json_add_text(out, TEMPLATE_LABEL, c->spec->template_dir);
	json_end_object(out);
}

void docker_write_container(struct buf *out, const struct docker_container *c)
{
	static const char *const program[] = {INSIDE "/agent", NULL};
	static const char *const arguments[] = {"--connect", INSIDE "/link/agent.sock", NULL};
	static const char *const no_check[] = {"NONE", NULL};
	char token[sizeof(AGENT_TOKEN_VARIABLE) + 1 + AGENT_TOKEN_MAX];
	const char *const environment[] = {token, NULL};

	(void)snprintf(token, sizeof(token), AGENT_TOKEN_VARIABLE "=%s", c->token);
	json_begin_object(out, NULL);
	json_add_text(out, "Image", c->image);
	json_add_text(out, "Hostname", c->spec->hostname ? c->spec->hostname : "");
	json_add_text(out, "User", "0:0");
	json_add_text(out, "WorkingDir", "/");
	json_add_texts(out, "Entrypoint", program);
	json_add_texts(out, "Cmd", arguments);
	json_add_texts(out, "Env", environment);
	json_add_text(out, "StopSignal", "SIGTERM");
	json_begin_object(out, "Healthcheck");
	json_add_texts(out, "Test", no_check);
	json_end_object(out);
	write_labels(out, c);
	write_host_part(out, c);
	json_end_object(out);
}

void docker_write_network(struct buf *out, const char *server)
{
	json_begin_object(out, NULL);
	json_add_text(out, "Name", DOCKER_NETWORK);
	json_add_bool(out, "CheckDuplicate", true);
	json_add_text(out, "Driver", "bridge");
	json_begin_object(out, "Options");
	json_add_text(out, ENABLE_ICC, "false");
	json_end_object(out);
	json_begin_object(out, "Labels");
	json_add_text(out, DOCKER_SERVER_LABEL, server);
	json_end_object(out);
	json_end_object(out);
}

void docker_write_list_path(struct buf *out, const char *list, const char *label, const char *value)
{
	char filter[128];

	(void)snprintf(filter, sizeof(filter), "{\"label\":[\"%s=%s\"]}", label, value);
	buf_add_text(out, list);
	http_escape(out, filter);
}

int docker_load_answer(struct arena *a, struct span body, const struct json_value **ret,
                       struct error *err)
{
	struct error why = {0};

	if (json_load(a, body, ret, &why) == 0)
		return 0;
	return FAIL(err, ERROR_UNAVAILABLE, "an answer of docker is not JSON: %s", why.text);
}

int docker_check_network(struct span body, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	const struct json_value *root;

	if (docker_load_answer(&arena, body, &root, err) < 0)
		return -1;
	if (id_is_valid(json_get_text(json_get(root, "Labels"), DOCKER_SERVER_LABEL, "")) &&
	    strcmp(json_get_text(root, "Driver", ""), "bridge") == 0 &&
	    strcmp(json_get_text(json_get(root, "Options"), ENABLE_ICC, ""), "false") == 0)
		return 0;
	(void)FAIL(err, ERROR_CONFLICT,
	           "docker has a network '" DOCKER_NETWORK "' that Atoll did not make");
	return FAIL_HINT(err, "remove it (docker network rm " DOCKER_NETWORK
	                      "): its containers may reach one another");
}

static void read_claim(const struct json_value *labels, struct provider_entry *entry)
{
	const char *owner = json_get_text(labels, OWNER_LABEL, "");
	struct error ignored = {0};

	if (id_is_valid(owner))
		memcpy(entry->owner, owner, sizeof(entry->owner));
	(void)!span_parse_whole(span_of(json_get_text(labels, EPOCH_LABEL, "")), 0, INT64_MAX,
	                        &entry->lease_epoch, &ignored);
}

int docker_read_list(struct arena *a, struct span body, struct provider_list *ret,
                     struct error *err)
{
	const struct json_value *root;
	struct provider_list list = {0};

	if (docker_load_answer(a, body, &root, err) < 0)
		return -1;
	if (span_trim(body).size == 0 || span_trim(body).data[0] != '[')
		return FAIL(err, ERROR_UNAVAILABLE,
		            "the list of containers from docker is no list");
	list.entries = ARENA_ARRAY(a, struct provider_entry, json_count(root) + 1);
	for (size_t i = 0; i < json_count(root); i++) {
		const struct json_value *item = json_item_at(root, i);
		const char *id = json_get_text(json_get(item, "Labels"), DOCKER_SANDBOX_LABEL, "");
		const char *state = json_get_text(item, "State", "");

		if (!id_is_valid(id))
			continue;
		struct provider_entry *entry = &list.entries[list.count++];
		memcpy(entry->id, id, sizeof(entry->id));
		entry->paused = strcmp(state, "paused") == 0;
		entry->running = entry->paused || strcmp(state, "running") == 0;
		read_claim(json_get(item, "Labels"), entry);
	}
	*ret = list;
	return 0;
}

static void find_token(const struct json_value *config, char out[AGENT_TOKEN_MAX + 1])
{
	const struct json_value *environment = json_get(config, "Env");
	static const char name[] = AGENT_TOKEN_VARIABLE "=";

	for (size_t i = 0; i < json_count(environment); i++) {
		const char *text = json_text(json_item_at(environment, i), "");

		if (strncmp(text, name, strlen(name)) == 0)
			(void)snprintf(out, AGENT_TOKEN_MAX + 1, "%s", text + strlen(name));
	}
}

/* Volumes that the image wants (VOLUME) are in no snapshot. */
static void find_image_volume(const struct json_value *mounts, char *out, size_t size)
{
	for (size_t i = 0; i < json_count(mounts); i++) {
		const struct json_value *mount = json_item_at(mounts, i);

		if (strcmp(json_get_text(mount, "Type", ""), "volume") == 0 &&
		    !docker_volume_id(json_get_text(mount, "Name", "")))
			(void)snprintf(out, size, "%s", json_get_text(mount, "Destination", "?"));
	}
}

static void read_mounts(struct arena *a, const struct json_value *list, struct sandbox_spec *spec)
{
	struct sandbox_mount *mounts = ARENA_ARRAY(a, struct sandbox_mount, json_count(list) + 1);

	spec->mounts = mounts;
	for (size_t i = 0; i < json_count(list); i++) {
		const struct json_value *item = json_item_at(list, i);
		const char *id = docker_volume_id(json_get_text(item, "Source", ""));

		if (id && strcmp(json_get_text(item, "Type", ""), "volume") == 0)
			mounts[spec->mount_count++] = (struct sandbox_mount){
			        .volume_id = id,
			        .path = json_get_text(item, "Target", ""),
			        .is_read_only = json_get_bool(item, "ReadOnly", false)};
	}
}

static unsigned read_gpus(const struct json_value *requests)
{
	int64_t count = json_get_whole(json_item_at(requests, 0), "Count", 0);

	return count > 0 && count <= SANDBOX_GPUS_MAX ? (unsigned)count : 0;
}

/* The reverse of docker_write_container. */
static struct sandbox_spec read_spec(struct arena *a, const struct json_value *root)
{
	const struct json_value *config = json_get(root, "Config"),
	                        *host = json_get(root, "HostConfig");
	const struct json_value *labels = json_get(config, "Labels");
	struct provider_entry claim = {.running = false};
	struct sandbox_spec spec = {
	        .hostname = json_get_text(config, "Hostname", ""),
	        .template_dir = json_get_text(labels, TEMPLATE_LABEL, ""),
	        .resources = {.cpu = (double)json_get_whole(host, "NanoCpus", 0) / 1e9,
	                      .memory_mb = json_get_whole(host, "Memory", 0) >> 20,
	                      .pids = json_get_whole(host, "PidsLimit", 0)},
	        .network = strcmp(json_get_text(host, "NetworkMode", "none"), DOCKER_NETWORK) == 0
	                           ? SANDBOX_NETWORK_INTERNET
	                           : SANDBOX_NETWORK_BLOCKED,
	        .privileges = json_count(json_get(host, "SecurityOpt")) == 0,
	        .background = json_get_whole(host, "CpuShares", 0) == SHARES_IN_BACKGROUND,
	        .gpus = read_gpus(json_get(host, "DeviceRequests")),
	};

	read_claim(labels, &claim);
	spec.owner = arena_text(a, claim.owner);
	spec.lease_epoch = claim.lease_epoch;
	read_mounts(a, json_get(host, "Mounts"), &spec);
	return spec;
}

static unsigned read_depth(const struct json_value *labels)
{
	struct error ignored = {0};
	int64_t depth = 0;

	(void)!span_parse_whole(span_of(json_get_text(labels, DOCKER_DEPTH_LABEL, "0")), 0, 1000,
	                        &depth, &ignored);
	return (unsigned)depth;
}

int docker_read_state(struct arena *a, struct span body, struct docker_state *ret,
                      struct sandbox_spec *ret_spec, struct error *err)
{
	const struct json_value *root;
	struct docker_state s = {0};

	if (docker_load_answer(a, body, &root, err) < 0)
		return -1;
	const struct json_value *state = json_get(root, "State");
	if (!state)
		return FAIL(err, ERROR_UNAVAILABLE, "docker tells of a container without a state");
	s.running = json_get_bool(state, "Running", false);
	s.paused = json_get_bool(state, "Paused", false);
	s.oom_killed = json_get_bool(state, "OOMKilled", false);
	s.exit_code = json_get_whole(state, "ExitCode", 0);
	s.size_bytes = json_get_whole(root, "SizeRw", -1);
	const struct json_value *limits = json_get(root, "HostConfig");
	s.memory_limit_bytes = json_get_whole(limits, "Memory", 0);
	s.cpu_limit_nano = json_get_whole(limits, "NanoCpus", 0);
	s.pids_limit = json_get_whole(limits, "PidsLimit", 0);
	(void)json_time_parse(span_of(json_get_text(state, "StartedAt", "")), &s.started_unix_ms);
	find_token(json_get(root, "Config"), s.token);
	s.depth = read_depth(json_get(json_get(root, "Config"), "Labels"));
	find_image_volume(json_get(root, "Mounts"), s.image_volume, sizeof(s.image_volume));
	*ret = s;
	if (ret_spec)
		*ret_spec = read_spec(a, root);
	return 0;
}

static uint64_t number_of(const struct json_value *object, const char *name)
{
	double number = json_number(json_get(object, name), 0);

	return number > 0 && number < 9e18 ? (uint64_t)number : 0;
}

/* The kernel's cache of files, which it gives back when memory is short, is not counted. */
static uint64_t used_memory(const struct json_value *memory)
{
	const struct json_value *parts = json_get(memory, "stats");
	uint64_t usage = number_of(memory, "usage"),
	         cache = number_of(parts, "total_inactive_file");

	if (cache == 0)
		cache = number_of(parts, "inactive_file");
	return cache < usage ? usage - cache : usage;
}

int docker_read_stats(struct arena *a, struct span body, struct provider_stats *ret,
                      struct error *err)
{
	const struct json_value *root, *networks;

	if (docker_load_answer(a, body, &root, err) < 0)
		return -1;
	struct provider_stats s = {
	        .sampled_unix_ms = clock_unix_ms(),
	        .cpu_usage_us = number_of(json_get(json_get(root, "cpu_stats"), "cpu_usage"),
	                                  "total_usage") /
	                        1000,
	        .memory_bytes = used_memory(json_get(root, "memory_stats")),
	        .memory_limit_bytes = number_of(json_get(root, "memory_stats"), "limit"),
	        .disk_bytes = UINT64_MAX,
	        .pids = number_of(json_get(root, "pids_stats"), "current"),
	        .pids_limit = number_of(json_get(root, "pids_stats"), "limit"),
	};
	networks = json_get(root, "networks");
	for (size_t i = 0; i < json_count(networks); i++) {
		const char *name = NULL;
		const struct json_value *one = json_member_at(networks, i, &name);

		s.network_in_bytes += number_of(one, "rx_bytes");
		s.network_out_bytes += number_of(one, "tx_bytes");
	}
	*ret = s;
	return 0;
}
