/* SPDX-License-Identifier: Apache-2.0 */
/* surface/envd/changes.h — changes below a folder as FilesystemEvents. Private to this folder. */
#pragma once

#include "surface/envd/envd.h"

/* Of one event with its entry, whose every byte may be escaped. */
#define CHANGES_EVENT_MAX ((size_t)256 * 1024)

struct changes {
	struct buf entry; /* that the next change is about; empty = none */
	struct buf event;
};
void changes_init(struct changes *c);
void changes_done(struct changes *c); /* zeroed is fine */
/* A message of the agent's after READY: 1 and the event's JSON, good until the next call; 0 when
 * there is more to come; -1 when it is out of place, or events were lost. */
MUST_CHECK int changes_take_message(struct changes *c, struct arena *a, uint16_t type,
                                    struct span payload, struct span *ret, struct error *err);

/* {"path":…,"recursive":…,"includeEntry":…} as the agent's request. */
MUST_CHECK int changes_read_request(struct request *rq, const struct api_target *t,
                                    const struct json_value *body, struct agent_path *ret,
                                    struct error *err);
/* A failure of the agent's in the words of envd. */
void changes_translate_error(struct error *err);
