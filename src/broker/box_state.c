/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox's run folder remembers of it, for the next broker. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/box.h"

#define STATE_FORMAT "atoll-box-1"
#define NOTHING "-" /* in place of a text that is empty */

static void format(const struct box *box, struct buf *text)
{
	buf_addf(text,
	         STATE_FORMAT " %s %d %" PRIu64 " %u %u %d %" PRIu64 " %d %" PRId64
	                      " %s %-*s %016" PRIx64 "\n",
	         box->boxes->host->boot_id, box->pid, box->start_time, box->slot, box->kind,
	         box->internet, box->disk_bytes, box->disk_is_advisory, box->created_unix_ms,
	         *box->template_name ? box->template_name : NOTHING, ID_SIZE,
	         *box->owner ? box->owner : NOTHING, box->lease_epoch);
}

/* Not synced: after a crash of the machine nothing that it tells of is alive. */
int box_state_write(struct box *box, int folder, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(1024);
	AUTO_CLOSE int fd = openat(folder, "state",
	                           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return FAIL_ERRNO(err, "write the state of '%s'", box->id);
	format(box, &text);
	if (fd_write_all(fd, text.data, text.size, err) < 0)
		return -1;
	box->state_fd = TAKE_FD(fd);
	return 0;
}

/* Only the time and the tag are others, and as long: a file that is made anew would be the dearest
 * part of a claim. */
int box_state_update(const struct box *box, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(1024);

	format(box, &text);
	if (pwrite(box->state_fd, text.data, text.size, 0) != (ssize_t)text.size)
		return FAIL_ERRNO(err, "write the state of '%s'", box->id);
	return 0;
}

int box_state_parse(struct box *box, const char *text, char boot_id[64], struct error *err)
{
	int internet, advisory;

	/* What an earlier release wrote ends before the tag. */
	if (sscanf(text,
	           STATE_FORMAT " %63s %d %" SCNu64 " %u %u %d %" SCNu64 " %d %" SCNd64
	                        " %63s %20s %" SCNx64,
	           boot_id, &box->pid, &box->start_time, &box->slot, &box->kind, &internet,
	           &box->disk_bytes, &advisory, &box->created_unix_ms, box->template_name,
	           box->owner, &box->lease_epoch) < 9 ||
	    box->pid <= 0 || box->slot >= SLOTS_MAX)
		return FAIL(err, ERROR_INVALID, "state is malformed");
	if (strcmp(box->template_name, NOTHING) == 0)
		box->template_name[0] = '\0';
	if (!id_is_valid(box->owner))
		box->owner[0] = '\0';
	box->internet = internet;
	box->disk_is_advisory = advisory;
	return 0;
}

static int open_namespace(const struct box *box, const char *kind, int *ret_fd, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/%s", box->pid, kind);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open '%s'", path) : 0;
}

/* The pid alone could be somebody else's by now; with the start time it is one process. */
static int find_process(struct box *box, struct error *err)
{
	AUTO_CLOSE int pidfd = -1;
	uint64_t start_time;

	if (pidfd_open_of(box->pid, &pidfd, err) < 0 ||
	    process_start_time(box->pid, &start_time, err) < 0)
		return -1;
	if (start_time != box->start_time)
		return FAIL(err, ERROR_NOT_FOUND, "process %d is another one now", box->pid);
	box->pidfd = TAKE_FD(pidfd);
	if (box->kind != BROKER_NATIVE)
		return 0;
	if (open_namespace(box, "mnt", &box->mounts_fd, err) < 0)
		return -1;
	return open_namespace(box, "net", &box->net_fd, err);
}

int box_state_read(struct box *box, int folder, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(1024);
	char boot_id[64];

	if (file_read(folder, "state", &text, err) < 0)
		return -1;
	if (box_state_parse(box, buf_text(&text), boot_id, err) < 0)
		return -1;
	if (strcmp(boot_id, box->boxes->host->boot_id) != 0)
		return FAIL(err, ERROR_NOT_FOUND, "it ran before the machine was started");
	return find_process(box, err);
}
