/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/sandbox_answer.h — sandboxes in answers, with their origin, lineage and volumes.
 */
#pragma once

#include "http/server/http.h"
#include "json/json.h"

struct api;
struct relation_list;
struct sandbox_record;

/* A sandbox as the native API answers it. */
extern const struct json_shape sandbox_shape;
int sandbox_reply(struct request *rq, struct reply *reply, const struct sandbox_record *r);
/* Items of sandbox_shape in the request's arena. */
struct json_list sandbox_answers(struct request *rq, const struct sandbox_record *records,
                                 size_t count);
/* Adds lineage, volumes and the ports of previews; costs one more query. */
MUST_CHECK int sandbox_reply_with_relations(struct request *rq, struct reply *reply,
                                            const struct sandbox_record *r, struct error *err);
/* Adds the origin and the volumes; costs one more query for all. */
MUST_CHECK int sandbox_answers_with_relations(struct request *rq,
                                              const struct sandbox_record *records, size_t count,
                                              struct json_list *ret, struct error *err);

/* Whether an answer with these members (bits of sandbox_shape) needs the relations. */
bool sandbox_members_need_relations(uint64_t members);
/* Appends the sandbox as the list answers it. */
MUST_CHECK int sandbox_object_write(const struct api *api, struct arena *a,
                                    const struct sandbox_record *r, struct buf *out,
                                    struct error *err);

struct attached_volume_answer {
	const char *volume, *volume_id, *path;
	bool read_only;
};
extern const struct json_shape attached_volume;

struct lineage_step {
	const char *kind, *id, *name, *sandbox, *sandbox_name;
};
extern const struct json_shape lineage_step_shape;
/* The snapshots below, then the template. */
struct json_list lineage_answer(struct arena *a, const struct relation_list *relations,
                                const struct lineage_step *template);
