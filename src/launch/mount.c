/* SPDX-License-Identifier: Apache-2.0 */
/* LAUNCH_MOUNT: clones the mounts of folders, and makes overlays of them. */
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "isolation/layer.h"
#include "launch/server.h"
#include "launch/shared.h"

static_assert(LAUNCH_PARTS_MAX <= OVERLAY_LOWERS_MAX + 1, "an overlay takes all parts");

struct mounting {
	const struct launch_server *launch;
	const struct launch_call *call;
	const struct launch_mount *request;
	int fds[LAUNCH_PARTS_MAX]; /* the mounts of the parts */
	unsigned count;
};

static int get_fd(const struct mounting *m, int32_t number, int *ret, struct error *err)
{
	if (number < 0 || (unsigned)number >= m->call->fd_count)
		return FAIL(err, ERROR_INVALID, "descriptor %d is not in the request", number);
	*ret = m->call->fds[number];
	return 0;
}

static int get_map(const struct mounting *m, uint32_t map, int *ret, struct error *err)
{
	if (map >= LAUNCH_MAP_COUNT)
		return FAIL(err, ERROR_INVALID, "map %u is unknown", map);
	*ret = -1;
	return map == LAUNCH_MAP_NONE ? 0 : get_fd(m, m->request->maps[map], ret, err);
}

static int use_mount(int mount, const struct layer_options *options, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int fd = fcntl(mount, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return FAIL_ERRNO(err, "copy a descriptor");
	if (layer_set(fd, options, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int clone_path(const struct mounting *m, const char *path,
                      const struct layer_options *options, int *ret_fd, struct error *err)
{
	const struct fd_open_options open_it = {.flags = O_PATH};
	AUTO_CLOSE int fd = -1;

	return fd_open_beneath(m->launch->data_fd, path, &open_it, &fd, err) < 0
	               ? -1
	               : layer_open(fd, "", options, ret_fd, err);
}

static int open_part(const struct mounting *m, const struct launch_part *part, int *ret_fd,
                     struct error *err)
{
	struct layer_options options = {.attributes = part->attributes};
	int fd;

	if (get_map(m, part->map, &options.map_fd, err) < 0)
		return -1;
	if (part->fd < 0)
		return launch_check_text(part->path, sizeof(part->path), err) < 0
		               ? -1
		               : clone_path(m, part->path, &options, ret_fd, err);
	if (get_fd(m, part->fd, &fd, err) < 0)
		return -1;
	return part->is_mount ? use_mount(fd, &options, ret_fd, err)
	                      : layer_open(fd, "", &options, ret_fd, err);
}

static int open_parts(struct mounting *m, struct error *err)
{
	for (; m->count < m->request->count; m->count++)
		if (open_part(m, &m->request->parts[m->count], &m->fds[m->count], err) < 0)
			return -1;
	return 0;
}

/* Since Linux 6.15 the folder is not used. */
static int open_scratch(const struct launch_server *l, int *ret_fd, struct error *err)
{
	const struct fd_open_options folder = {.flags = O_PATH | O_DIRECTORY};

	return fd_open_beneath(l->data_fd, LAUNCH_LAYERS_PATH, &folder, ret_fd, err);
}

static int make_overlay(const struct mounting *m, int *ret_fd, struct error *err)
{
	const struct layer_options whole = {.attributes = m->request->attributes, .map_fd = -1};
	unsigned has_upper = m->request->has_upper ? 1 : 0;
	AUTO_CLOSE int scratch = -1, fd = -1;
	struct overlay_options options = {.lowers = m->fds,
	                                  .lower_count = m->count - has_upper,
	                                  .upper = has_upper ? m->fds[m->count - 1] : -1};

	if (open_scratch(m->launch, &scratch, err) < 0)
		return -1;
	options.scratch = scratch;
	if (layer_overlay(&options, &fd, err) < 0 || layer_set(fd, &whole, err) < 0)
		return -1;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int make_mount(struct mounting *m, struct launch_reply *ret, struct error *err)
{
	int fd;

	if (m->request->count == 0)
		return 0;
	if (open_parts(m, err) < 0)
		return -1;
	if (m->count == 1 && !m->request->has_upper)
		fd = m->fds[--m->count];
	else if (make_overlay(m, &fd, err) < 0)
		return -1;
	launch_reply_add(ret, fd);
	return 0;
}

static int clone_layers(const struct mounting *m, struct launch_reply *ret, struct error *err)
{
	for (unsigned i = 0; i < LAYER_COUNT; i++) {
		struct layer_options options = {.map_fd = -1};
		char path[64];
		int fd;

		if (!(m->request->layers >> i & 1))
			continue;
		if (get_map(m, shared_layer_map(i), &options.map_fd, err) < 0)
			return -1;
		(void)snprintf(path, sizeof(path), LAUNCH_LAYERS_PATH "/%s", shared_layer_name(i));
		if (clone_path(m, path, &options, &fd, err) < 0)
			return -1;
		launch_reply_add(ret, fd);
	}
	return 0;
}

int serve_mount(struct launch_server *l, const struct launch_call *call, struct launch_reply *ret,
                struct error *err)
{
	struct mounting m = {.launch = l, .call = call, .request = call->request};
	int status;

	if (m.request->count > LAUNCH_PARTS_MAX)
		return FAIL(err, ERROR_INVALID, "a mount of %u parts", m.request->count);
	status = make_mount(&m, ret, err);
	if (status == 0)
		status = clone_layers(&m, ret, err);
	while (m.count > 0)
		ret->late[ret->late_count++] = m.fds[--m.count];
	return status;
}
