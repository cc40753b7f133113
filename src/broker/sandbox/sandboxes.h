/* SPDX-License-Identifier: Apache-2.0 */
/* broker/sandbox/sandboxes.h — the sandboxes of this broker. */
#pragma once

#include "base/error.h"
#include "base/list.h"
#include "base/map.h"

struct broker_create;
struct broker_created;
struct cleanup_item;
struct error;
struct pending_reply;
struct prepared_pools;
struct prewarm_pool;
struct slots;
struct trash_note;

struct sandboxes {
	struct host *host;
	struct events *events;
	struct slots *slots;
	struct prewarm_pool *prewarm_pool;
	struct layer_stacks *stacks;
	struct prepared_pools *pools;
	struct map by_id;
	struct list waiting; /* for a prewarmed sandbox */
	/* Replies to atolld: */
	void (*on_created)(void *context, const struct pending_reply *reply,
	                   const struct broker_created *m);
	void (*on_done)(void *context, const struct pending_reply *reply);
	void (*on_failed)(void *context, const struct pending_reply *reply,
	                  const struct error *err);
	void (*on_ended)(void *context, const char *id, uint32_t reason, uint64_t sent_bytes);
	/* Something must be cleaned up. The callee gets the descriptors. */
	void (*on_slot_free)(void *context, const struct cleanup_item *item);
	/* The processes are dead: other work on this sandbox must end now. */
	void (*on_dead)(void *context, const char *id);
	/* Whether other work, such as a snapshot, is using its files. */
	bool (*is_busy)(void *context, const char *id);
	void *context;
};

void sandboxes_init(struct sandboxes *b, struct host *host, struct events *events,
                    struct slots *slots, struct prewarm_pool *prewarm_pool);
/* Frees all records; the sandboxes live on. */
void sandboxes_close(struct sandboxes *b);
struct sandbox *sandboxes_find(const struct sandboxes *b, const char *id);
/* Whether a create is waiting for a prewarmed sandbox. */
bool sandboxes_are_waiting(const struct sandboxes *b);
/* A maker has ended: the first create that waits for this kind gets the new prewarmed sandbox, or
 * the error. */
void sandboxes_on_prewarm(struct sandboxes *b, bool internet, const struct error *err);

/* BROKER_CREATE, or BROKER_START with `restart`. The caller has checked the request. The reply
 * comes later unless the call fails. */
MUST_CHECK int sandboxes_create(struct sandboxes *b, const struct pending_reply *reply,
                                const struct broker_create *request, bool restart,
                                struct error *err);
/* BROKER_STOP: the agent gets `grace_ms` to end its processes. */
MUST_CHECK int sandboxes_stop(struct sandboxes *b, const struct pending_reply *reply,
                              const char *id, uint64_t grace_ms, struct error *err);
/* BROKER_DESTROY: kills at once. `note`: the files go to the trash; NULL: they are deleted. */
MUST_CHECK int sandboxes_destroy(struct sandboxes *b, const struct pending_reply *reply,
                                 const char *id, const struct trash_note *note, struct error *err);
/* Kills all sandboxes and keeps their files. */
void sandboxes_end_all(struct sandboxes *b);
/* Kills those without isolation, with all their processes, before it returns. */
void sandboxes_end_host(struct sandboxes *b);
/* adopt.c, at start: adopts sandboxes of an earlier broker that live, by their run folders, and
 * moves the run folders of others to the trash. */
MUST_CHECK int sandboxes_adopt(struct sandboxes *b, struct error *err);
/* files.c: deletes the files of a sandbox that does not run, or moves them to the trash. `note` may
 * be NULL. */
MUST_CHECK int sandbox_files_remove(struct sandboxes *b, const char *id,
                                    const struct trash_note *note, struct error *err);
/* There are no such files: the layers below may be in no other stack; then they are deleted, too.
 */
void sandbox_files_forget(struct sandboxes *b, const char *id);
