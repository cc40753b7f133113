/* SPDX-License-Identifier: Apache-2.0 */
/* The state in a sandbox's run folder, for the next broker. */
#include "broker/sandbox/run_state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "broker/host/host.h"
#include "broker/host/launcher.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "isolation/ids.h"
#include "wire/broker_kind.h"

#define STATE_FORMAT "atoll-box-1"
#define NOTHING "-" /* in place of a text that is empty */

static void format_state(const struct sandbox *sandbox, struct buf *text)
{
	buf_addf(text,
	         STATE_FORMAT " %s %d %" PRIu64 " %u %u %d %" PRIu64 " %d %" PRId64
	                      " %s %-*s %016" PRIx64 " %d\n",
	         sandbox->sandboxes->host->boot_id, sandbox->pid, sandbox->start_time,
	         sandbox->slot, sandbox->kind, sandbox->internet, sandbox->disk_bytes,
	         sandbox->disk_is_advisory, sandbox->created_unix_ms,
	         *sandbox->template_name ? sandbox->template_name : NOTHING, ID_SIZE,
	         *sandbox->owner ? sandbox->owner : NOTHING, sandbox->lease_epoch,
	         sandbox->has_left_by_source);
}

/* Not synced: after a crash of the machine nothing that it describes is alive. */
int run_state_write(struct sandbox *sandbox, int folder, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(1024);
	AUTO_CLOSE int fd = openat(folder, "state",
	                           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return FAIL_ERRNO(err, "write the state of '%s'", sandbox->id);
	format_state(sandbox, &text);
	if (fd_write_all(fd, text.data, text.size, err) < 0)
		return -1;
	sandbox->state_fd = TAKE_FD(fd);
	return 0;
}

static int open_published(const struct sandbox *sandbox)
{
	AUTO_CLOSE int folder =
	        openat(sandbox->sandboxes->host->folders[FOLDER_RUN_SANDBOXES], sandbox->id,
	               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return folder < 0 ? -1 : openat(folder, "state", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
}

/* Only the creation time, the owner, the lease epoch and the last flag differ, and their text has
 * the same size. Making a new file would be the most expensive part of a claim. */
int run_state_update(const struct sandbox *sandbox, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(1024);
	AUTO_CLOSE int published = sandbox->state_fd < 0 ? open_published(sandbox) : -1;

	format_state(sandbox, &text);
	if (pwrite(published < 0 ? sandbox->state_fd : published, text.data, text.size, 0) !=
	    (ssize_t)text.size)
		return FAIL_ERRNO(err, "write the state of '%s'", sandbox->id);
	return 0;
}

int run_state_parse(struct sandbox *sandbox, const char *text, char boot_id[64], struct error *err)
{
	int internet, advisory, has_left_by_source = 0;

	/* The text of an earlier release ends before the owner, or before the last flag. */
	if (sscanf(text,
	           STATE_FORMAT " %63s %d %" SCNu64 " %u %u %d %" SCNu64 " %d %" SCNd64
	                        " %63s %20s %" SCNx64 " %d",
	           boot_id, &sandbox->pid, &sandbox->start_time, &sandbox->slot, &sandbox->kind,
	           &internet, &sandbox->disk_bytes, &advisory, &sandbox->created_unix_ms,
	           sandbox->template_name, sandbox->owner, &sandbox->lease_epoch,
	           &has_left_by_source) < 9 ||
	    sandbox->pid <= 0 || sandbox->slot >= SLOTS_MAX)
		return FAIL(err, ERROR_INVALID, "state is malformed");
	if (strcmp(sandbox->template_name, NOTHING) == 0)
		sandbox->template_name[0] = '\0';
	if (!id_is_valid(sandbox->owner))
		sandbox->owner[0] = '\0';
	sandbox->internet = internet;
	sandbox->disk_is_advisory = advisory;
	sandbox->has_left_by_source = has_left_by_source;
	return 0;
}

/* The pid alone may belong to another process by now; pid and start time identify one process. */
static int find_process(struct sandbox *sandbox, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	AUTO_CLOSE int pidfd = -1;
	uint64_t start_time;

	if (pidfd_open_of(sandbox->pid, &pidfd, err) < 0 ||
	    process_start_time(sandbox->pid, &start_time, err) < 0)
		return -1;
	if (start_time != sandbox->start_time)
		return FAIL(err, ERROR_NOT_FOUND, "process %d is another one now", sandbox->pid);
	sandbox->pidfd = TAKE_FD(pidfd);
	if (!broker_kind_is_isolated(sandbox->kind))
		return 0;
	if (launcher_file(host, sandbox->pid, LAUNCH_FILE_MOUNT_NAMESPACE, &sandbox->mounts_fd,
	                  err) < 0)
		return -1;
	return launcher_file(host, sandbox->pid, LAUNCH_FILE_NETWORK_NAMESPACE, &sandbox->net_fd,
	                     err);
}

int run_state_read(struct sandbox *sandbox, int folder, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(1024);
	char boot_id[64];

	if (file_read(folder, "state", &text, err) < 0)
		return -1;
	if (run_state_parse(sandbox, buf_text(&text), boot_id, err) < 0)
		return -1;
	if (strcmp(boot_id, sandbox->sandboxes->host->boot_id) != 0)
		return FAIL(err, ERROR_NOT_FOUND, "it ran before the machine was started");
	return find_process(sandbox, err);
}
