/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/layers/root.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/host/launcher.h"
#include "broker/layers/stack.h"

static_assert(LAUNCH_PARTS_MAX >= LAYER_STACK_MAX + 2, "a request has room for all layers");

enum { FD_IDS, FD_STORED, FD_UPPER }; /* descriptors of the request */

struct root_request {
	const struct host *host;
	const struct root_options *root;
	struct launch_mount mount;
	struct wire_fds fds;
};

static struct launch_part *add_part(struct root_request *r, enum launch_map map,
                                    uint64_t attributes)
{
	struct launch_part *part = &r->mount.parts[r->mount.count++];

	*part = (struct launch_part){
	        .fd = -1, .map = map, .attributes = attributes | MOUNT_ATTR_NODEV};
	return part;
}

static int add_template(struct root_request *r, struct error *err)
{
	const char *name = r->root->template_name;
	struct launch_part *part = add_part(r, LAUNCH_MAP_IDS, MOUNT_ATTR_RDONLY);

	if (strcmp(name, "host") == 0) {
		(void)snprintf(part->path, sizeof(part->path), "%s/root",
		               host_folder_path(FOLDER_LAYERS));
		return 0;
	}
	(void)snprintf(part->path, sizeof(part->path), "%s/%s/rootfs",
	               host_folder_path(FOLDER_TEMPLATES), name);
	return faccessat(r->host->folders[FOLDER_DATA], part->path, F_OK, AT_SYMLINK_NOFOLLOW) < 0
	               ? FAIL(err, ERROR_NOT_FOUND, "template '%s' has no root filesystem", name)
	               : 0;
}

/* A snapshot's files are stored with the same ids as a sandbox's own. */
static void add_snapshots(struct root_request *r)
{
	const struct layer_stack *stack = r->root->stack;

	for (unsigned i = 0; stack && i < stack->count; i++) {
		struct launch_part *part = add_part(r, LAUNCH_MAP_STORED, MOUNT_ATTR_RDONLY);

		(void)snprintf(part->path, sizeof(part->path), "%s/%s/upper",
		               host_folder_path(FOLDER_SNAPSHOTS), stack->ids[i]);
	}
}

static void add_upper(struct root_request *r)
{
	struct launch_part *part = add_part(r, LAUNCH_MAP_STORED, 0);

	r->mount.has_upper = 1;
	if (r->root->upper_fd >= 0) {
		part->fd = FD_UPPER;
		part->is_mount = 1;
		r->fds.fds[r->fds.count++] = r->root->upper_fd;
		return;
	}
	(void)snprintf(part->path, sizeof(part->path), "%s/%s",
	               host_folder_path(r->root->upper_folder), r->root->upper_name);
}

/* The upper layer of a sandbox that may be running. A read returns the state of now or of a moment
 * later; the kernel guarantees that it neither crashes nor hangs. */
static void add_upper_to_read(struct root_request *r)
{
	struct launch_part *part = add_part(r, LAUNCH_MAP_STORED, MOUNT_ATTR_RDONLY);

	(void)snprintf(part->path, sizeof(part->path), "%s/%s/upper",
	               host_folder_path(r->root->upper_folder), r->root->upper_name);
}

static void begin_request(struct root_request *r, const struct host *host,
                          const struct root_options *root)
{
	*r = (struct root_request){
	        .host = host,
	        .root = root,
	        .mount = {.maps = {[LAUNCH_MAP_IDS] = FD_IDS, [LAUNCH_MAP_STORED] = FD_STORED},
	                  .attributes = root->attributes},
	        .fds = {.fds = {root->ids_fd, root->stored_fd}, .count = 2}};
}

static int send_request(struct root_request *r, struct root_mounts *ret, struct error *err)
{
	struct launcher_result got;

	if (launcher_call(r->host, LAUNCH_MOUNT, &r->mount, &r->fds, &got, err) < 0) {
		if (err->sys_errno == EINVAL && r->root->template_name &&
		    strcmp(r->root->template_name, "host") == 0)
			error_hint(err, "the template 'host' needs Linux 6.3");
		return -1;
	}
	if (root_mounts_take(ret, r->mount.layers, got.fds.fds, got.fds.count) == 0)
		return 0;
	wire_fds_close(&got.fds);
	return FAIL(err, ERROR_SYSTEM, "the answer of atoll-launch is malformed");
}

int host_root_open(const struct host *host, const struct root_options *root,
                   struct root_mounts *ret, struct error *err)
{
	struct root_request r;

	begin_request(&r, host, root);
	r.mount.layers = root->layers;
	add_snapshots(&r);
	if (add_template(&r, err) < 0)
		return -1;
	add_upper(&r);
	return send_request(&r, ret, err);
}

int host_tree_open(const struct host *host, const struct root_options *root, int *ret_fd,
                   struct error *err)
{
	struct root_mounts mounts;
	struct root_request r;

	begin_request(&r, host, root);
	if (root->upper_name)
		add_upper_to_read(&r);
	add_snapshots(&r);
	if (root->template_name && add_template(&r, err) < 0)
		return -1;
	/* A single layer is the mount itself, and no overlay. */
	r.mount.parts[0].attributes |= root->attributes;
	if (send_request(&r, &mounts, err) < 0)
		return -1;
	*ret_fd = mounts.root;
	return 0;
}

uint32_t host_root_layers(const struct host *host, const char *template_name)
{
	uint32_t wanted = 1u << LAYER_DEV | 1u << LAYER_SYS;

	if (strcmp(template_name, "host") == 0)
		wanted |= 1u << LAYER_USR | 1u << LAYER_SUDO | 1u << LAYER_SUDO_LIB;
	return wanted & host->layers;
}

bool host_has_gvisor(const struct host *host, struct error *err)
{
	if ((host->layers & GVISOR_LAYERS) == GVISOR_LAYERS)
		return true;
	error_set(err, ERROR_UNAVAILABLE, 0, HERE,
	          "gVisor was not installed when the broker started");
	error_hint(err, "install the Debian package runsc, then restart atolld");
	return false;
}

bool host_has_kvm(const struct host *host, struct error *err)
{
	if (host->layers & 1u << LAYER_KVM)
		return true;
	error_set(err, ERROR_UNSUPPORTED, 0, HERE,
	          "this machine had no /dev/kvm when the broker started");
	return false;
}

int root_mounts_take(struct root_mounts *m, uint32_t layers, const int *fds, unsigned count)
{
	struct root_mounts got = ROOT_MOUNTS_NONE;
	unsigned at = 0;

	if (count != 1 + (unsigned)__builtin_popcount(layers))
		return -1;
	got.root = fds[at++];
	for (unsigned i = 0; i < LAYER_COUNT; i++)
		if (layers >> i & 1)
			got.layers[i] = fds[at++];
	*m = got;
	return 0;
}

unsigned root_mounts_list(const struct root_mounts *m, int *ret_fds)
{
	unsigned count = 0;

	ret_fds[count++] = m->root;
	for (unsigned i = 0; i < LAYER_COUNT; i++)
		if (m->layers[i] >= 0)
			ret_fds[count++] = m->layers[i];
	return count;
}

void root_mounts_close(struct root_mounts *m)
{
	fd_forget(&m->root);
	for (unsigned i = 0; i < LAYER_COUNT; i++)
		fd_forget(&m->layers[i]);
}
