/* SPDX-License-Identifier: Apache-2.0 */
/* From a prewarmed sandbox to a sandbox: what a request adds. Runs in the broker itself, and so
 * does only what takes microseconds; the slow part is the agent's, which applies the plan on its
 * own time. */
#include "broker/sandbox/setup.h"

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"
#include "broker/host/options.h"
#include "broker/network/network.h"
#include "broker/prewarm/prewarm.h"
#include "broker/sandbox/disk.h"
#include "broker/sandbox/egress.h"
#include "broker/sandbox/mounts.h"
#include "broker/sandbox/pool.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "broker/volume/mount.h"
#include "isolation/identity.h"
#include "isolation/plan.h"
#include "wire/agent_beat.h"

#define PROJECT_DIR "/home/user/project"
#define UNNAMED "unnamed" /* until it is claimed */
/* A whole plan in most cases. */
#define SETUP_PACKET_SIZE (32 * 1024)

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
	                sandbox->internet ? sandbox->sandboxes->host->network->resolv_conf : "",
	        .memory_bytes = sandbox->limits.memory_bytes,
	        .disk_bytes = sandbox->disk_bytes,
	        .pids = sandbox->limits.pids,
	        .host_template = strcmp(sandbox->template_name, "host") == 0,
	        .no_privileges = !sandbox->privileges,
	        .disk_is_advisory = sandbox->disk_is_advisory,
	        .started_before = sandbox->restart,
	        .internet = sandbox->internet,
	        .runsc_fd = number_of_fd(m->root.layers[LAYER_RUNSC]),
	        .agent_fd = number_of_fd(m->root.layers[LAYER_AGENT]),
	        .root_fd = number_of_fd(m->root.root),
	        .dev_fd = number_of_fd(m->root.layers[sandbox->has_kvm ? LAYER_KVM : LAYER_DEV]),
	        .sys_fd = number_of_fd(m->root.layers[LAYER_SYS]),
	        .usr_fd = number_of_fd(m->root.layers[LAYER_USR]),
	        .sudo_fd = number_of_fd(m->root.layers[LAYER_SUDO]),
	        .sudo_lib_fd = number_of_fd(m->root.layers[LAYER_SUDO_LIB]),
	        .sudo_lib_dir = sandbox->sandboxes->host->sudo_lib_dir,
	        .volume_count = sandbox->volume_count,
	};

	id_to_hex(sandbox->id, machine_id);
	for (unsigned i = 0; i < sandbox->volume_count; i++) {
		spec.volume_fds[i] = (uint32_t)sandbox->volumes[i].fd;
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

/* All descriptors go with the first packet, in the order of their numbers. */
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
	        .bound_ms = (uint64_t)sandbox->sandboxes->host->options->orphan_timeout_s * 1000};
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

/* Limits the disk by the filesystem's quota, where there is one. */
static int limit_disk(struct sandbox *sandbox, struct error *err)
{
	char name[GROUP_NAME_SIZE];
	int is_limited;

	if (sandbox->disk_fd >= 0)
		return 0;
	host_group_name(sandbox->slot, name);
	is_limited = sandbox->restart
	                     ? sandbox_limit_folder(sandbox, FOLDER_SANDBOXES, sandbox->id, err)
	                     : sandbox_limit_folder(sandbox, FOLDER_PREWARMS, name, err);
	if (is_limited > 0)
		sandbox->disk_is_advisory = false;
	return is_limited < 0 ? -1 : 0;
}

int sandbox_send_plan(struct sandbox *sandbox, struct error *err)
{
	struct host *host = sandbox->sandboxes->host;
	struct setup_mounts m = SETUP_MOUNTS_NONE;
	char group[GROUP_NAME_SIZE];
	int status;

	host_group_name(sandbox->slot, group);
	sandbox_step(sandbox, "prewarmed");
	if (!has_limits(sandbox) &&
	    host->cgroups->ops->limit(host->cgroups, group, &sandbox->limits, err) < 0)
		return -1;
	sandbox_step(sandbox, "limits");
	fault_point("broker", "limits");
	if (sandbox_apply_egress(sandbox, err) < 0)
		return -1;
	status = limit_disk(sandbox, err);
	if (status == 0)
		status = setup_mounts_open(sandbox, &m, err);
	sandbox_step(sandbox, "mounts");
	fault_point("broker", "overlay");
	if (status == 0)
		status = plan_and_send(sandbox, &m, err);
	setup_mounts_close(&m);
	sandbox_close_disks(sandbox);
	sandbox_step(sandbox, "send");
	fault_point("broker", "plan");
	return status;
}

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

/* Takes the open files that the claim completes. Nothing but the agent has run inside. */
static int take_files(struct sandbox *sandbox, struct wire_fds *fds, struct error *err)
{
	if (fds->count != (sandbox->pool ? ISOLATION_IDENTITY_FILES : 0))
		return FAIL(err, ERROR_SYSTEM, "agent's answer is malformed");
	if (fds->count == 0)
		return 0;
	sandbox->identity_files = memory_new(sizeof(*fds));
	*sandbox->identity_files = *fds;
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
