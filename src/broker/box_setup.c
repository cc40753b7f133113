/* SPDX-License-Identifier: Apache-2.0 */
/* From a prewarmed sandbox to a sandbox: what a request adds. Runs in the broker itself, and so
 * does only what takes microseconds; the slow part is the agent's, which applies the plan on its
 * own time. */
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
#include "broker/run_state.h"

#define PROJECT_DIR "/home/user/project"
#define UNNAMED "unnamed" /* until it is claimed */
/* A whole plan in most cases. */
#define SETUP_PACKET_SIZE (32 * 1024)

void sandbox_step(struct sandbox *sandbox, const char *name)
{
	int64_t now = clock_monotonic_ns() / 1000;

	buf_addf(&sandbox->steps, "%s%s=%lld", sandbox->steps.size ? " " : "", name,
	         (long long)(now - sandbox->step_us));
	sandbox->step_us = now;
}

/* ---- files ---- */

/* What it lies on; NULL: on its template alone. */
static const struct layer_stack *stack_of(const struct sandbox *sandbox)
{
	return sandbox->pool ? &sandbox->pool->blueprint.stack
	                     : layer_stacks_of(sandbox->sandboxes->stacks, sandbox->id);
}

static int open_root(struct sandbox *sandbox, int *ret_fd, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	struct prewarm *prewarm = sandbox->prewarm;
	char name[GROUP_NAME_SIZE];
	struct root_options options = {.template_name = sandbox->template_name,
	                               .stack = stack_of(sandbox),
	                               .upper_fd = host->folders[FOLDER_PREWARMS],
	                               .upper_name = name,
	                               .ids_fd = prewarm->ids_fd,
	                               .stored_fd = prewarm->stored_fd,
	                               .let_go = prewarm_pool_let_go,
	                               .context = sandbox->sandboxes->prewarm_pool};

	host_group_name(sandbox->slot, name);
	if (sandbox->disk_fd >= 0) {
		options.upper_fd = sandbox->disk_fd;
		options.upper_name = NULL;
	} else if (sandbox->restart) {
		options.upper_fd = host->folders[FOLDER_SANDBOXES];
		options.upper_name = sandbox->id;
	} else if (prewarm_has_root(prewarm,
	                            &(struct prewarm_guess){sandbox->template_name, options.stack,
	                                                    &sandbox->limits})) {
		*ret_fd = TAKE_FD(prewarm->root_fd);
		return 0;
	} else if (prewarm_drop_root(prewarm, err) < 0) {
		return -1;
	}
	prewarm_let_go_of_root(prewarm);
	return host_root_open(host, &options, ret_fd, err);
}

/* Clones of what is shared. sudo's parts get the sandbox's ids, so that they are its root's. */
static int open_shared(const struct sandbox *sandbox, enum host_layer layer, bool mapped,
                       int *ret_fd, struct error *err)
{
	int source = sandbox->sandboxes->host->layers[layer];
	struct layer_options options = {.map_fd = mapped ? sandbox->prewarm->ids_fd : -1};

	if (source < 0)
		return 0;
	return layer_open(source, "", &options, ret_fd, err);
}

struct setup_mounts {
	int root, dev, sys, usr, sudo, sudo_lib;
	int volumes[SANDBOX_MOUNTS_MAX];
	unsigned volume_count;
	struct review_trees trees;
};

static void close_mounts(struct setup_mounts *m)
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

static int open_volumes(struct sandbox *sandbox, struct setup_mounts *m, struct error *err)
{
	for (; m->volume_count < sandbox->volume_count; m->volume_count++) {
		int *fd = &m->volumes[m->volume_count];

		*fd = TAKE_FD(sandbox->volume_fds[m->volume_count]);
		if (*fd < 0 &&
		    volume_open(sandbox->sandboxes->host, &sandbox->volumes[m->volume_count],
		                sandbox->prewarm->stored_fd, fd, err) < 0)
			return -1;
	}
	return 0;
}

static int open_review(const struct sandbox *sandbox, struct setup_mounts *m, struct error *err)
{
	const struct review_maps maps = {sandbox->prewarm->ids_fd, sandbox->prewarm->stored_fd};

	return sandbox->review
	               ? review_open(sandbox->review, sandbox->sandboxes, &maps, &m->trees, err)
	               : 0;
}

static int open_mounts(struct sandbox *sandbox, struct setup_mounts *m, struct error *err)
{
	if (open_root(sandbox, &m->root, err) < 0)
		return -1;
	sandbox_step(sandbox, "overlay");
	if (open_shared(sandbox, LAYER_DEV, false, &m->dev, err) < 0 ||
	    open_shared(sandbox, LAYER_SYS, false, &m->sys, err) < 0 ||
	    open_volumes(sandbox, m, err) < 0 || open_review(sandbox, m, err) < 0)
		return -1;
	if (strcmp(sandbox->template_name, "host") != 0)
		return 0;
	if (open_shared(sandbox, LAYER_USR, false, &m->usr, err) < 0)
		return -1;
	if (!sandbox->privileges)
		return 0;
	if (open_shared(sandbox, LAYER_SUDO, true, &m->sudo, err) < 0)
		return -1;
	return open_shared(sandbox, LAYER_SUDO_LIB, true, &m->sudo_lib, err);
}

/* ---- the plan ---- */

static uint32_t number_of_fd(int fd)
{
	return fd < 0 ? ISOLATION_FD_NONE : (uint32_t)fd;
}

static int make_plan(const struct sandbox *sandbox, const struct setup_mounts *m, struct arena *a,
                     struct setup_plan *ret, struct error *err)
{
	char machine_id[ID_HEX_SIZE];
	struct isolation_spec spec = {
	        .hostname = *sandbox->id ? sandbox->hostname : UNNAMED,
	        .machine_id = machine_id,
	        .project_dir = PROJECT_DIR,
	        .resolv_conf =
	                sandbox->internet ? sandbox->sandboxes->host->network.resolv_conf : "",
	        .memory_bytes = sandbox->limits.memory_bytes,
	        .disk_bytes = sandbox->disk_bytes,
	        .pids = sandbox->limits.pids,
	        .host_template = strcmp(sandbox->template_name, "host") == 0,
	        .no_privileges = !sandbox->privileges,
	        .disk_is_advisory = sandbox->disk_is_advisory,
	        .started_before = sandbox->restart,
	        .root_fd = number_of_fd(m->root),
	        .dev_fd = number_of_fd(m->dev),
	        .sys_fd = number_of_fd(m->sys),
	        .usr_fd = number_of_fd(m->usr),
	        .sudo_fd = number_of_fd(m->sudo),
	        .sudo_lib_fd = number_of_fd(m->sudo_lib),
	        .sudo_lib_dir = sandbox->sandboxes->host->sudo_lib_dir,
	        .volume_count = m->volume_count,
	};

	id_to_hex(sandbox->id, machine_id);
	for (unsigned i = 0; i < m->volume_count; i++) {
		spec.volume_fds[i] = (uint32_t)m->volumes[i];
		spec.volume_paths[i] = sandbox->volumes[i].path;
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
static int flush_plan(const struct sandbox *sandbox, struct buf *frames, struct wire_fds *fds,
                      struct error *err)
{
	if (wire_send_packet(sandbox->prewarm->setup_fd, buf_span(frames), fds, deadline_after(0),
	                     err) < 0)
		return FAIL_CONTEXT(err, "tell the agent its set-up");
	buf_reset(frames);
	fds->count = 0;
	return 0;
}

static int send_plan(const struct sandbox *sandbox, const struct setup_plan *plan,
                     struct error *err)
{
	AUTO(buf_done) struct buf frames = BUF(SETUP_PACKET_SIZE + WIRE_PAYLOAD_MAX);
	struct agent_done done = {.count = plan->count};
	const struct agent_beat beat = {
	        .bound_ms = (uint64_t)sandbox->sandboxes->host->options.orphan_timeout_s * 1000};
	struct wire_fds fds = {.count = plan->fd_count};

	for (unsigned i = 0; i < plan->fd_count; i++)
		fds.fds[i] = (int)plan->fds[i];
	for (unsigned i = 0; i < plan->count; i++) {
		if (wire_encode(&frames, AGENT_SETUP, setup_step_shape, &plan->steps[i], err) < 0)
			return -1;
		if (frames.size >= SETUP_PACKET_SIZE && flush_plan(sandbox, &frames, &fds, err) < 0)
			return -1;
	}
	if (sandbox->pool && sandbox->pool->warm_wish.size > 0) {
		if (flush_plan(sandbox, &frames, &fds, err) < 0)
			return -1;
		buf_add_span(&frames, buf_span(&sandbox->pool->warm_wish));
	}
	if (beat.bound_ms > 0 && wire_encode(&frames, AGENT_BEAT, agent_beat_shape, &beat, err) < 0)
		return -1;
	if (sandbox->pool ? wire_encode(&frames, AGENT_PREPARE, NULL, NULL, err) < 0
	                  : wire_encode(&frames, AGENT_DONE, agent_done_shape, &done, err) < 0)
		return -1;
	return flush_plan(sandbox, &frames, &fds, err);
}

static int plan_and_send(struct sandbox *sandbox, struct setup_mounts *m, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct setup_plan plan;

	if (make_plan(sandbox, m, &a, &plan, err) < 0)
		return -1;
	sandbox_step(sandbox, "plan");
	return send_plan(sandbox, &plan, err);
}

static bool has_limits(const struct sandbox *sandbox)
{
	const struct cgroup_limits *has = &sandbox->prewarm->limits, *wanted = &sandbox->limits;

	return has->cpu_milli == wanted->cpu_milli && has->memory_bytes == wanted->memory_bytes &&
	       has->pids == wanted->pids && has->background == wanted->background;
}

/* By the filesystem's quota, where there are any. */
static int limit_disk(struct sandbox *sandbox, struct error *err)
{
	char name[GROUP_NAME_SIZE];
	int is_limited;

	if (sandbox->disk_fd >= 0)
		return 0;
	host_group_name(sandbox->slot, name);
	is_limited = sandbox->restart
	                     ? disk_folder_limit(sandbox, FOLDER_SANDBOXES, sandbox->id, err)
	                     : disk_folder_limit(sandbox, FOLDER_PREWARMS, name, err);
	if (is_limited > 0)
		sandbox->disk_is_advisory = false;
	return is_limited < 0 ? -1 : 0;
}

int sandbox_send_plan(struct sandbox *sandbox, struct error *err)
{
	struct host *host = sandbox->sandboxes->host;
	struct setup_mounts m = {-1, -1, -1, -1, -1, -1, {0}, 0, {{-1, -1, -1, -1}}};
	char group[GROUP_NAME_SIZE];
	int status;

	host_group_name(sandbox->slot, group);
	sandbox_step(sandbox, "cell");
	if (!has_limits(sandbox) &&
	    host->cgroups.ops->limit(&host->cgroups, group, &sandbox->limits, err) < 0)
		return -1;
	sandbox_step(sandbox, "limits");
	fault_point("broker", "limits");
	if (sandbox_apply_egress(sandbox, err) < 0)
		return -1;
	status = limit_disk(sandbox, err);
	if (status == 0)
		status = open_mounts(sandbox, &m, err);
	sandbox_step(sandbox, "mounts");
	fault_point("broker", "overlay");
	if (status == 0)
		status = plan_and_send(sandbox, &m, err);
	close_mounts(&m);
	fd_forget(&sandbox->disk_fd);
	sandbox_step(sandbox, "send");
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
static int take_files(struct sandbox *sandbox, struct wire_fds *fds, struct error *err)
{
	if (fds->count != (sandbox->pool ? ISOLATION_IDENTITY_FILES : 0))
		return FAIL(err, ERROR_SYSTEM, "agent's answer is malformed");
	for (unsigned i = 0; i < fds->count; i++)
		sandbox->identity_fds[i] = fds->fds[i];
	fds->count = 0;
	return 0;
}

int sandbox_take_answer(struct sandbox *sandbox, struct error *err)
{
	AUTO(buf_done) struct buf packet = BUF(WIRE_PAYLOAD_MAX);
	AUTO(wire_fds_close) struct wire_fds fds = {.count = 0};
	struct span rest, payload;
	uint16_t type;
	int got;

	if (wire_receive_packet(sandbox->prewarm->setup_fd, deadline_after(0), &packet, &fds, err) <
	    0)
		return FAIL_CONTEXT(err, "agent ended during its set-up");
	rest = buf_span(&packet);
	got = wire_next(&rest, &type, &payload, NULL, err);
	if (got < 0)
		return -1;
	if (got == 0 || rest.size > 0)
		return FAIL(err, ERROR_SYSTEM, "agent's answer is malformed");
	if (type == AGENT_READY)
		return take_files(sandbox, &fds, err);
	if (type == AGENT_FAILED)
		return take_failure(payload, err);
	return FAIL(err, ERROR_SYSTEM, "agent answered with message %u", type);
}

/* What it lies on, where it does not lie on its template alone. */
static int write_stack(const struct sandbox *sandbox, const char *prewarm, struct error *err)
{
	const struct layer_stack *stack = stack_of(sandbox);
	char path[64];

	if (!stack)
		return 0;
	(void)snprintf(path, sizeof(path), "%s/" LAYER_STACK_LINK, prewarm);
	return layer_stack_write(sandbox->sandboxes->host->folders[FOLDER_PREWARMS], path, stack,
	                         err);
}

int sandbox_write_notes(struct sandbox *sandbox, struct error *err)
{
	AUTO_CLOSE int folder = -1;
	char name[GROUP_NAME_SIZE];

	host_group_name(sandbox->slot, name);
	folder = openat(sandbox->sandboxes->host->folders[FOLDER_RUN_PREWARMS], name,
	                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return FAIL_ERRNO(err, "open the run folder of '%s'", sandbox->id);
	if (run_state_write(sandbox, folder, err) < 0)
		return -1;
	fault_point("broker", "state");
	return sandbox->restart ? 0 : write_stack(sandbox, name, err);
}

/* The files get their name first: if the broker dies in between, they are a stopped sandbox's, and
 * what runs is a prewarmed sandbox's, which the next start sweeps. */
int sandbox_publish(struct sandbox *sandbox, struct error *err)
{
	const struct host *host = sandbox->sandboxes->host;
	char name[GROUP_NAME_SIZE];

	if (sandbox->claiming ? run_state_update(sandbox, err) < 0
	                      : sandbox_write_notes(sandbox, err) < 0)
		return -1;
	host_group_name(sandbox->slot, name);
	if (!sandbox->restart && renameat(host->folders[FOLDER_PREWARMS], name,
	                                  host->folders[FOLDER_SANDBOXES], sandbox->id) < 0)
		return FAIL_ERRNO(err, "name the files of '%s'", sandbox->id);
	fault_point("broker", "files");
	if (renameat(host->folders[FOLDER_RUN_PREWARMS], name, host->folders[FOLDER_RUN_SANDBOXES],
	             sandbox->id) < 0)
		return FAIL_ERRNO(err, "name the run folder of '%s'", sandbox->id);
	fault_point("broker", "run-folder");
	return 0;
}
