/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/probe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/log.h"
#include "broker/guard.h"
#include "broker/state.h"

#define PREFIX_SIZE (sizeof(BROKER_PROBE_PREFIX) - 1)
#define PROBE_CPU_MILLI 1000
#define PROBE_MEMORY_BYTES (UINT64_C(32) << 20)
#define PROBE_PIDS 16

bool probe_is_id(const char *id)
{
	return strncmp(id, BROKER_PROBE_PREFIX, PREFIX_SIZE) == 0;
}

/* Internet without rules, internet with rules, no internet. */
static bool has_same_network(const struct sandbox *sandbox, const struct broker_probe *request)
{
	bool is_ruled = request->network && request->egress && *request->egress;

	return sandbox->internet == (request->network != 0) &&
	       (sandbox->egress != NULL) == is_ruled;
}

static bool probe_is_running(const struct sandboxes *b, const struct broker_probe *request)
{
	const struct sandbox *sandbox;
	const char *id;
	size_t at = 0;

	while ((sandbox = map_next(&b->by_id, &at, &id)))
		if (probe_is_id(id) && has_same_network(sandbox, request))
			return true;
	return false;
}

int probe_start(struct broker *b, const struct pending_reply *reply,
                const struct broker_probe *request, struct error *err)
{
	const char *no_volumes[] = {NULL};
	struct id id = id_new();
	const struct broker_create create = {
	        .kind = request->kind,
	        .sandbox = id.text,
	        .hostname = "probe",
	        .template_name = "host",
	        .network = request->network,
	        .cpu_milli = PROBE_CPU_MILLI,
	        .memory_bytes = PROBE_MEMORY_BYTES,
	        .pids = PROBE_PIDS,
	        .snapshot = "",
	        .volumes = no_volumes,
	        .review = "",
	        .warm = "",
	        .egress = request->egress,
	        .owner = "",
	};

	if (probe_is_running(&b->sandboxes, request))
		return FAIL(err, ERROR_UNAVAILABLE, "an earlier probe has not ended yet");
	memcpy(id.text, BROKER_PROBE_PREFIX, PREFIX_SIZE);
	if (request->network && request->kind == BROKER_NATIVE)
		guard_try_again(b);
	return sandboxes_create(&b->sandboxes, reply, &create, false, err);
}

/* The answer to the probe is sent when its processes are dead. */
void probe_end(struct sandbox *sandbox)
{
	if (!probe_is_id(sandbox->id))
		return;
	fault_point("broker", "probe-made");
	sandbox->remove_files = true;
	sandbox_kill(sandbox);
}

/* A broker that was killed between the end of a probe and the removal of its files has left them.
 */
void probes_sweep(struct sandboxes *b)
{
	int fd =
	        openat(b->host->folders[FOLDER_SANDBOXES], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!folder) {
		fd_forget(&fd);
		return;
	}
	while ((entry = readdir(folder))) {
		struct error err = {0};

		if (!probe_is_id(entry->d_name) || sandboxes_find(b, entry->d_name))
			continue;
		if (host_trash_files(b->host, entry->d_name, &err) < 0)
			log_warning("files of a probe are left", FAILURE(&err));
	}
	(void)closedir(folder);
}
