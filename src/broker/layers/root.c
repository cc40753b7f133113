/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/layers/root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "broker/host/host.h"
#include "broker/layers/stack.h"
#include "isolation/layer.h"

/* ---- the root of one sandbox ---- */

static int open_lower(const struct host *host, const struct root_options *root, int *ret_fd,
                      struct error *err)
{
	struct layer_options options = {.attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV,
	                                .map_fd = root->ids_fd};
	char path[128];

	if (strcmp(root->template_name, "host") == 0) {
		if (layer_open(host->layers[LAYER_ROOT], "", &options, ret_fd, err) == 0)
			return 0;
		return FAIL_HINT(err, "the template 'host' needs Linux 6.3");
	}
	(void)snprintf(path, sizeof(path), "%s/rootfs", root->template_name);
	if (faccessat(host->folders[FOLDER_TEMPLATES], path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL(err, ERROR_NOT_FOUND, "template '%s' has no root filesystem",
		            root->template_name);
	return layer_open(host->folders[FOLDER_TEMPLATES], path, &options, ret_fd, err);
}

static int open_upper(const struct root_options *root, int *ret_fd, struct error *err)
{
	struct layer_options options = {.attributes = MOUNT_ATTR_NODEV, .map_fd = root->stored_fd};

	if (root->upper_name)
		return layer_open(root->upper_fd, root->upper_name, &options, ret_fd, err);
	*ret_fd = fcntl(root->upper_fd, F_DUPFD_CLOEXEC, 0);
	if (*ret_fd < 0)
		return FAIL_ERRNO(err, "copy a descriptor");
	return layer_set(*ret_fd, &options, err);
}

/* A snapshot's files are stored with the same ids as a sandbox's own. */
static int open_snapshot(const struct host *host, const struct root_options *root, unsigned number,
                         int *ret_fd, struct error *err)
{
	struct layer_options options = {.attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV,
	                                .map_fd = root->stored_fd};
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/upper", root->stack->ids[number]);
	return layer_open(host->folders[FOLDER_SNAPSHOTS], path, &options, ret_fd, err);
}

static int open_layers(const struct host *host, const struct root_options *root, int *lowers,
                       struct overlay_options *overlay, struct error *err)
{
	for (unsigned i = 0; root->stack && i < root->stack->count; i++) {
		if (open_snapshot(host, root, i, &lowers[overlay->lower_count], err) < 0)
			return -1;
		overlay->lower_count++;
	}
	if (open_lower(host, root, &lowers[overlay->lower_count], err) < 0)
		return -1;
	overlay->lower_count++;
	return open_upper(root, &overlay->upper, err);
}

static void let_go_of_layer(const struct root_options *root, int fd)
{
	if (fd >= 0 && root->let_go)
		root->let_go(root->context, fd);
	else if (fd >= 0)
		(void)close(fd);
}

int host_root_open(const struct host *host, const struct root_options *root, int *ret_fd,
                   struct error *err)
{
	int lowers[LAYER_STACK_MAX + 1];
	struct overlay_options overlay = {
	        .lowers = lowers, .upper = -1, .scratch = host->folders[FOLDER_LAYERS]};
	int status = open_layers(host, root, lowers, &overlay, err);

	if (status == 0)
		status = layer_overlay(&overlay, ret_fd, err);
	for (unsigned i = 0; i < overlay.lower_count; i++)
		let_go_of_layer(root, lowers[i]);
	let_go_of_layer(root, overlay.upper);
	return status;
}

/* ---- layers to read ---- */

/* Opens the upper layer of a sandbox that may be running. A read returns the state of now or of a
 * moment later; the kernel guarantees that it neither crashes nor hangs. */
static int open_upper_to_read(const struct root_options *root, int *ret_fd, struct error *err)
{
	struct layer_options options = {.attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV,
	                                .map_fd = root->stored_fd};
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/upper", root->upper_name);
	return layer_open(root->upper_fd, path, &options, ret_fd, err);
}

static int open_tree_layers(const struct host *host, const struct root_options *root, int *lowers,
                            unsigned *count, struct error *err)
{
	if (root->upper_name) {
		if (open_upper_to_read(root, &lowers[*count], err) < 0)
			return -1;
		++*count;
	}
	for (unsigned i = 0; root->stack && i < root->stack->count; i++, ++*count)
		if (open_snapshot(host, root, i, &lowers[*count], err) < 0)
			return -1;
	if (!root->template_name)
		return 0;
	if (open_lower(host, root, &lowers[*count], err) < 0)
		return -1;
	++*count;
	return 0;
}

int host_tree_open(const struct host *host, const struct root_options *root, int *ret_fd,
                   struct error *err)
{
	int lowers[LAYER_STACK_MAX + 2];
	struct overlay_options overlay = {
	        .lowers = lowers, .upper = -1, .scratch = host->folders[FOLDER_LAYERS]};
	int status = open_tree_layers(host, root, lowers, &overlay.lower_count, err);

	if (status == 0 && overlay.lower_count == 1)
		*ret_fd = lowers[--overlay.lower_count];
	else if (status == 0)
		status = layer_overlay(&overlay, ret_fd, err);
	for (unsigned i = 0; i < overlay.lower_count; i++)
		(void)close(lowers[i]);
	return status;
}
