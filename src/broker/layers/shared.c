/* SPDX-License-Identifier: Apache-2.0 */
/* The mounts that sandboxes share. They are made once, in the broker's own mount namespace, so that
 * no sandbox adds to the host's mounts. The template "host" shows the machine's own programs. Its
 * /usr keeps the host's ids, which no user inside has, so a file that only root may read stays
 * unreadable for root inside. Mapped ids would make root inside the owner of the host's files. sudo
 * works only if root owns it, so it alone is mapped, and only when all users may read all of it. A
 * task fills them (task/fill.c). */
#include "broker/layers/shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "broker/host/host.h"
#include "broker/host/task_start.h"
#include "isolation/layer.h"

#define READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID)
#define TREE_DEPTH_MAX 8

static const char *const places[LAYER_COUNT] = {
        [LAYER_DEV] = "dev", [LAYER_SYS] = "sys",   [LAYER_ROOT] = "root",
        [LAYER_USR] = "usr", [LAYER_SUDO] = "sudo", [LAYER_SUDO_LIB] = "sudo-lib"};

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

/* Keeps the mount attached; nothing can change it from here on, clones included. */
static int keep_mount(struct host *host, enum host_layer layer, int fd, uint64_t attributes,
                      struct error *err)
{
	struct layer_options options = {.attributes = attributes, .map_fd = -1};
	int folder = host->folders[FOLDER_LAYERS];
	const char *name = places[layer];

	if (layer_set(fd, &options, err) < 0 || make_mount_point(folder, name, fd, err) < 0)
		return -1;
	if (move_mount(fd, "", folder, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return FAIL_ERRNO(err, "place a mount at 'run/layers/%s'", name);
	host->layers[layer] = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return host->layers[layer] < 0 ? FAIL_ERRNO(err, "open 'run/layers/%s'", name) : 0;
}

/* Keeps a clone of a part of the host as it is. */
static int keep_clone(struct host *host, enum host_layer layer, const char *path,
                      uint64_t attributes, struct error *err)
{
	struct layer_options options = {.map_fd = -1};
	AUTO_CLOSE int fd = -1;

	/* Not recursive: what the host mounts below is not part of it. */
	if (layer_open(AT_FDCWD, path, &options, &fd, err) < 0)
		return -1;
	return keep_mount(host, layer, fd, attributes, err);
}

struct filled_layer {
	enum host_layer layer;
	const char *name, *options;
	uint64_t attributes;
};

static const struct filled_layer filled_layers[] = {
        {LAYER_DEV, "dev", "mode=0755,size=65536", READ_ONLY | MOUNT_ATTR_NOEXEC},
        {LAYER_SYS, "sys", "mode=0755,size=65536",
         READ_ONLY | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC},
        {LAYER_ROOT, "host", "mode=0755,size=32m", MOUNT_ATTR_RDONLY},
};

/* A task fills it. */
static int make_layer(struct host *host, const struct filled_layer *made, struct error *err)
{
	struct task_command command = {.kind = TASK_FILL, .count = 1, .words = {made->name}};
	AUTO_CLOSE int root = -1;

	if (layer_make("tmpfs", made->options, 0, &root, err) < 0)
		return -1;
	command.input_fd = root;
	if (task_run(host, &command, NULL, err) < 0)
		return FAIL_CONTEXT(err, "fill '%s'", made->name);
	return keep_mount(host, made->layer, root, made->attributes, err);
}

/* ---- the template "host" ---- */

/* True when root owns everything at the path and all users may read it. */
static bool is_public(const char *path, unsigned depth)
{
	struct stat status;
	struct dirent *entry;
	bool answer = true;
	DIR *folder;

	if (lstat(path, &status) < 0 || status.st_uid != 0 || depth > TREE_DEPTH_MAX)
		return false;
	if (S_ISLNK(status.st_mode) || S_ISREG(status.st_mode))
		return status.st_mode & S_IROTH;
	if (!S_ISDIR(status.st_mode) || !(folder = opendir(path)))
		return false;
	while (answer && (entry = readdir(folder))) {
		char child[PATH_SIZE_MAX];

		(void)snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		answer = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		         is_public(child, depth + 1);
	}
	(void)closedir(folder);
	return answer;
}

static int make_sudo(struct host *host, struct error *err)
{
	/* The second one is of releases before Debian 12. */
	static const char *const libraries[] = {"/usr/libexec/sudo", "/usr/lib/sudo"};
	struct stat status;

	if (stat("/usr/bin/sudo", &status) < 0 || !(status.st_mode & S_ISUID) ||
	    !is_public("/usr/bin/sudo", 0))
		return 0;
	for (unsigned i = 0; i < COUNT_OF(libraries); i++) {
		if (access(libraries[i], F_OK) < 0)
			continue;
		if (!is_public(libraries[i], 0))
			return 0;
		host->sudo_lib_dir = libraries[i];
		if (keep_clone(host, LAYER_SUDO_LIB, libraries[i], MOUNT_ATTR_RDONLY, err) < 0)
			return -1;
		break;
	}
	return keep_clone(host, LAYER_SUDO, "/usr/bin/sudo", MOUNT_ATTR_RDONLY, err);
}

int host_layers_make(struct host *host, struct error *err)
{
	mode_t old_mask = umask(0);
	int status = 0;

	for (unsigned i = 0; status == 0 && i < COUNT_OF(filled_layers); i++)
		status = make_layer(host, &filled_layers[i], err);
	if (status == 0)
		status = keep_clone(host, LAYER_USR, "/usr", READ_ONLY | MOUNT_ATTR_NODEV, err);
	if (status == 0)
		status = make_sudo(host, err);
	(void)umask(old_mask);
	return status < 0 ? FAIL_CONTEXT(err, "prepare shared mounts") : 0;
}
