/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/mounts.h"

#include <string.h>

#include "base/fd.h"
#include "broker/layers/root.h"
#include "broker/prewarm/pool.h"
#include "broker/sandbox/pool.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/volume/mount.h"
#include "broker/volume/volume.h"
#include "isolation/layer.h"

/* ---- files ---- */

/* The layers below the sandbox's own files; NULL: only its template. */
const struct layer_stack *sandbox_stack_of(const struct sandbox *sandbox)
{
	return sandbox->pool ? &sandbox->pool->blueprint.stack
	                     : layer_stacks_of(sandbox->sandboxes->stacks, sandbox->id);
}

static int open_root(struct sandbox *sandbox, int *ret_fd, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	struct prewarm *prewarm = sandbox->prewarm;
	char name[GROUP_NAME_SIZE];
	struct root_options options = {.template_name = sandbox->template_name,
	                               .stack = sandbox_stack_of(sandbox),
	                               .upper_fd = host->folders[FOLDER_PREWARMS],
	                               .upper_name = name,
	                               .ids_fd = prewarm->ids_fd,
	                               .stored_fd = prewarm->stored_fd,
	                               .let_go = prewarm_pool_let_go,
	                               .context = sandbox->sandboxes->prewarm_pool};

	host_group_name(sandbox->slot, name);
	if (sandbox->disk_fd >= 0) {
		options.upper_fd = sandbox->disk_fd;
		options.upper_name = NULL;
	} else if (sandbox->restart) {
		options.upper_fd = host->folders[FOLDER_SANDBOXES];
		options.upper_name = sandbox->id;
	} else if (prewarm_has_root(prewarm,
	                            &(struct prewarm_guess){sandbox->template_name, options.stack,
	                                                    &sandbox->limits})) {
		*ret_fd = TAKE_FD(prewarm->root_fd);
		return 0;
	} else if (prewarm_drop_root(prewarm, err) < 0) {
		return -1;
	}
	prewarm_let_go_of_root(prewarm);
	return host_root_open(host, &options, ret_fd, err);
}

/* Clones a mount that all sandboxes share. sudo's parts get the sandbox's ids, so that root inside
 * owns them. */
static int open_shared(const struct sandbox *sandbox, enum host_layer layer, bool mapped,
                       int *ret_fd, struct error *err)
{
	int source = sandbox->sandboxes->host->layers[layer];
	struct layer_options options = {.map_fd = mapped ? sandbox->prewarm->ids_fd : -1};

	if (source < 0)
		return 0;
	return layer_open(source, "", &options, ret_fd, err);
}

void setup_mounts_close(struct setup_mounts *m)
{
	fd_forget(&m->root);
	fd_forget(&m->dev);
	fd_forget(&m->sys);
	fd_forget(&m->usr);
	fd_forget(&m->sudo);
	fd_forget(&m->sudo_lib);
	for (unsigned i = 0; i < m->volume_count; i++)
		fd_forget(&m->volumes[i]);
	review_close(&m->trees);
}

static int open_volumes(struct sandbox *sandbox, struct setup_mounts *m, struct error *err)
{
	for (; m->volume_count < sandbox->volume_count; m->volume_count++) {
		int *fd = &m->volumes[m->volume_count];

		*fd = TAKE_FD(sandbox->volume_fds[m->volume_count]);
		if (*fd < 0 &&
		    volume_open(sandbox->sandboxes->host, &sandbox->volumes[m->volume_count],
		                sandbox->prewarm->stored_fd, fd, err) < 0)
			return -1;
	}
	return 0;
}

static int open_review(const struct sandbox *sandbox, struct setup_mounts *m, struct error *err)
{
	const struct review_maps maps = {sandbox->prewarm->ids_fd, sandbox->prewarm->stored_fd};

	return sandbox->review
	               ? review_open(sandbox->review, sandbox->sandboxes, &maps, &m->trees, err)
	               : 0;
}

int setup_mounts_open(struct sandbox *sandbox, struct setup_mounts *m, struct error *err)
{
	if (open_root(sandbox, &m->root, err) < 0)
		return -1;
	sandbox_step(sandbox, "overlay");
	if (open_shared(sandbox, LAYER_DEV, false, &m->dev, err) < 0 ||
	    open_shared(sandbox, LAYER_SYS, false, &m->sys, err) < 0 ||
	    open_volumes(sandbox, m, err) < 0 || open_review(sandbox, m, err) < 0)
		return -1;
	if (strcmp(sandbox->template_name, "host") != 0)
		return 0;
	if (open_shared(sandbox, LAYER_USR, false, &m->usr, err) < 0)
		return -1;
	if (!sandbox->privileges)
		return 0;
	if (open_shared(sandbox, LAYER_SUDO, true, &m->sudo, err) < 0)
		return -1;
	return open_shared(sandbox, LAYER_SUDO_LIB, true, &m->sudo_lib, err);
}
