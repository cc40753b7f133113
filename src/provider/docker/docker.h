/* SPDX-License-Identifier: Apache-2.0 */
/* provider/docker/docker.h — the provider that runs each sandbox as a container of a Docker daemon.
 * Private to this folder.
 *
 *   DATA/docker/daemon          which daemon has the containers, see daemon.c
 *   DATA/docker/id              the id of this server in names and labels of its containers
 *   DATA/docker/lock            held while the provider is open
 *   DATA/docker/links/ID        the folder of the agent's socket, see provider/agent_reverse.h
 *   DATA/docker/templates/NAME  an empty folder for each image, with a description beside it
 *                               (image/image.h); the image is the daemon's
 *   DATA/docker/claims/ID       owner and lease epoch of a sandbox that was started again
 *
 * The agent is process 1 of the container and connects to the socket. Only containers whose name
 * holds this server's id are ever touched. */
#pragma once

#include <pthread.h>

#include "base/list.h"
#include "base/map.h"
#include "provider/docker/container.h"
#include "provider/docker/engine.h"
#include "provider/kinds.h"

struct agent_links;
struct agent_reverse;

struct docker_provider {
	struct provider base;
	struct provider_options options;
	char server[ID_SIZE + 1];
	char *dir;       /* DATA/docker */
	char *links_dir; /* DATA/docker/links as the daemon reaches it: absolute */
	int lock_fd;
	struct docker_engine *engine;
	struct agent_reverse *reverse;
	struct agent_links *links;

	pthread_mutex_t network_mutex; /* held while the network is looked up or made */
	pthread_t thread;              /* of ended.c */
	pthread_mutex_t mutex;         /* guards all below */
	pthread_cond_t wake;           /* of that thread */
	struct map running;            /* ids of sandboxes whose end must be reported */
	struct list suspects;          /* struct suspect of ended.c */
	bool is_closing;
};

static inline struct docker_provider *as_docker(struct provider *p)
{
	return (struct docker_provider *)p;
}

/* dialect.c: the daemon's own ways. */
struct docker_dialect {
	const char *name;
	const char *component; /* of the answer to /version */
	bool has_id;           /* /info tells an id that stays */
	bool has_update;       /* limits of a container can be changed */
	bool has_icc;          /* a network can keep its containers apart */
};
/* Asks the daemon. ERROR_UNSUPPORTED for one that is not known. */
MUST_CHECK int docker_find_dialect(struct provider *p, int64_t deadline,
                                   const struct docker_dialect **ret, struct error *err);
/* The state of a sandbox's container. ERROR_NOT_FOUND: "no sandbox 'ID'". */
MUST_CHECK int docker_inspect(struct provider *p, const char *id, int64_t deadline,
                              struct docker_state *ret, struct error *err);
/* Its agent's socket listens, with the container's token. */
MUST_CHECK int docker_adopt(struct provider *p, const char *id, const struct docker_state *state,
                            struct error *err);

/* daemon.c: ERROR_UNAVAILABLE names both daemons when this one is not the one that has the
 * containers. */
MUST_CHECK int docker_check_daemon(struct provider *p, int64_t deadline, struct error *err);

/* ended.c: reports sandboxes that end by themselves, and sweeps idle connections. */
MUST_CHECK int docker_ended_open(struct provider *p, struct error *err);
void docker_ended_close(struct provider *p);
void docker_set_running(struct provider *p, const char *id);
/* Its end is ours: it is not reported. Closes its connections. */
void docker_unset_running(struct provider *p, const char *id);
/* The agent's control connection broke. */
void docker_suspect(void *provider, const char *id);

/* claims.c: a container's labels cannot change, so the claim of a later start is a JSON file. */
MUST_CHECK int docker_claim_write(struct provider *p, const struct sandbox_spec *spec,
                                  struct error *err);
/* Leaves the entry without such a file. */
void docker_claim_read(struct provider *p, struct provider_entry *entry);
void docker_claim_remove(struct provider *p, const char *id);

/* image.c: the image of a template's folder. An imported image is on the daemon or nowhere. */
bool docker_image_is_imported(const char *folder);
MUST_CHECK int docker_image_of(struct provider *p, const char *folder, struct buf *out,
                               struct error *err);
MUST_CHECK int docker_template_make(struct provider *p, const struct provider_template *request,
                                    int64_t deadline, struct error *err);
