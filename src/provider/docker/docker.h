/* SPDX-License-Identifier: Apache-2.0 */
/* provider/docker/docker.h — the provider that runs each sandbox as a container of a Docker daemon.
 * Private to this folder.
 *
 *   DATA/docker/provider        name of the provider whose own folder is DATA/docker
 *   DATA/docker/templates/NAME  an empty folder for each image, with a description beside it
 *                               (image/image.h); the image is the daemon's
 *   DATA/docker/providers/NAME  the own folder of each further provider, see folders.c
 *
 * An own folder has these:
 *
 *   daemon     which daemon has the containers, see daemon.c
 *   id         the id in names and labels of the provider's containers; that of DATA/docker is also
 *              in the names of images
 *   lock       held while the provider is open
 *   links/ID   the folder of the agent's socket, see provider/agent_reverse.h
 *   claims/ID  owner and lease epoch of a sandbox that was started again
 *
 * The agent is process 1 of the container and connects to the socket. Only containers whose name
 * holds this server's id are ever touched. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "base/map.h"
#include "base/path.h"
#include "provider/docker/container.h"
#include "provider/docker/engine.h"
#include "provider/docker/version.h"
#include "provider/kind_options.h"
#include "provider/kinds.h"

struct agent_links;
struct agent_reverse;

struct docker_provider {
	struct provider base;
	struct provider_ops ops; /* with its own isolation */
	struct provider_options options;
	_Atomic(const struct docker_options *) docker; /* those that hold now */
	const char *name;                              /* of the provider */
	char server[ID_SIZE + 1];                      /* of its containers */
	char image_owner[ID_SIZE + 1];
	char *root;       /* DATA/docker */
	char *dir;        /* its own folder */
	char *claims_dir; /* see provider/claims.h */
	char *links_dir;  /* as the daemon reaches it: absolute */
	int lock_fd;
	struct docker_engine *engine;
	struct agent_reverse *reverse;
	struct agent_links *links;

	pthread_mutex_t network_mutex; /* held while the network is looked up or made */
	atomic_bool has_runtime;       /* the runtime was tried, and works */
	pthread_mutex_t runtime_mutex; /* held while it is tried; guards the next two */
	struct error runtime_problem;
	int64_t runtime_again_at;
	pthread_mutex_t replace_mutex; /* held while a container is replaced or the list read */
	pthread_t thread;              /* of ended.c */
	pthread_mutex_t mutex;         /* guards all below */
	pthread_cond_t wake;           /* of that thread */
	struct map running;            /* ids of sandboxes whose end must be reported */
	struct list suspects;          /* struct suspect of ended.c */
	bool is_closing;
};

static inline const struct docker_options *docker_options_of(const struct docker_provider *d)
{
	return atomic_load(&d->docker);
}

static inline struct docker_provider *as_docker(struct provider *p)
{
	return (struct docker_provider *)p;
}

/* change.c */
MUST_CHECK int docker_change(struct provider *p, const struct provider_options *options,
                             struct error *err);

/* folders.c */
MUST_CHECK int docker_open_folders(struct docker_provider *d, struct error *err);

/* runtime.c */
void docker_describe(const struct provider_options *options, struct provider_ops *ret);
MUST_CHECK int docker_check_runtime_name(const struct provider_options *options, struct error *err);
/* The limit that the kernel gets for `pids` processes inside: it counts gVisor's threads, too. */
int64_t docker_kernel_pids(const struct provider *p, int64_t pids);
uint64_t docker_inner_pids(const struct provider *p, uint64_t kernel_pids);
/* ERROR_UNSUPPORTED when the daemon lacks the runtime, or an agent in it does not reach this
 * server. Blocks for a probe until it has succeeded once. */
MUST_CHECK int docker_check_runtime(struct provider *p, struct error *err);
/* Whether the sandbox may have the GPUs that it asks for. */
MUST_CHECK int docker_check_gpus(struct provider *p, const struct sandbox_spec *spec,
                                 int64_t deadline, struct error *err);
MUST_CHECK int docker_probe(struct provider *p, const struct provider_probe *probe,
                            int64_t deadline, struct error *err);

/* replace.c: the whole description of a container, from its spec and image. */
struct docker_filled {
	struct docker_container container;
	struct sandbox_spec spec;
	char folder[PATH_SIZE_MAX], token[AGENT_TOKEN_MAX / 2];
};
void docker_fill(struct provider *p, const struct docker_container *wanted,
                 struct docker_filled *ret);
MUST_CHECK int docker_post_container(struct provider *p, const struct docker_container *c,
                                     int64_t deadline, struct error *err);
/* Replaces a stopped container; without an image by one with its own files. When it fails the old
 * one is there, or the list finishes it. */
MUST_CHECK int docker_replace(struct provider *p, const struct docker_container *wanted,
                              int64_t deadline, struct error *err);
/* The caller holds replace_mutex. */
MUST_CHECK int docker_finish_replacements(struct provider *p, struct span list_body,
                                          int64_t deadline, bool *ret_changed, struct error *err);

/* snapshots.c */
extern const struct snapshot_ops docker_snapshots;
/* Commits the container of a sandbox, under a name that the list of snapshots sweeps when it is not
 * used. The caller holds replace_mutex. */
MUST_CHECK int docker_keep_files(struct provider *p, const char *sandbox, int64_t deadline,
                                 struct buf *ret_image, struct error *err);
void docker_snapshot_image(struct provider *p, const char *id, struct buf *out);
MUST_CHECK int docker_measure_snapshot(struct provider *p, const char *id, int64_t deadline,
                                       uint64_t *ret, struct error *err);

/* volumes.c */
extern const struct volume_ops docker_volumes;
/* ERROR_NOT_FOUND for a volume that is gone; ERROR_UNSUPPORTED for a folder of one. */
MUST_CHECK int docker_check_mounts(struct provider *p, const struct sandbox_spec *spec,
                                   int64_t deadline, struct error *err);
/* Gives new volumes of a sandbox that has just started to its user. */
MUST_CHECK int docker_own_mounts(struct provider *p, const struct sandbox_spec *spec,
                                 int64_t deadline, struct error *err);

/* docker.c: makes and starts a container of this spec and image; the rest of `c` is filled in. */
MUST_CHECK int docker_make(struct provider *p, const struct docker_container *c, int64_t deadline,
                           struct error *err);
int docker_destroy(struct provider *p, const char *id, int64_t deadline, struct error *err);

/* The state of a sandbox's container. ERROR_NOT_FOUND: "no sandbox 'ID'". */
MUST_CHECK int docker_inspect(struct provider *p, const char *id, int64_t deadline,
                              struct docker_state *ret, struct error *err);
struct docker_named {
	const char *id;
	int64_t deadline;
};
/* Also what it was made from. The id is borrowed. */
MUST_CHECK int docker_read_container(struct provider *p, const struct docker_named *named,
                                     struct arena *a, struct docker_state *ret,
                                     struct sandbox_spec *ret_spec, struct error *err);
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

/* image.c: the image of a template's folder. An imported image is on the daemon or nowhere. */
bool docker_image_is_imported(const char *folder);
MUST_CHECK int docker_image_of(struct provider *p, const char *folder, struct buf *out,
                               struct error *err);
/* An image of the operator's, with the operator's login. */
MUST_CHECK int docker_pull_own(struct provider *p, const char *image, int64_t deadline,
                               struct error *err);
MUST_CHECK int docker_template_make(struct provider *p, const struct provider_template *request,
                                    int64_t deadline, struct error *err);
