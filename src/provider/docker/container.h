/* SPDX-License-Identifier: Apache-2.0 */
/* provider/docker/container.h — what Docker is told about a sandbox, and what it answers. Pure: no
 * I/O. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "provider/entries.h"
#include "provider/provider.h"
#include "wire/agent_reverse.h"

/* Every container of this server has this label, with the server's id. */
#define DOCKER_SERVER_LABEL "atoll.server"
#define DOCKER_SANDBOX_LABEL "atoll.sandbox"
/* How many snapshots lie above the template; a container has it from its image. */
#define DOCKER_DEPTH_LABEL "atoll.depth"
/* In its place, of a container that only shows that the runtime works. */
#define DOCKER_PROBE_LABEL "atoll.probe"
/* A network whose containers do not reach one another. */
#define DOCKER_NETWORK "atoll"

struct json_value;

#define DOCKER_NAME_SIZE (sizeof("atoll--") + 2 * ID_SIZE)
/* The container's name holds both ids: a name from here is never another server's. */
void docker_container_name(const char *server, const char *sandbox, char out[DOCKER_NAME_SIZE]);

/* The id in the name of a volume, which is that of a container; NULL: another volume. */
const char *docker_volume_id(const char *name);
bool docker_mounts_are_same(const struct sandbox_spec *a, const struct sandbox_spec *b);

/* ERROR_UNAVAILABLE for a body that is not JSON: the daemon is at fault, not the caller. */
MUST_CHECK int docker_load_answer(struct arena *a, struct span body, const struct json_value **ret,
                                  struct error *err);

struct docker_container {
	const struct sandbox_spec *spec;
	const char *server; /* id */
	const char *image;
	const char *program; /* the agent's, on the host; absolute */
	const char *folder;  /* of the agent's socket, on the host; absolute */
	const char *token;
	const char *runtime; /* NULL or "" = the daemon's default */
	bool is_probe;
};
void docker_write_container(struct buf *out, const struct docker_container *c);
int64_t docker_nano_cpus(const struct sandbox_resources *resources);
void docker_write_limits(struct buf *out, const struct sandbox_resources *resources);
void docker_write_network(struct buf *out, const char *server);
/* ERROR_CONFLICT for a network of that name that no Atoll made, or whose containers reach one
 * another. */
MUST_CHECK int docker_check_network(struct span body, struct error *err);
/* The path of a list, "…?filters=", and the filter for objects with this label. */
void docker_write_list_path(struct buf *out, const char *list, const char *label,
                            const char *value);
#define DOCKER_CONTAINER_LIST "/containers/json?all=1&filters="

/* Owner and epoch are those of the create. Skips containers without a sandbox's label. */
MUST_CHECK int docker_read_list(struct arena *a, struct span body, struct provider_list *ret,
                                struct error *err);
struct docker_state {
	bool running, paused, oom_killed;
	int64_t exit_code;
	int64_t started_unix_ms;
	int64_t memory_limit_bytes, cpu_limit_nano, pids_limit;
	int64_t size_bytes; /* of its own files; -1: not asked for */
	char token[AGENT_TOKEN_MAX + 1];
	unsigned depth;
	char image_volume[128]; /* a path that the image keeps in a volume of its own; "" = none */
};
/* `ret_spec`: also what the container was made from, in the arena; or NULL. */
MUST_CHECK int docker_read_state(struct arena *a, struct span body, struct docker_state *ret,
                                 struct sandbox_spec *ret_spec, struct error *err);
/* Without uptime_ms and oom_kills. */
MUST_CHECK int docker_read_stats(struct arena *a, struct span body, struct provider_stats *ret,
                                 struct error *err);
