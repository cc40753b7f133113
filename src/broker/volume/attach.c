/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/volume/attach.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "broker/host/host.h"
#include "broker/host/launcher.h"
#include "broker/host/mountinfo.h"
#include "broker/volume/volume.h"

static int open_volume(const struct host *host, const struct attachment *a, int *ret_fd,
                       struct error *err)
{
	const struct launch_id_map request = {.slot = a->slot};
	AUTO_CLOSE int map = -1;

	if (launcher_open_fd(host, LAUNCH_ID_MAP, &request, NULL, &map, err) < 0)
		return -1;
	return volume_open(host, &a->mount, map, ret_fd, err);
}

#define NOWHERE (-1)

struct attached_volume {
	int64_t mount;
	bool is_read_only, is_whole; /* no folder of it */
};

/* A sandbox has a volume once and mounts nothing itself, so the volume identifies its mount,
 * whatever the mounted folder is called by now. An image is mounted once more as a whole, so that
 * nothing is made in it; that does not hold the existing mount. */
static int find_volume_folder(const struct host *host, const struct attachment *a, int *ret_image,
                              struct mount_folder *ret, struct error *err)
{
	const struct volume_backing *backing;
	struct attachment whole = *a;
	AUTO_CLOSE int files = -1;
	char path[ID_SIZE + 16];
	struct stat status;

	if (volume_backing_find(host, a->mount.id, &backing, err) < 0)
		return -1;
	if (backing->opens_slowly) {
		whole.mount.subpath[0] = '\0';
		if (open_volume(host, &whole, ret_image, err) < 0)
			return -1;
		if (fstat(*ret_image, &status) < 0)
			return FAIL_ERRNO(err, "look at a volume");
		(void)snprintf(ret->device, sizeof(ret->device), "%u:%u", major(status.st_dev),
		               minor(status.st_dev));
		return 0;
	}
	(void)snprintf(path, sizeof(path), "%s/%s", a->mount.id, backing->content);
	files = openat(host->folders[FOLDER_VOLUMES], path,
	               O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (files < 0)
		return FAIL_ERRNO(err, "open volume '%s'", a->mount.id);
	return mount_folder_of(files, ret, err);
}

/* *ret_image: the whole image, as it would be attached; -1 for a volume in a folder. */
static int find_attached(const struct host *host, const struct attachment *a, int *ret_image,
                         struct attached_volume *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(MOUNTINFO_MAX);
	AUTO(mount_folder_done) struct mount_folder place;
	struct mount_row row;
	struct span rest;

	mount_folder_init(&place);
	if (find_volume_folder(host, a, ret_image, &place, err) < 0 ||
	    mountinfo_read(a->pid, &text, err) < 0)
		return -1;
	*ret = (struct attached_volume){.mount = NOWHERE};
	rest = buf_span(&text);
	while (mountinfo_next(&rest, &row)) {
		if (!mount_folder_has(&place, &row))
			continue;
		*ret = (struct attached_volume){row.id, row.is_read_only,
		                                mount_folder_is(&place, &row)};
		break;
	}
	return 0;
}

/* `volume` may be -1. Ends this process's channel. */
static int ask_inside(const struct host *host, const struct attachment *a, enum launch_kind kind,
                      int64_t mount, int volume, struct error *err)
{
	const struct wire_fds fds = {.fds = {a->mounts_fd, volume}, .count = volume < 0 ? 1 : 2};
	struct launch_attach request = {.forced = a->forced, .mount = mount};

	(void)snprintf(request.path, sizeof(request.path), "%s", a->mount.path);
	return launcher_call(host, kind, &request, &fds, NULL, err);
}

static int check_attached(const struct attachment *a, const struct attached_volume *there,
                          struct error *err)
{
	if (there->is_read_only == a->mount.is_read_only && there->is_whole == !a->mount.subpath[0])
		return 0;
	error_set(err, ERROR_CONFLICT, 0, HERE, "the volume is at '%.120s' already, %s%s",
	          a->mount.path, there->is_whole ? "the whole of it" : "a folder of it",
	          there->is_read_only ? ", read-only" : "");
	return FAIL_HINT(err, "detach it first");
}

static int refuse_change(const char *what, struct error *err)
{
	error_set(err, ERROR_CONFLICT, 0, HERE,
	          "provider 'gvisor' cannot %s a volume while the sandbox runs", what);
	return FAIL_HINT(err, "stop the sandbox, change its volumes, and start it");
}

int attach_volume(const struct host *host, const struct attachment *a, struct error *err)
{
	AUTO_CLOSE int whole = -1, volume = -1;
	struct attached_volume there;

	if (find_attached(host, a, &whole, &there, err) < 0)
		return -1;
	if (a->is_fixed)
		return there.mount == NOWHERE ? refuse_change("attach", err)
		                              : check_attached(a, &there, err);
	if (there.mount != NOWHERE)
		return ask_inside(host, a, LAUNCH_ATTACH, there.mount, -1, err) < 0
		               ? -1
		               : check_attached(a, &there, err);
	/* After the check above, because this makes a missing folder of the volume. */
	if (whole >= 0 && !a->mount.subpath[0])
		volume = TAKE_FD(whole);
	if (volume < 0 && open_volume(host, a, &volume, err) < 0)
		return -1;
	return ask_inside(host, a, LAUNCH_ATTACH, NOWHERE, volume, err);
}

int detach_volume(const struct host *host, const struct attachment *a, struct error *err)
{
	AUTO_CLOSE int image = -1;
	struct attached_volume there;

	if (find_attached(host, a, &image, &there, err) < 0)
		return -1;
	if (there.mount != NOWHERE && a->is_fixed)
		return refuse_change("detach", err);
	return there.mount == NOWHERE ? 0
	                              : ask_inside(host, a, LAUNCH_DETACH, there.mount, -1, err);
}
