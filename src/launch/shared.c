/* SPDX-License-Identifier: Apache-2.0 */
/* LAUNCH_SHARED. The mounts are made once, in a mount namespace that no sandbox sees. */
#include "launch/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "isolation/layer.h"
#include "launch/server.h"

#define PATHS_MAX 2
#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID)

/* The template "host" shows the machine's own programs. Its /usr keeps the host's ids, which no
 * user inside has, so a file that only root may read stays unreadable for root inside. Mapped ids
 * would make root inside the owner of the host's files. sudo works only if root owns it, so it
 * alone is mapped. */
static const struct {
	const char *name;
	const char *options;          /* of a tmpfs, or … */
	const char *paths[PATHS_MAX]; /* … where it lies on the host; a request chooses */
	uint64_t attributes;
	enum launch_map map;
	bool is_agent; /* … or the agent's program */
} rows[LAYER_COUNT] = {
        [LAYER_DEV] = {.name = "dev",
                       .options = "mode=0755,size=65536",
                       .attributes = READ_ONLY | MOUNT_ATTR_NOEXEC},
        [LAYER_KVM] = {.name = "kvm",
                       .options = "mode=0755,size=65536",
                       .attributes = READ_ONLY | MOUNT_ATTR_NOEXEC},
        [LAYER_SYS] = {.name = "sys",
                       .options = "mode=0755,size=65536",
                       .attributes = READ_ONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC},
        [LAYER_ROOT] = {.name = "root",
                        .options = "mode=0755,size=32m",
                        .attributes = MOUNT_ATTR_RDONLY},
        [LAYER_USR] = {.name = "usr",
                       .paths = {"/usr"},
                       .attributes = READ_ONLY | MOUNT_ATTR_NODEV},
        [LAYER_SUDO] = {.name = "sudo",
                        .paths = {"/usr/bin/sudo"},
                        .attributes = MOUNT_ATTR_RDONLY,
                        .map = LAUNCH_MAP_IDS},
        /* The second path is of releases before Debian 12. */
        [LAYER_SUDO_LIB] = {.name = "sudo-lib",
                            .paths = {"/usr/libexec/sudo", "/usr/lib/sudo"},
                            .attributes = MOUNT_ATTR_RDONLY,
                            .map = LAUNCH_MAP_IDS},
        [LAYER_RUNSC] = {.name = "runsc",
                         .paths = {"/usr/bin/runsc"},
                         .attributes = READ_ONLY | MOUNT_ATTR_NODEV},
        [LAYER_AGENT] = {.name = "agent",
                         .attributes = READ_ONLY | MOUNT_ATTR_NODEV,
                         .is_agent = true},
};

const char *shared_layer_name(unsigned layer)
{
	return rows[layer].name;
}

enum launch_map shared_layer_map(unsigned layer)
{
	return rows[layer].map;
}

/* A folder is mounted on a folder, a file on a file. */
static int make_mount_point(int folder, const char *name, int mount, struct error *err)
{
	struct stat status;
	int fd;

	if (fstat(mount, &status) < 0)
		return FAIL_ERRNO(err, "look at a mount");
	if (S_ISDIR(status.st_mode))
		return mkdirat(folder, name, 0700) < 0 && errno != EEXIST
		               ? FAIL_ERRNO(err, "make 'run/layers/%s'", name)
		               : 0;
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return FAIL_ERRNO(err, "make 'run/layers/%s'", name);
	(void)close(fd);
	return 0;
}

/* Nothing can change the mount from here on, clones included. */
static int keep_mount(const struct launch_server *l, unsigned layer, int mount, struct error *err)
{
	const struct layer_options options = {.attributes = rows[layer].attributes, .map_fd = -1};
	const struct fd_open_options open_it = {.flags = O_PATH | O_DIRECTORY};
	const char *name = rows[layer].name;
	AUTO_CLOSE int folder = -1;

	if (fd_open_beneath(l->data_fd, LAUNCH_LAYERS_PATH, &open_it, &folder, err) < 0 ||
	    layer_set(mount, &options, err) < 0 || make_mount_point(folder, name, mount, err) < 0)
		return -1;
	return move_mount(mount, "", folder, name, MOVE_MOUNT_F_EMPTY_PATH) < 0
	               ? FAIL_ERRNO(err, "place a mount at 'run/layers/%s'", name)
	               : 0;
}

/* Not recursive: what the host mounts below is not part of it. */
static int keep_clone(const struct launch_server *l, unsigned layer, int folder, const char *path,
                      struct error *err)
{
	const struct layer_options options = {.map_fd = -1};
	AUTO_CLOSE int fd = -1;

	return layer_open(folder, path, &options, &fd, err) < 0 ? -1
	                                                        : keep_mount(l, layer, fd, err);
}

int serve_shared(struct launch_server *l, const struct launch_call *call, struct launch_reply *ret,
                 struct error *err)
{
	const struct launch_shared *request = call->request;
	int fd;

	if (request->layer >= LAYER_COUNT || request->path >= PATHS_MAX)
		return FAIL(err, ERROR_INVALID, "shared mount %u is unknown", request->layer);
	if (rows[request->layer].paths[request->path])
		return keep_clone(l, request->layer, AT_FDCWD,
		                  rows[request->layer].paths[request->path], err);
	if (rows[request->layer].is_agent)
		return keep_clone(l, request->layer, l->agent_fd, "", err);
	if (!rows[request->layer].options)
		return FAIL(err, ERROR_INVALID, "shared mount %u is unknown", request->layer);
	if (call->fd_count == 1)
		return keep_mount(l, request->layer, call->fds[0], err);
	if (layer_make("tmpfs", rows[request->layer].options, 0, &fd, err) < 0)
		return -1;
	launch_reply_add(ret, fd);
	return 0;
}
