/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/mounts.h"

#include "broker/layers/stacks.h"
#include "broker/prewarm/pool.h"
#include "broker/sandbox/pool.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/volume/mount.h"
#include "broker/volume/volume.h"
#include "wire/broker_kind.h"

/* The layers below the sandbox's own files; NULL: only its template. */
const struct layer_stack *sandbox_stack_of(const struct sandbox *sandbox)
{
	return sandbox->pool ? &sandbox->pool->blueprint.stack
	                     : layer_stacks_of(sandbox->sandboxes->stacks, sandbox->id);
}

/* sudo's parts are made for all sandboxes of the template "host". */
static void drop_sudo(const struct sandbox *sandbox, struct root_mounts *m)
{
	static const unsigned parts[] = {LAYER_SUDO, LAYER_SUDO_LIB};

	for (unsigned i = 0; i < COUNT_OF(parts); i++)
		if (m->layers[parts[i]] >= 0)
			prewarm_pool_let_go(sandbox->sandboxes->prewarm_pool,
			                    TAKE_FD(m->layers[parts[i]]));
}

static int open_root(struct sandbox *sandbox, struct root_mounts *ret, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	struct prewarm *prewarm = sandbox->prewarm;
	char name[GROUP_NAME_SIZE];
	struct root_options options = {.template_name = sandbox->template_name,
	                               .stack = sandbox_stack_of(sandbox),
	                               .upper_fd = sandbox->disk_fd,
	                               .upper_folder = FOLDER_PREWARMS,
	                               .upper_name = name,
	                               .ids_fd = prewarm->ids_fd,
	                               .stored_fd = prewarm->stored_fd,
	                               .layers = host_root_layers(host, sandbox->template_name)};
	bool is_special = sandbox->kind == BROKER_GVISOR || sandbox->has_kvm;

	if (sandbox->kind == BROKER_GVISOR)
		options.layers |= GVISOR_LAYERS;
	if (sandbox->has_kvm)
		options.layers = (options.layers | 1u << LAYER_KVM) & ~(1u << LAYER_DEV);
	host_group_name(sandbox->slot, name);
	if (sandbox->restart) {
		options.upper_folder = FOLDER_SANDBOXES;
		options.upper_name = sandbox->id;
	} else if (sandbox->disk_fd >= 0) {
		options.upper_name = NULL;
	} else if (!is_special &&
	           prewarm_has_root(prewarm,
	                            &(struct prewarm_guess){sandbox->template_name, options.stack,
	                                                    &sandbox->limits})) {
		*ret = prewarm->root;
		prewarm->root = ROOT_MOUNTS_NONE;
		return 0;
	} else if (prewarm_drop_root(prewarm, err) < 0) {
		return -1;
	}
	prewarm_let_go_of_root(prewarm);
	return host_root_open(host, &options, ret, err);
}

void setup_mounts_close(struct setup_mounts *m)
{
	root_mounts_close(&m->root);
	review_close(&m->trees);
}

static int open_volumes(struct sandbox *sandbox, struct error *err)
{
	for (unsigned i = 0; i < sandbox->volume_count; i++) {
		struct mounted_volume *volume = &sandbox->volumes[i];

		if (volume->fd < 0 &&
		    volume_open(sandbox->sandboxes->host, volume, sandbox->prewarm->stored_fd,
		                &volume->fd, err) < 0)
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
	if (!sandbox->privileges)
		drop_sudo(sandbox, &m->root);
	sandbox_step(sandbox, "overlay");
	return open_volumes(sandbox, err) < 0 ? -1 : open_review(sandbox, m, err);
}
