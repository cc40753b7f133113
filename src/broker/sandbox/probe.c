/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/probe.h"

#include <fcntl.h>
#include <string.h>

#include "base/fault.h"
#include "base/fd.h"
#include "base/log.h"
#include "broker/host/host.h"
#include "broker/sandbox/sandbox.h"
#include "broker/sandbox/sandboxes.h"
#include "wire/broker_probe.h"

#define PREFIX_SIZE (sizeof(BROKER_PROBE_PREFIX) - 1)

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

bool probe_is_running(const struct sandboxes *b, const struct broker_probe *request)
{
	const struct sandbox *sandbox;
	const char *id;
	size_t at = 0;

	while ((sandbox = map_next(&b->by_id, &at, &id)))
		if (probe_is_id(id) && has_same_network(sandbox, request))
			return true;
	return false;
}

/* The reply to the probe is sent when its processes are dead. */
void probe_end(struct sandbox *sandbox)
{
	if (!probe_is_id(sandbox->id))
		return;
	fault_point("broker", "probe-made");
	sandbox->remove_files = true;
	sandbox_kill(sandbox);
}

/* A broker that was killed between the end of a probe and the removal of its files leaves them. */
void probes_sweep(struct sandboxes *b)
{
	AUTO(folder_list_done) DIR *folder = folder_list(b->host->folders[FOLDER_SANDBOXES]);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		struct error err = {0};

		if (!probe_is_id(entry->d_name) || sandboxes_find(b, entry->d_name))
			continue;
		if (host_trash_files(b->host, entry->d_name, &err) < 0)
			log_warning("files of a probe are left", FAILURE(&err));
	}
}
