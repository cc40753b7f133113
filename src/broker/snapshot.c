/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/disk_folder.h"
#include "broker/flatten.h"

#define JOBS_MAX 8

static const char *const method_names[] = {
        [SNAPSHOT_RENAME] = "rename", [SNAPSHOT_SWITCH] = "switch", [SNAPSHOT_COPY] = "copy"};

/* ---- folders ---- */

/* What the owner of the sandbox may have changed of "/" itself. */
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

int snapshot_make_folder(const struct host *host, enum host_folder which, const char *name,
                         const struct snapshot_folder *with, struct error *err)
{
	static const char *const parts[] = {"", "/upper", "/work"};
	int folder = host->folders[which];
	char path[64];

	for (unsigned i = 0; i < COUNT_OF(parts); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", name, parts[i]);
		if (mkdirat(folder, path, 0755) < 0)
			return FAIL_ERRNO(err, "make the folder '%s'", path);
		/* All that is made in it later inherits its project. */
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
	(void)snprintf(path, sizeof(path), "%s/" CHAIN_LINK, name);
	return chain_write(folder, path, with->chain, err);
}

int snapshot_make_next(const struct snapshot_job *job, int like, struct error *err)
{
	const struct host *host = job->owner->host;
	char origin[CHAIN_TEXT_SIZE];

	if (chain_origin(host->folders[FOLDER_SANDBOXES], job->sandbox, &job->below, origin, err) <
	    0)
		return -1;
	return snapshot_make_folder(host, FOLDER_SNAPSHOTS, job->snapshot,
	                            &(struct snapshot_folder){&job->chain, like, origin}, err);
}

static int open_upper(const struct host *host, enum host_folder which, const char *id, int *ret_fd,
                      struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/upper", id);
	*ret_fd =
	        openat(host->folders[which], path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? FAIL_ERRNO(err, "open the files of '%s'", id) : 0;
}

static int swap(const struct host *host, const char *sandbox, enum host_folder which,
                const char *name, struct error *err)
{
	if (renameat2(host->folders[FOLDER_SANDBOXES], sandbox, host->folders[which], name,
	              RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return FAIL_ERRNO(err, "put the layers of '%s' in order", sandbox);
	return FAIL(err, ERROR_UNSUPPORTED,
	            "the data folder's filesystem cannot swap two folders: snapshots need ext4, "
	            "xfs, btrfs, f2fs or tmpfs");
}

/* The limit is that of the folder that the sandbox writes to from now on; in the other one is room
 * for what we write ourselves. */
static int move_limit(const struct snapshot_job *job, struct error *err)
{
	if (job->box && disk_folder_limit(job->box, FOLDER_SNAPSHOTS, job->snapshot, err) < 0)
		return -1;
	disk_folder_release(job->owner->host, FOLDER_SANDBOXES, job->sandbox);
	return 0;
}

static int mark_and_swap(const struct snapshot_job *job, struct error *err)
{
	const struct host *host = job->owner->host;
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/" KEPT_LINK, job->sandbox);
	if (symlinkat("snapshot", host->folders[FOLDER_SANDBOXES], path) < 0 && errno != EEXIST)
		return FAIL_ERRNO(err, "write '%s'", path);
	return swap(host, job->sandbox, FOLDER_SNAPSHOTS, job->snapshot, err);
}

int snapshot_swap(const struct snapshot_job *job, struct error *err)
{
	struct error ignored = {0};

	if (move_limit(job, err) == 0 && mark_and_swap(job, err) == 0)
		return 0;
	if (job->box)
		(void)!disk_folder_limit(job->box, FOLDER_SANDBOXES, job->sandbox, &ignored);
	return -1;
}

/* ---- the child ---- */

static int take_stopped(struct snapshot_job *job, struct error *err)
{
	AUTO_CLOSE int upper = -1;

	if (open_upper(job->owner->host, FOLDER_SANDBOXES, job->sandbox, &upper, err) < 0 ||
	    snapshot_make_next(job, upper, err) < 0)
		return -1;
	fault_point("broker", "snapshot-folder");
	job->report.method = SNAPSHOT_RENAME;
	return snapshot_swap(job, err);
}

static int run_snapshot(void *context)
{
	struct snapshot_job *job = context;
	struct snapshot_report *report = &job->report;
	struct wire_fds fds = {.count = 0};
	struct error err = {0};
	int status;

	(void)umask(0);
	status = job->box ? snapshot_take_running(job, &report->err)
	                  : take_stopped(job, &report->err);
	fault_point("broker", "snapshot-taken");
	/* After everybody goes on: this may take as long as it likes. */
	if (status == 0 && job->sync && syncfs(job->owner->host->folders[FOLDER_SNAPSHOTS]) < 0)
		(void)FAIL_ERRNO(&report->err, "bring the snapshot to the disk");
	if (job->old_root >= 0)
		fds.fds[fds.count++] = job->old_root;
	return wire_send_packet(job->report_fd,
	                        (struct span){(const char *)report, sizeof(*report)}, &fds,
	                        DEADLINE_NEVER, &err);
}

/* ---- afterwards ---- */

bool snapshot_release(struct box *box, int run_folder)
{
	struct cgroup_host *cgroups = &box->boxes->host->cgroups;
	char mark[16] = "", group[GROUP_NAME_SIZE];
	struct error err = {0};
	bool lives;

	if (readlinkat(run_folder, SNAPSHOT_MARK, mark, sizeof(mark) - 1) < 0)
		return true;
	lives = strcmp(mark, SNAPSHOT_SWITCHING) != 0;
	log_warning("a snapshot was cut short", TEXT("sandbox", box->id), TEXT("while", mark));
	if (!lives && pidfd_signal(box->pidfd, SIGKILL, &err) < 0)
		log_error("cannot end a sandbox", TEXT("sandbox", box->id), FAILURE(&err));
	host_group_name(box->slot, group);
	if (strcmp(mark, SNAPSHOT_PAUSED) != 0 &&
	    cgroups->ops->freeze(cgroups, group, false, &err) < 0)
		log_error("cannot let a sandbox go on", TEXT("sandbox", box->id), FAILURE(&err));
	(void)unlinkat(run_folder, SNAPSHOT_MARK, 0);
	return lives;
}

static void release(struct snapshot_job *job)
{
	struct box *box = boxes_find(job->owner->boxes, job->sandbox);
	AUTO_CLOSE int folder = -1;

	if (!box || !job->box)
		return;
	folder = openat(job->owner->host->folders[FOLDER_RUN_SANDBOXES], job->sandbox,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder >= 0)
		(void)snapshot_release(box, folder);
}

/* What the folders say now is what has happened, whatever the child could tell. */
static bool take_over(struct snapshot_job *job)
{
	struct chains *chains = job->owner->chains;
	struct host *host = job->owner->host;
	struct error ignored = {0};

	if (chains_add(chains, job->snapshot, &ignored) < 0) {
		(void)!host_trash(host, FOLDER_SNAPSHOTS, job->snapshot, &ignored);
		return false;
	}
	chains_reread(chains, job->sandbox);
	return true;
}

static void job_free(struct snapshot_job *job)
{
	watch_stop(job->owner->events, &job->reports);
	list_remove(&job->item);
	fd_forget(&job->report_fd);
	free(job);
}

static void take_report(struct snapshot_job *job)
{
	AUTO(buf_done) struct buf packet = BUF(sizeof(struct snapshot_report) + 1);
	struct wire_fds fds = {.count = 0};
	struct error *err = &job->report.err;

	if (wire_receive_packet(job->report_fd, deadline_in(0), &packet, &fds, err) < 0)
		(void)FAIL_CONTEXT(err, "taking a snapshot was cut short");
	else if (packet.size == sizeof(job->report))
		memcpy(&job->report, packet.data, sizeof(job->report));
	else
		(void)FAIL(err, ERROR_SYSTEM, "the report of a snapshot is malformed");
	for (unsigned i = 0; i < fds.count; i++)
		job->owner->on_old_root(job->owner->context, fds.fds[i]);
}

static void answer(struct snapshot_job *job, bool is_there)
{
	struct snapshots *s = job->owner;
	const struct snapshot_report *report = &job->report;
	struct broker_snapshot_made made = {
	        .frozen_us = report->frozen_us,
	        .took_us = (uint64_t)(clock_monotonic_ns() / 1000 - job->begun_us),
	        .depth = job->chain.count,
	        .method = method_names[report->method <= SNAPSHOT_COPY ? report->method : 0],
	        .because = report->because.text,
	};
	struct error lost = {0};

	if (report->err.code != ERROR_NONE) {
		s->on_failed(s->context, &job->owed, &report->err);
	} else if (is_there) {
		s->on_made(s->context, &job->owed, &made);
	} else {
		error_set(&lost, ERROR_SYSTEM, 0, HERE, "snapshot '%s' is gone", job->snapshot);
		s->on_failed(s->context, &job->owed, &lost);
	}
}

/* Whose snapshot does not wait for the disk is about to fork: a cell is made ready while the child
 * is at work, and when the layers are known, while the rows are written. */
static void expect_fork(const struct snapshot_job *job, const struct chain *chain)
{
	const struct box *box = boxes_find(job->owner->boxes, job->sandbox);

	if (!job->sync && box && box->kind == BROKER_NATIVE)
		cells_expect(job->owner->boxes->cells, box->internet ? CELL_INTERNET : CELL_BLOCKED,
		             chain ? &(struct cell_guess){box->template_name, chain, &box->limits}
		                   : NULL);
}

/* The child has said all, or nothing, and is about to end. A failure leaves no snapshot, even one
 * that is whole: nobody will ask for it. */
static void settle(struct snapshot_job *job)
{
	struct error err = {0};
	bool is_there;

	watch_stop(job->owner->events, &job->reports);
	take_report(job);
	release(job);
	is_there = take_over(job);
	fault_point("broker", "snapshot-known");
	if (is_there && job->report.err.code != ERROR_NONE &&
	    chains_remove(job->owner->chains, job->snapshot, &err) < 0)
		log_warning("a snapshot is left that failed", FAILURE(&err));
	/* Its root is the new one: what was mounted before is in nobody's way. */
	if (is_there && job->report.err.code == ERROR_NONE && job->report.method == SNAPSHOT_SWITCH)
		flattening_unpin(job->owner->chains, job->sandbox);
	answer(job, is_there);
	chains_set(job->owner->chains, job->snapshot, NULL);
	list_remove(&job->item);
	list_append(&job->owner->ending, &job->item);
	if (is_there && job->report.err.code == ERROR_NONE)
		expect_fork(job, &job->chain);
}

static void on_report(struct watch *watch)
{
	settle(CONTAINER_OF(watch, struct snapshot_job, reports));
}

static void on_job_end(struct job *base, int status)
{
	struct snapshot_job *job = CONTAINER_OF(base, struct snapshot_job, job);

	struct snapshots *s = job->owner;

	(void)status; /* the report tells more */
	if (job->reports.fd >= 0)
		settle(job);
	job_free(job);
	s->on_settled(s->context);
}

/* ---- the request ---- */

bool snapshots_is_busy(struct snapshots *s, const char *sandbox)
{
	LIST_EACH (&s->jobs, item)
		if (strcmp(LIST_ENTRY(item, struct snapshot_job, item)->sandbox, sandbox) == 0)
			return true;
	return false;
}

int snapshot_check_files(const struct host *host, const char *sandbox, struct error *err)
{
	int folder = host->folders[FOLDER_SANDBOXES];
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/disk.img", sandbox);
	if (faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "sandbox '%s' has a disk of its own (disk_quota), whose files cannot "
		            "become a layer",
		            sandbox);
	(void)snprintf(path, sizeof(path), "%s/upper", sandbox);
	if (faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return FAIL(err, ERROR_NOT_FOUND, "sandbox '%s' has no files", sandbox);
	return 0;
}

static unsigned count_jobs(const struct snapshots *s)
{
	unsigned count = 0;

	for (const struct list *i = s->jobs.next; i != &s->jobs; i = i->next)
		count++;
	return count;
}

static int check_take(struct snapshots *s, const struct broker_snapshot *request, struct error *err)
{
	const struct box *box = boxes_find(s->boxes, request->sandbox);

	if (box && (box->state != BOX_RUNNING || box->pausing))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' neither runs nor is stopped",
		            request->sandbox);
	if (s->boxes->is_busy(s->boxes->context, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken already",
		            request->sandbox);
	if (count_jobs(s) == JOBS_MAX)
		return FAIL(err, ERROR_UNAVAILABLE, "%d snapshots are being taken already",
		            JOBS_MAX);
	if (faccessat(s->host->folders[FOLDER_SNAPSHOTS], request->snapshot, F_OK, 0) == 0)
		return FAIL(err, ERROR_CONFLICT, "snapshot '%s' exists already", request->snapshot);
	if (snapshot_check_files(s->host, request->sandbox, err) < 0)
		return -1;
	return host_check_space(s->host, err);
}

static int start(struct snapshot_job *job, struct error *err)
{
	int report[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, report) < 0)
		return FAIL_ERRNO(err, "make a socket pair");
	job->report_fd = report[1];
	job->job.on_end = on_job_end;
	if (job_start(job->owner->events, &job->job, run_snapshot, job, err) < 0) {
		(void)close(report[0]);
		return -1;
	}
	(void)close(report[1]);
	job->report_fd = report[0];
	job->reports.on_ready = on_report;
	if (watch_start(job->owner->events, &job->reports, job->report_fd, err) == 0)
		return 0;
	job_cancel(&job->job);
	return -1;
}

int snapshots_take(struct snapshots *s, const struct owed *owed,
                   const struct broker_snapshot *request, struct error *err)
{
	const struct chain *below = chains_of(s->chains, request->sandbox);
	struct snapshot_job *job;

	if (check_take(s, request, err) < 0)
		return -1;
	job = calloc(1, sizeof(*job));
	if (!job)
		abort();
	*job = (struct snapshot_job){.owner = s,
	                             .reports = {.fd = -1},
	                             .report_fd = -1,
	                             .old_root = -1,
	                             .owed = *owed,
	                             .begun_us = clock_monotonic_ns() / 1000,
	                             .sync = request->sync != 0,
	                             .box = boxes_find(s->boxes, request->sandbox)};
	memcpy(job->sandbox, request->sandbox, ID_SIZE);
	memcpy(job->snapshot, request->snapshot, ID_SIZE);
	if (below)
		job->below = *below;
	list_append(&s->jobs, &job->item);
	/* Nobody may throw away meanwhile what will lie below the new one. */
	chains_set(s->chains, job->snapshot, &job->below);
	if (chain_put(&job->chain, job->snapshot, &job->below, err) == 0 && start(job, err) == 0) {
		expect_fork(job, NULL);
		return 0;
	}
	chains_set(s->chains, job->snapshot, NULL);
	job_free(job);
	return -1;
}

/* ---- rollback ---- */

static int check_restore(struct snapshots *s, const struct broker_snapshot *request,
                         struct error *err)
{
	if (boxes_find(s->boxes, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is not stopped", request->sandbox);
	if (snapshots_is_busy(s, request->sandbox))
		return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken",
		            request->sandbox);
	return snapshot_check_files(s->host, request->sandbox, err);
}

int snapshots_can_restore(struct snapshots *s, const struct broker_snapshot *request,
                          struct error *err)
{
	AUTO_CLOSE int upper = -1;
	struct chain chain;

	if (snapshot_check_files(s->host, request->sandbox, err) < 0 ||
	    chains_find_origin(s->chains, request->sandbox, request->snapshot, &chain, err) < 0)
		return -1;
	return chain.count > 0 ? open_upper(s->host, FOLDER_SNAPSHOTS, chain.ids[0], &upper, err)
	                       : 0;
}

/* Few files are made, so that the broker does it itself. The folder has a cell's place until it has
 * its own: there the next start sweeps. */
int snapshots_restore(struct snapshots *s, const struct broker_snapshot *request, struct error *err)
{
	struct host *host = s->host;
	struct id name = id_new();
	struct error ignored = {0};
	AUTO_CLOSE int upper = -1;
	const struct chain *own = chains_of(s->chains, request->sandbox);
	struct chain chain, none = {.count = 0};
	char origin[CHAIN_TEXT_SIZE];
	mode_t mask;
	int status;

	if (check_restore(s, request, err) < 0 ||
	    chains_find_origin(s->chains, request->sandbox, request->snapshot, &chain, err) < 0 ||
	    (chain.count > 0 &&
	     open_upper(host, FOLDER_SNAPSHOTS, chain.ids[0], &upper, err) < 0) ||
	    chain_origin(host->folders[FOLDER_SANDBOXES], request->sandbox, own ? own : &none,
	                 origin, err) < 0)
		return -1;
	mask = umask(0);
	status = snapshot_make_folder(host, FOLDER_CELLS, name.text,
	                              &(struct snapshot_folder){&chain, upper, origin}, err);
	(void)umask(mask);
	fault_point("broker", "restore-folder");
	if (status == 0)
		status = swap(host, request->sandbox, FOLDER_CELLS, name.text, err);
	if (status == 0)
		chains_reread(s->chains, request->sandbox);
	fault_point("broker", "restore-swapped");
	(void)!host_trash(host, FOLDER_CELLS, name.text, &ignored);
	return status;
}

void snapshots_init(struct snapshots *s, struct boxes *boxes)
{
	*s = (struct snapshots){.host = boxes->host,
	                        .events = boxes->events,
	                        .boxes = boxes,
	                        .chains = boxes->chains};
	list_init(&s->jobs);
	list_init(&s->ending);
}

static void cancel(struct snapshot_job *job)
{
	job_cancel(&job->job);
	settle(job);
	job_free(job);
}

void snapshots_cancel(struct snapshots *s, const char *sandbox)
{
	LIST_EACH (&s->jobs, item) {
		struct snapshot_job *job = LIST_ENTRY(item, struct snapshot_job, item);

		if (strcmp(job->sandbox, sandbox) == 0)
			cancel(job);
	}
}

void snapshots_close(struct snapshots *s)
{
	LIST_EACH (&s->jobs, item)
		cancel(LIST_ENTRY(item, struct snapshot_job, item));
	LIST_EACH (&s->ending, item) {
		struct snapshot_job *job = LIST_ENTRY(item, struct snapshot_job, item);

		job_cancel(&job->job);
		job_free(job);
	}
}
