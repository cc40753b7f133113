/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox gets from images (volume/image.h): its upper layer, when its disk has a hard
 * limit, and its volumes. A child mounts them, because that takes some ten milliseconds. */
#include "broker/sandbox/disk.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/launcher.h"
#include "broker/prewarm/prewarm.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/volume/image.h"
#include "broker/volume/mount.h"
#include "broker/volume/volume.h"
#include "wire/broker_kind.h"
#include "isolation/ids.h"

#define IMAGE "disk.img"
#define DISK_MIN_BYTES (UINT64_C(16) << 20)
/* The part of a start's time in which a disk may grow; the rest is for the start. */
#define GROW_MS (25 * 1000)
/* The time for all of it, waits for locks included (volume/image.h). */
#define IMAGES_MS (40 * 1000)

struct images_report {
	struct error err;       /* ERROR_NONE = the mounts come with it */
	struct error not_grown; /* why a disk has not grown; ERROR_NONE = it has what it should */
};

/* Opens the sandbox's folder, which is that of a prewarmed sandbox until it has its name. */
static int open_folder(const struct sandbox *sandbox, int *ret_fd, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	char name[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, name);
	*ret_fd = openat(host->folders[sandbox->restart ? FOLDER_SANDBOXES : FOLDER_PREWARMS],
	                 sandbox->restart ? sandbox->id : name,
	                 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the folder of '%s'", sandbox->id) : 0;
}

static bool wants_disk(const struct sandbox *sandbox)
{
	const struct host *host = sandbox->sandboxes->host;
	char path[64];

	/* A stopped sandbox has an image if it was made with one, whatever the option says now. */
	(void)snprintf(path, sizeof(path), "%s/" IMAGE, sandbox->id);
	if (sandbox->restart)
		return faccessat(host->folders[FOLDER_SANDBOXES], path, F_OK, 0) == 0;
	return host->can_limit_disk && sandbox->disk_bytes >= DISK_MIN_BYTES;
}

bool sandbox_wants_images(const struct sandbox *sandbox)
{
	for (unsigned i = 0; i < sandbox->volume_count; i++)
		if (volume_opens_slowly(sandbox->sandboxes->host, sandbox->volumes[i].id))
			return true;
	return wants_disk(sandbox);
}

static int make_folders(int root, struct error *err)
{
	static const char *const names[] = {"upper", "work"};

	for (unsigned i = 0; i < COUNT_OF(names); i++)
		if (mkdirat(root, names[i], 0755) < 0 ||
		    fchownat(root, names[i], ID_STORED, ID_STORED, 0) < 0)
			return FAIL_ERRNO(err, "make '%s'", names[i]);
	return 0;
}

/* A disk that could not grow is mounted as it is, so that the sandbox starts; the next start tries
 * again. */
static int open_disk(const struct sandbox *sandbox, int *ret_fd, struct images_report *report)
{
	const struct image_options options = {.size_bytes = sandbox->disk_bytes};
	struct image_place place = {.host = sandbox->sandboxes->host, .name = IMAGE};
	AUTO_CLOSE int folder = -1, root = -1;
	struct error *err = &report->err;

	if (open_folder(sandbox, &folder, err) < 0)
		return -1;
	place.folder = folder;
	if (sandbox->restart)
		(void)!image_fit(&place, sandbox->disk_bytes, deadline_after(GROW_MS),
		                 &report->not_grown);
	else if (image_make(&place, &options, err) < 0)
		return -1;
	if (image_mount(&place, false, &root, err) < 0 ||
	    (!sandbox->restart && make_folders(root, err) < 0))
		return -1;
	*ret_fd = TAKE_FD(root);
	return 0;
}

/* All volumes are opened here when one of them is in an image. */
static int open_images(const struct sandbox *sandbox, struct wire_fds *fds,
                       struct images_report *report)
{
	if (wants_disk(sandbox) && open_disk(sandbox, &fds->fds[fds->count++], report) < 0)
		return -1;
	for (unsigned i = 0; i < sandbox->volume_count; i++)
		if (volume_open(sandbox->sandboxes->host, &sandbox->volumes[i],
		                sandbox->prewarm->stored_fd, &fds->fds[fds->count++],
		                &report->err) < 0)
			return -1;
	return 0;
}

static int run_open_images(void *context)
{
	struct sandbox *sandbox = context;
	struct images_report report = {.err = {.code = ERROR_NONE},
	                               .not_grown = {.code = ERROR_NONE}};
	struct wire_fds fds = {.count = 0};
	struct error err = {0};

	(void)umask(0);
	if (open_images(sandbox, &fds, &report) < 0)
		fds.count = 0; /* the child exits, which closes the descriptors */
	return wire_send_packet(sandbox->images->report_fd,
	                        (struct span){(const char *)&report, sizeof(report)}, &fds,
	                        DEADLINE_NEVER, &err);
}

static int take_report(struct sandbox *sandbox, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct images_report) + 1);
	struct wire_fds fds = {.count = 0};
	struct images_report report;
	unsigned at = 0;

	if (wire_receive_packet(sandbox->images->report_fd, deadline_after(0), &packet, &fds, err) <
	    0)
		return FAIL_CONTEXT(err, "mount disks");
	memcpy(&report, packet.data, sizeof(report));
	if (report.not_grown.code != ERROR_NONE)
		log_warning("a disk has not grown, and the next start tries again",
		            TEXT("sandbox", sandbox->id), FAILURE(&report.not_grown));
	if (report.err.code != ERROR_NONE) {
		*err = report.err;
		return -1;
	}
	if (fds.count > sandbox->volume_count)
		sandbox->disk_fd = fds.fds[at++];
	for (unsigned i = 0; at < fds.count; i++)
		sandbox->volumes[i].fd = fds.fds[at++];
	return 0;
}

static void end_images(struct sandbox *sandbox)
{
	struct sandbox_images *images = TAKE(sandbox->images);

	if (!images)
		return;
	child_cancel(&images->child);
	auto_close(&images->report_fd);
	free(images);
}

static void on_images_end(struct broker_child *child, int status)
{
	struct sandbox *sandbox = CONTAINER_OF(child, struct sandbox_images, child)->sandbox;
	struct error err = {0};

	(void)status; /* the report tells more */
	if (take_report(sandbox, &err) == 0) {
		sandbox->disk_is_advisory = sandbox->disk_fd < 0;
		fault_point("broker", "volume-opened");
		sandbox_step(sandbox, "disk");
	}
	end_images(sandbox);
	sandbox->on_images(sandbox, &err);
}

static void on_images_timeout(struct timer *timer)
{
	struct sandbox *sandbox = CONTAINER_OF(timer, struct sandbox, deadline);
	struct error err = {0};

	error_set(&err, ERROR_TIMEOUT, 0, HERE, "disks were not mounted in %d s", IMAGES_MS / 1000);
	sandbox->on_images(sandbox, &err);
}

int sandbox_images_start(struct sandbox *sandbox, struct error *err)
{
	struct sandbox_images *images;
	int report[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	images = sandbox->images = memory_new(sizeof(*images));
	*images = (struct sandbox_images){
	        .sandbox = sandbox,
	        .child = {.on_end = on_images_end, .host = sandbox->sandboxes->host},
	        .report_fd = report[1]};
	if (child_start(sandbox->sandboxes->events, &images->child, run_open_images, sandbox, err) <
	    0) {
		(void)close(report[0]);
		return -1;
	}
	(void)close(report[1]);
	images->report_fd = report[0];
	sandbox->deadline.on_time = on_images_timeout;
	timer_start(sandbox->sandboxes->events, &sandbox->deadline, IMAGES_MS);
	return 0;
}

void sandbox_close_disks(struct sandbox *sandbox)
{
	end_images(sandbox);
	fd_forget(&sandbox->disk_fd);
	while (sandbox->volume_count > 0)
		auto_close(&sandbox->volumes[--sandbox->volume_count].fd);
	free(TAKE(sandbox->volumes));
}

uint64_t sandbox_disk_used(const struct sandbox *sandbox)
{
	AUTO_CLOSE int root = -1;
	struct error ignored = {0};
	struct statfs status;

	/* Without a disk of its own, counting would mean walking all files. The root of process 1
	 * of a sandbox in gVisor is not that disk. */
	if (sandbox->disk_is_advisory || sandbox->kind == BROKER_GVISOR ||
	    launcher_file(sandbox->sandboxes->host, sandbox->pid, LAUNCH_FILE_ROOT, &root,
	                  &ignored) < 0 ||
	    fstatfs(root, &status) < 0)
		return UINT64_MAX;
	return (status.f_blocks - status.f_bfree) * (uint64_t)status.f_bsize;
}
