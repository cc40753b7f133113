/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/volume/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/host/launcher.h"
#include "broker/host/task_start.h"
#include "broker/volume/image.h"
#include "broker/volume/mount.h"
#include "isolation/ids.h"
#include "wire/task.h"

#define FILES "files"
#define IMAGE "files.img"
#define USER_ID 1000 /* owner of the top folder, as of a home */
#define NAME_SIZE (ID_SIZE + 8)

struct volume_opening {
	const struct host *host;
	int folder; /* of the volume */
	const struct mounted_volume *mount;
	int map_fd;
};

/* The folder, or the detached mount itself, as a mount for the sandbox. */
static int ask_mount(const struct volume_opening *o, int fd, bool is_mount, int *ret_fd,
                     struct error *err)
{
	const struct wire_fds fds = {.fds = {o->map_fd, fd}, .count = 2};
	struct launch_mount request = {
	        .maps = {[LAUNCH_MAP_STORED] = 0},
	        .count = 1,
	        .parts = {{.fd = 1,
	                   .map = LAUNCH_MAP_STORED,
	                   .attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
	                                 (o->mount->is_read_only ? (uint64_t)MOUNT_ATTR_RDONLY : 0),
	                   .is_mount = is_mount}}};

	return launcher_open_fd(o->host, LAUNCH_MOUNT, &request, &fds, ret_fd, err);
}

static int refuse_subpath(const char *subpath, struct error *err)
{
	if (errno != ELOOP && errno != ENOTDIR && errno != EXDEV)
		return FAIL_ERRNO(err, "open '%.120s' of a volume", subpath);
	return FAIL(err, ERROR_CONFLICT, "'%.120s' leads through a link or a file of the volume",
	            subpath);
}

/* The host's root owns a new folder until this call, also when the process that made it has been
 * killed. No file of a sandbox belongs to the host's root. */
static int set_owner(int folder, const char *subpath, struct error *err)
{
	const uid_t owner = ID_STORED + USER_ID;
	struct stat status;

	if (fstat(folder, &status) < 0)
		return FAIL_ERRNO(err, "look at '%.120s' of a volume", subpath);
	if (status.st_uid == 0 && fchownat(folder, "", owner, owner, AT_EMPTY_PATH) < 0)
		return FAIL_ERRNO(err, "give away '%.120s' of a volume", subpath);
	return 0;
}

/* Sandboxes wrote these files, so the walk takes one step at a time and follows no link. */
static int open_subfolder(int files, const char *subpath, int *ret_fd, struct error *err)
{
	const struct fd_open_options folder = {.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW};
	struct span rest = span_of(subpath), word;
	AUTO_CLOSE int fd = fcntl(files, F_DUPFD_CLOEXEC, 0);
	char name[SANDBOX_MOUNT_PATH_MAX + 1];

	if (fd < 0)
		return FAIL_ERRNO(err, "copy a descriptor");
	while (rest.size > 0) {
		struct error failure = {0};
		int next;

		(void)span_split(&rest, '/', &word);
		(void)snprintf(name, sizeof(name), "%.*s", (int)word.size, word.data);
		if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
			return refuse_subpath(subpath, err);
		fault_point("broker", "volume-part");
		if (fd_open_beneath(fd, name, &folder, &next, &failure) < 0) {
			errno = failure.sys_errno;
			return refuse_subpath(subpath, err);
		}
		(void)close(fd);
		fd = next;
		if (set_owner(fd, subpath, err) < 0)
			return -1;
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int folder_make(UNUSED const struct host *host, int folder, UNUSED uint64_t size_bytes,
                       struct error *err)
{
	if (mkdirat(folder, FILES, 0755) < 0)
		return FAIL_ERRNO(err, "make '" FILES "'");
	if (fchownat(folder, FILES, ID_STORED + USER_ID, ID_STORED + USER_ID, AT_SYMLINK_NOFOLLOW) <
	    0)
		return FAIL_ERRNO(err, "give away '" FILES "'");
	return 0;
}

static int folder_remove(const struct host *host, const char *id, struct error *err)
{
	return host_trash(host, FOLDER_VOLUMES, id, err);
}

static int folder_open(const struct volume_opening *o, int *ret_fd, struct error *err)
{
	AUTO_CLOSE int files = openat(o->folder, FILES,
	                              O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	               part = -1;

	if (files < 0)
		return FAIL_ERRNO(err, "open '" FILES "'");
	return open_subfolder(files, o->mount->subpath, &part, err) < 0
	               ? -1
	               : ask_mount(o, part, false, ret_fd, err);
}

static int folder_usage(const struct host *host, const char *id, uint64_t *ret, struct error *err)
{
	char path[64], never[24];
	const struct task_command command = {
	        .kind = TASK_MEASURE, .count = 2, .words = {never, path}};
	struct task_result measured;

	(void)snprintf(never, sizeof(never), "%" PRId64, DEADLINE_NEVER);
	(void)snprintf(path, sizeof(path), "volumes/%s/" FILES, id);
	if (task_run(host, &command, &measured, err) < 0)
		return -1;
	*ret = measured.is_partial ? UINT64_MAX : measured.bytes;
	return 0;
}

/* The top folder of the image is the volume's. */
static int image_volume_make(const struct host *host, int folder, uint64_t size_bytes,
                             struct error *err)
{
	const struct image_place place = {host, folder, IMAGE};
	const struct image_options options = {
	        .size_bytes = size_bytes, .keeps_journal = true, .owner = ID_STORED + USER_ID};
	AUTO_CLOSE int top = -1;

	if (image_make(&place, &options, err) < 0 || image_mount(&place, true, &top, err) < 0)
		return -1;
	return unlinkat(top, "lost+found", AT_REMOVEDIR) < 0 ? FAIL_ERRNO(err, "empty a volume")
	                                                     : 0;
}

/* Linux before 6.15 cannot clone a detached mount. This is checked before a folder is made in it.
 */
static int check_clone(const struct volume_opening *o, int top, struct error *err)
{
	AUTO_CLOSE int clone = -1;

	if (ask_mount(o, top, false, &clone, err) == 0)
		return 0;
	return err->sys_errno == EINVAL ? FAIL(err, ERROR_UNSUPPORTED,
	                                       "a folder of a volume with a size needs Linux 6.15")
	                                : -1;
}

static int image_volume_open(const struct volume_opening *o, int *ret_fd, struct error *err)
{
	const struct image_place place = {o->host, o->folder, IMAGE};
	AUTO_CLOSE int top = -1, part = -1;

	if (image_mount(&place, true, &top, err) < 0)
		return -1;
	if (!o->mount->subpath[0])
		return ask_mount(o, top, true, ret_fd, err);
	return check_clone(o, top, err) < 0 ||
	                       open_subfolder(top, o->mount->subpath, &part, err) < 0
	               ? -1
	               : ask_mount(o, part, false, ret_fd, err);
}

static int open_folder(const struct host *host, const char *name, int *ret_fd, struct error *err)
{
	*ret_fd = openat(host->folders[FOLDER_VOLUMES], name,
	                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder of volume '%s'", name) : 0;
}

static int image_volume_usage(const struct host *host, const char *id, uint64_t *ret,
                              struct error *err)
{
	AUTO_CLOSE int folder = -1, top = -1;
	struct statfs status;

	if (open_folder(host, id, &folder, err) < 0 ||
	    image_mount(&(struct image_place){host, folder, IMAGE}, true, &top, err) < 0)
		return -1;
	if (fstatfs(top, &status) < 0)
		return FAIL_ERRNO(err, "look at a volume");
	*ret = (status.f_blocks - status.f_bfree) * (uint64_t)status.f_bsize;
	return 0;
}

static int image_volume_grow(const struct host *host, int folder, uint64_t size_bytes,
                             struct error *err)
{
	return image_grow(&(struct image_place){host, folder, IMAGE}, size_bytes, DEADLINE_NEVER,
	                  err);
}

static const struct volume_backing image_backing = {
        .name = "image",
        .content = IMAGE,
        .opens_slowly = true,
        .make = image_volume_make,
        .remove = folder_remove,
        .open = image_volume_open,
        .usage = image_volume_usage,
        .grow = image_volume_grow,
};
static const struct volume_backing folder_backing = {
        .name = "folder",
        .content = FILES,
        .size_is_advisory = true,
        .make = folder_make,
        .remove = folder_remove,
        .open = folder_open,
        .usage = folder_usage,
};
static const struct volume_backing *const backings[] = {&folder_backing, &image_backing};

const struct volume_backing *volume_backing_for(uint64_t size_bytes)
{
	return size_bytes > 0 && image_is_possible() ? &image_backing : &folder_backing;
}

int volume_backing_find(const struct host *host, const char *id, const struct volume_backing **ret,
                        struct error *err)
{
	char path[64];

	for (unsigned i = 0; i < COUNT_OF(backings); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", id, backings[i]->content);
		if (faccessat(host->folders[FOLDER_VOLUMES], path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		*ret = backings[i];
		return 0;
	}
	return FAIL(err, ERROR_NOT_FOUND, "volume '%s' does not exist here", id);
}

int volume_make(const struct host *host, const char *id, const struct volume_backing *backing,
                uint64_t size_bytes, struct error *err)
{
	int volumes = host->folders[FOLDER_VOLUMES];
	AUTO_CLOSE int folder = -1;
	char name[NAME_SIZE];

	(void)snprintf(name, sizeof(name), "new.%s", id);
	(void)umask(0);
	/* An earlier attempt may have been killed. */
	if (host_trash(host, FOLDER_VOLUMES, name, err) < 0)
		return -1;
	if (mkdirat(volumes, name, 0700) < 0)
		return FAIL_ERRNO(err, "make the folder of volume '%s'", id);
	if (open_folder(host, name, &folder, err) < 0)
		return -1;
	fault_point("broker", "volume-folder");
	if (backing->make(host, folder, size_bytes, err) < 0)
		return -1;
	fault_point("broker", "volume-made");
	if (fsync(folder) < 0)
		return FAIL_ERRNO(err, "bring volume '%s' to the disk", id);
	if (renameat(volumes, name, volumes, id) < 0)
		return FAIL_ERRNO(err, "name the folder of volume '%s'", id);
	if (fsync(volumes) < 0)
		return FAIL_ERRNO(err, "bring the name of volume '%s' to the disk", id);
	fault_point("broker", "volume-named");
	return 0;
}

int volume_remove(const struct host *host, const char *id, struct error *err)
{
	const struct volume_backing *backing;

	if (volume_backing_find(host, id, &backing, err) < 0) {
		/* A folder with this name that is no volume is removed as well. */
		error_clear(err);
		return host_trash(host, FOLDER_VOLUMES, id, err);
	}
	if (backing->remove(host, id, err) < 0)
		return -1;
	fault_point("broker", "volume-removed");
	return 0;
}

int volume_usage(const struct host *host, const char *id, uint64_t *ret, struct error *err)
{
	const struct volume_backing *backing;

	return volume_backing_find(host, id, &backing, err) < 0
	               ? -1
	               : backing->usage(host, id, ret, err);
}

int volume_grow(const struct host *host, const char *id, uint64_t size_bytes, struct error *err)
{
	const struct volume_backing *backing;
	AUTO_CLOSE int folder = -1;

	if (volume_backing_find(host, id, &backing, err) < 0 ||
	    open_folder(host, id, &folder, err) < 0)
		return -1;
	if (!backing->grow)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "volume '%s' is a folder without a limit: nothing can be grown", id);
	return backing->grow(host, folder, size_bytes, err);
}

bool volume_opens_slowly(const struct host *host, const char *id)
{
	const struct volume_backing *backing;
	struct error ignored = {0};

	return volume_backing_find(host, id, &backing, &ignored) == 0 && backing->opens_slowly;
}

int volume_open(const struct host *host, const struct mounted_volume *mount, int map_fd,
                int *ret_fd, struct error *err)
{
	const struct volume_backing *backing;
	AUTO_CLOSE int folder = -1;

	if (volume_backing_find(host, mount->id, &backing, err) < 0 ||
	    open_folder(host, mount->id, &folder, err) < 0)
		return -1;
	return backing->open(&(struct volume_opening){host, folder, mount, map_fd}, ret_fd, err);
}

int volume_each(const struct host *host, void (*on_volume)(void *context, const char *id),
                void *context, struct error *err)
{
	AUTO(folder_list_done) DIR *folder = folder_list(host->folders[FOLDER_VOLUMES]);
	struct dirent *entry;

	if (!folder)
		return FAIL_ERRNO(err, "list the volumes");
	while ((entry = readdir(folder)))
		if (id_is_valid(entry->d_name))
			on_volume(context, entry->d_name);
	return 0;
}

void volume_sweep(const struct host *host)
{
	AUTO(folder_list_done) DIR *folder = folder_list(host->folders[FOLDER_VOLUMES]);
	struct error err = {0};
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.' || id_is_valid(entry->d_name))
			continue;
		log_info("half a volume is removed", TEXT("name", entry->d_name));
		if (host_trash(host, FOLDER_VOLUMES, entry->d_name, &err) < 0)
			log_warning("cannot remove half a volume", FAILURE(&err));
	}
}
