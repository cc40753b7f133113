/* SPDX-License-Identifier: Apache-2.0 */
#include "calls/artifacts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calls/stream.h"
#include "fleet/sandbox/artifacts.h"
#include "json/json.h"
#include "sandbox/media.h"
#include "wire/agent.h"
#include "wire/agent_files.h"

void artifacts_init(struct artifacts *a, const char *root, const char *user)
{
	*a = (struct artifacts){.root = memory_text(root), .user = memory_text(user ? user : "")};
}

void artifacts_done(struct artifacts *a)
{
	free(a->root);
	free(a->user);
	*a = (struct artifacts){.root = NULL};
}

int artifacts_ask(struct artifacts *a, struct relay *relay, uint64_t started_unix_ms,
                  struct error *err)
{
	const struct agent_path message = {
	        .root = a->root,
	        .path = ".",
	        .target = "",
	        .user = a->user,
	        .flags = AGENT_PATH_BENEATH,
	        .depth = FLEET_ARTIFACTS_DEPTH,
	        .offset = started_unix_ms - FLEET_ARTIFACTS_LAG_MS,
	        .size_max = ARTIFACTS_MAX,
	};

	a->asked = true;
	return stream_send(relay, AGENT_LIST, agent_path_shape, &message, err);
}

void artifacts_write(struct artifacts *a, const struct agent_file *file, struct buf *out)
{
	if (a->count == ARTIFACTS_MAX)
		return;
	buf_add_text(out, a->count++ ? ",{\"path\":" : "{\"path\":");
	json_write_text(out, span_of(file->path));
	buf_addf(out, ",\"size\":%" PRIu64 ",\"media_type\":\"%s\"}", file->size,
	         media_type_of_name(file->path));
}
