/* SPDX-License-Identifier: Apache-2.0 */
/* From a cell to a sandbox: what a request adds. Runs in the broker itself, and so does only what
 * takes microseconds; the slow part is the agent's, which applies the plan on its own time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "broker/box.h"
#include "broker/box_egress.h"
#include "broker/disk_folder.h"
#include "broker/pool.h"
#include "broker/review.h"
#include "sandbox/sandbox.h"
#include "wire/agent_beat.h"

#define PROJECT_DIR "/home/user/project"
#define UNNAMED "unnamed" /* until it is claimed */
/* A whole plan in most cases. */
#define SETUP_PACKET_SIZE (32 * 1024)

void box_step(struct box *box, const char *name)
{
	int64_t now = clock_monotonic_ns() / 1000;

	buf_addf(&box->steps, "%s%s=%lld", box->steps.size ? " " : "", name,
	         (long long)(now - box->step_us));
	box->step_us = now;
}

/* ---- files ---- */

/* What it lies on; NULL: on its template alone. */
static const struct chain *chain_of(const struct box *box)
{
	return box->pool ? &box->pool->blueprint.chain : chains_of(box->boxes->chains, box->id);
}

static int open_root(struct box *box, int *ret_fd, struct error *err)
{
	const struct host *host = box->boxes->host;
	struct cell *cell = box->cell;
	char name[GROUP_NAME_SIZE];
	struct root_options options = {.template_name = box->template_name,
	                               .chain = chain_of(box),
	                               .upper_fd = host->folders[FOLDER_CELLS],
	                               .upper_name = name,
	                               .ids_fd = cell->ids_fd,
	                               .stored_fd = cell->stored_fd,
	                               .let_go = cells_let_go,
	                               .context = box->boxes->cells};

	host_group_name(box->slot, name);
	if (box->disk_fd >= 0) {
		options.upper_fd = box->disk_fd;
		options.upper_name = NULL;
	} else if (box->restart) {
		options.upper_fd = host->folders[FOLDER_SANDBOXES];
		options.upper_name = box->id;
	} else if (cell_has_root(cell, &(struct cell_guess){box->template_name, options.chain,
	                                                    &box->limits})) {
		*ret_fd = TAKE_FD(cell->root_fd);
		return 0;
	} else if (cell_drop_root(cell, err) < 0) {
		return -1;
	}
	cell_let_go_of_root(cell);
	return host_root_open(host, &options, ret_fd, err);
}

/* Clones of what is shared. sudo's parts get the sandbox's ids, so that they are its root's. */
static int open_shared(const struct box *box, enum host_layer layer, bool mapped, int *ret_fd,
                       struct error *err)
{
	int source = box->boxes->host->layers[layer];
	struct layer_options options = {.map_fd = mapped ? box->cell->ids_fd : -1};

	if (source < 0)
		return 0;
	return layer_open(source, "", &options, ret_fd, err);
}

struct mounts {
	int root, dev, sys, usr, sudo, sudo_lib;
	int volumes[SANDBOX_MOUNTS_MAX];
	unsigned volume_count;
	struct review_trees trees;
};

static void close_mounts(struct mounts *m)
{
	fd_forget(&m->root);
	fd_forget(&m->dev);
	fd_forget(&m->sys);
	fd_forget(&m->usr);
	fd_forget(&m->sudo);
	fd_forget(&m->sudo_lib);
	for (unsigned i = 0; i < m->volume_count; i++)
		fd_forget(&m->volumes[i]);
	review_close(&m->trees);
}

static int open_volumes(struct box *box, struct mounts *m, struct error *err)
{
	for (; m->volume_count < box->volume_count; m->volume_count++) {
		int *fd = &m->volumes[m->volume_count];

		*fd = TAKE_FD(box->volume_fds[m->volume_count]);
		if (*fd < 0 && volume_open(box->boxes->host, &box->volumes[m->volume_count],
		                           box->cell->stored_fd, fd, err) < 0)
			return -1;
	}
	return 0;
}

static int open_review(const struct box *box, struct mounts *m, struct error *err)
{
	const struct review_maps maps = {box->cell->ids_fd, box->cell->stored_fd};

	return box->review ? review_open(box->review, box->boxes, &maps, &m->trees, err) : 0;
}

static int open_mounts(struct box *box, struct mounts *m, struct error *err)
{
	if (open_root(box, &m->root, err) < 0)
		return -1;
	box_step(box, "overlay");
	if (open_shared(box, LAYER_DEV, false, &m->dev, err) < 0 ||
	    open_shared(box, LAYER_SYS, false, &m->sys, err) < 0 || open_volumes(box, m, err) < 0 ||
	    open_review(box, m, err) < 0)
		return -1;
	if (strcmp(box->template_name, "host") != 0)
		return 0;
	if (open_shared(box, LAYER_USR, false, &m->usr, err) < 0)
		return -1;
	if (!box->privileges)
		return 0;
	if (open_shared(box, LAYER_SUDO, true, &m->sudo, err) < 0)
		return -1;
	return open_shared(box, LAYER_SUDO_LIB, true, &m->sudo_lib, err);
}

/* ---- the plan ---- */

static uint32_t number(int fd)
{
	return fd < 0 ? ISOLATION_FD_NONE : (uint32_t)fd;
}

static int make_plan(const struct box *box, const struct mounts *m, struct arena *a,
                     struct plan *ret, struct error *err)
{
	char machine_id[ID_HEX_SIZE];
	struct isolation_spec spec = {
	        .hostname = *box->id ? box->hostname : UNNAMED,
	        .machine_id = machine_id,
	        .project_dir = PROJECT_DIR,
	        .resolv_conf = box->internet ? box->boxes->host->network.resolv_conf : "",
	        .memory_bytes = box->limits.memory_bytes,
	        .disk_bytes = box->disk_bytes,
	        .pids = box->limits.pids,
	        .host_template = strcmp(box->template_name, "host") == 0,
	        .no_privileges = !box->privileges,
	        .disk_is_advisory = box->disk_is_advisory,
	        .started_before = box->restart,
	        .root_fd = number(m->root),
	        .dev_fd = number(m->dev),
	        .sys_fd = number(m->sys),
	        .usr_fd = number(m->usr),
	        .sudo_fd = number(m->sudo),
	        .sudo_lib_fd = number(m->sudo_lib),
	        .sudo_lib_dir = box->boxes->host->sudo_lib_dir,
	        .volume_count = m->volume_count,
	};

	id_to_hex(box->id, machine_id);
	for (unsigned i = 0; i < m->volume_count; i++) {
		spec.volume_fds[i] = (uint32_t)m->volumes[i];
		spec.volume_paths[i] = box->volumes[i].path;
	}
	for (unsigned i = 0; i < REVIEW_TREES; i++) {
		if (m->trees.fds[i] < 0)
			continue;
		spec.volume_fds[spec.volume_count] = (uint32_t)m->trees.fds[i];
		spec.volume_paths[spec.volume_count++] = review_paths[i];
	}
	return isolation_plan(a, &spec, ret, err);
}

/* All descriptors, in the order of their numbers, go with the first packet. */
static int flush_plan(const struct box *box, struct buf *frames, struct wire_fds *fds,
                      struct error *err)
{
	if (wire_send_packet(box->cell->setup_fd, buf_span(frames), fds, deadline_in(0), err) < 0)
		return FAIL_CONTEXT(err, "tell the agent its set-up");
	buf_reset(frames);
	fds->count = 0;
	return 0;
}

static int send_plan(const struct box *box, const struct plan *plan, struct error *err)
{
	AUTO(buf_done) struct buf frames = BUF(SETUP_PACKET_SIZE + WIRE_PAYLOAD_MAX);
	struct agent_done done = {.count = plan->count};
	const struct agent_beat beat = {
	        .bound_ms = (uint64_t)box->boxes->host->options.orphan_timeout_s * 1000};
	struct wire_fds fds = {.count = plan->fd_count};

	for (unsigned i = 0; i < plan->fd_count; i++)
		fds.fds[i] = (int)plan->fds[i];
	for (unsigned i = 0; i < plan->count; i++) {
		if (wire_encode(&frames, AGENT_SETUP, setup_step_shape, &plan->steps[i], err) < 0)
			return -1;
		if (frames.size >= SETUP_PACKET_SIZE && flush_plan(box, &frames, &fds, err) < 0)
			return -1;
	}
	if (box->pool && box->pool->warm_wish.size > 0) {
		if (flush_plan(box, &frames, &fds, err) < 0)
			return -1;
		buf_add_span(&frames, buf_span(&box->pool->warm_wish));
	}
	if (beat.bound_ms > 0 && wire_encode(&frames, AGENT_BEAT, agent_beat_shape, &beat, err) < 0)
		return -1;
	if (box->pool ? wire_encode(&frames, AGENT_PREPARE, NULL, NULL, err) < 0
	              : wire_encode(&frames, AGENT_DONE, agent_done_shape, &done, err) < 0)
		return -1;
	return flush_plan(box, &frames, &fds, err);
}

static int plan_and_send(struct box *box, struct mounts *m, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct plan plan;

	if (make_plan(box, m, &a, &plan, err) < 0)
		return -1;
	box_step(box, "plan");
	return send_plan(box, &plan, err);
}

static bool has_limits(const struct box *box)
{
	const struct cgroup_limits *has = &box->cell->limits, *wanted = &box->limits;

	return has->cpu_milli == wanted->cpu_milli && has->memory_bytes == wanted->memory_bytes &&
	       has->pids == wanted->pids && has->background == wanted->background;
}

/* By the filesystem's quota, where there are any. */
static int limit_disk(struct box *box, struct error *err)
{
	char name[GROUP_NAME_SIZE];
	int is_limited;

	if (box->disk_fd >= 0)
		return 0;
	host_group_name(box->slot, name);
	is_limited = box->restart ? disk_folder_limit(box, FOLDER_SANDBOXES, box->id, err)
	                          : disk_folder_limit(box, FOLDER_CELLS, name, err);
	if (is_limited > 0)
		box->disk_is_advisory = false;
	return is_limited < 0 ? -1 : 0;
}

int box_set_up(struct box *box, struct error *err)
{
	struct host *host = box->boxes->host;
	struct mounts m = {-1, -1, -1, -1, -1, -1, {0}, 0, {{-1, -1, -1, -1}}};
	char group[GROUP_NAME_SIZE];
	int status;

	host_group_name(box->slot, group);
	box_step(box, "cell");
	if (!has_limits(box) &&
	    host->cgroups.ops->limit(&host->cgroups, group, &box->limits, err) < 0)
		return -1;
	box_step(box, "limits");
	fault_point("broker", "limits");
	if (box_filter(box, err) < 0)
		return -1;
	status = limit_disk(box, err);
	if (status == 0)
		status = open_mounts(box, &m, err);
	box_step(box, "mounts");
	fault_point("broker", "overlay");
	if (status == 0)
		status = plan_and_send(box, &m, err);
	close_mounts(&m);
	fd_forget(&box->disk_fd);
	box_step(box, "send");
	fault_point("broker", "plan");
	return status;
}

/* ---- the agent's word ---- */

static int take_failure(struct span payload, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct agent_failed failed;

	if (wire_decode(&a, payload, agent_failed_shape, &failed, sizeof(failed), err) < 0)
		return -1;
	if (failed.code == ERROR_NONE || failed.code >= ERROR_CODE_COUNT)
		failed.code = ERROR_SYSTEM;
	error_set(err, (enum error_code)failed.code, 0, HERE, "%s", failed.text);
	return -1;
}

/* Those that say who a prepared one is. Nothing but the agent has run in there. */
static int take_files(struct box *box, struct wire_fds *fds, struct error *err)
{
	if (fds->count != (box->pool ? ISOLATION_IDENTITY_FILES : 0))
		return FAIL(err, ERROR_SYSTEM, "agent's answer is malformed");
	for (unsigned i = 0; i < fds->count; i++)
		box->identity_fds[i] = fds->fds[i];
	fds->count = 0;
	return 0;
}

int box_take_answer(struct box *box, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_PAYLOAD_MAX);
	AUTO(wire_fds_close) struct wire_fds fds = {.count = 0};
	struct span rest, payload;
	uint16_t type;
	int got;

	if (wire_receive_packet(box->cell->setup_fd, deadline_in(0), &packet, &fds, err) < 0)
		return FAIL_CONTEXT(err, "agent ended during its set-up");
	rest = buf_span(&packet);
	got = wire_next(&rest, &type, &payload, NULL, err);
	if (got < 0)
		return -1;
	if (got == 0 || rest.size > 0)
		return FAIL(err, ERROR_SYSTEM, "agent's answer is malformed");
	if (type == AGENT_READY)
		return take_files(box, &fds, err);
	if (type == AGENT_FAILED)
		return take_failure(payload, err);
	return FAIL(err, ERROR_SYSTEM, "agent answered with message %u", type);
}

/* What it lies on, where it does not lie on its template alone. */
static int write_chain(const struct box *box, const char *cell, struct error *err)
{
	const struct chain *chain = chain_of(box);
	char path[64];

	if (!chain)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/" CHAIN_LINK, cell);
	return chain_write(box->boxes->host->folders[FOLDER_CELLS], path, chain, err);
}

int box_write_notes(struct box *box, struct error *err)
{
	AUTO_CLOSE int folder = -1;
	char name[GROUP_NAME_SIZE];

	host_group_name(box->slot, name);
	folder = openat(box->boxes->host->folders[FOLDER_RUN_CELLS], name,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open the run folder of '%s'", box->id);
	if (box_state_write(box, folder, err) < 0)
		return -1;
	fault_point("broker", "state");
	return box->restart ? 0 : write_chain(box, name, err);
}

/* The files get their name first: if the broker dies in between, they are a stopped sandbox's, and
 * what runs is a cell's, which the next start sweeps. */
int box_settle(struct box *box, struct error *err)
{
	const struct host *host = box->boxes->host;
	char name[GROUP_NAME_SIZE];

	if (box->claiming ? box_state_update(box, err) < 0 : box_write_notes(box, err) < 0)
		return -1;
	host_group_name(box->slot, name);
	if (!box->restart && renameat(host->folders[FOLDER_CELLS], name,
	                              host->folders[FOLDER_SANDBOXES], box->id) < 0)
		return FAIL_ERRNO(err, "name the files of '%s'", box->id);
	fault_point("broker", "files");
	if (renameat(host->folders[FOLDER_RUN_CELLS], name, host->folders[FOLDER_RUN_SANDBOXES],
	             box->id) < 0)
		return FAIL_ERRNO(err, "name the run folder of '%s'", box->id);
	fault_point("broker", "run-folder");
	return 0;
}
