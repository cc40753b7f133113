/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/layers/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/host/disk_folder.h"
#include "broker/layers/stack.h"
#include "isolation/ids.h"

#define TEMPLATE_NAME_MAX 63

/* Gives the new upper layer the owner and mode of "/" in the sandbox, which may have been changed.
 */
static int set_like(int folder, const char *path, int like, struct error *err)
{
	struct stat status;

	if (fstat(like, &status) < 0)
		return FAIL_ERRNO(err, "look at the upper layer");
	if (fchownat(folder, path, status.st_uid, status.st_gid, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(folder, path, status.st_mode & 07777, 0) < 0)
		return FAIL_ERRNO(err, "set the owner of '%s'", path);
	return 0;
}

int layer_folder_make(const struct host *host, enum host_folder which, const char *name,
                      const struct layer_folder *with, struct error *err)
{
	static const char *const parts[] = {"", "/upper", "/work"};
	int folder = host->folders[which];
	char path[64];

	for (unsigned i = 0; i < COUNT_OF(parts); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", name, parts[i]);
		if (mkdirat(folder, path, 0755) < 0)
			return FAIL_ERRNO(err, "make the folder '%s'", path);
		/* Everything that is made in it later inherits its project. */
		if (i == 0 && !with->is_linked && disk_folder_begin(host, which, name, err) < 0)
			return -1;
		if (fchownat(folder, path, ID_STORED, ID_STORED, AT_SYMLINK_NOFOLLOW) < 0)
			return FAIL_ERRNO(err, "give away the folder '%s'", path);
	}
	(void)snprintf(path, sizeof(path), "%s/upper", name);
	if (with->like >= 0 && set_like(folder, path, with->like, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/" ORIGIN_LINK, name);
	if (with->origin && symlinkat(with->origin, folder, path) < 0)
		return FAIL_ERRNO(err, "write '%s'", path);
	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, name);
	return layer_stack_write(folder, path, with->stack, err);
}

int layer_folder_open_upper(const struct host *host, enum host_folder which, const char *id,
                            int *ret_fd, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/upper", id);
	*ret_fd =
	        openat(host->folders[which], path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the files of '%s'", id) : 0;
}

int layer_folder_check(const struct host *host, const char *sandbox_id, struct error *err)
{
	int folder = host->folders[FOLDER_SANDBOXES];
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/disk.img", sandbox_id);
	if (faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "sandbox '%s' has a disk of its own (disk_quota), whose files cannot "
		            "become a layer",
		            sandbox_id);
	(void)snprintf(path, sizeof(path), "%s/upper", sandbox_id);
	if (faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' has no files", sandbox_id);
	return 0;
}

int check_template_name(const char *name, struct error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t size = strlen(name);

	if (size == 0 || size > TEMPLATE_NAME_MAX || name[0] == '.' || name[0] == '-' ||
	    name[0] == '_' || name[strspn(name, allowed)] != '\0')
		return FAIL(err, ERROR_INVALID, "'%.70s' is not a template's name", name);
	return 0;
}

int layer_folder_swap(const struct host *host, const char *sandbox_id, enum host_folder which,
                      const char *name, struct error *err)
{
	if (renameat2(host->folders[FOLDER_SANDBOXES], sandbox_id, host->folders[which], name,
	              RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return FAIL_ERRNO(err, "put the layers of '%s' in order", sandbox_id);
	return FAIL(err, ERROR_UNSUPPORTED,
	            "the data folder's filesystem cannot swap two folders: snapshots need ext4, "
	            "xfs, btrfs, f2fs or tmpfs");
}
