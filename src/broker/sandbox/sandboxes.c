/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/sandbox/sandboxes.h"
#include "wire/broker_kind.h"

#include "base/log.h"
#include "broker/host/cleanup_item.h"
#include "broker/layers/trash_note.h"
#include "broker/sandbox/beat.h"
#include "broker/sandbox/pause.h"
#include "broker/sandbox/sandbox.h"

struct sandbox *sandboxes_find(const struct sandboxes *b, const char *id)
{
	return map_find(&b->by_id, id);
}

bool sandboxes_are_waiting(const struct sandboxes *b)
{
	return !list_is_empty(&b->waiting);
}

void sandbox_hand_to_cleaner(struct sandbox *sandbox)
{
	struct sandboxes *b = sandbox->sandboxes;
	struct cleanup_item item = {.slot = sandbox->slot};

	item.mounts_fd = TAKE_FD(sandbox->mounts_fd);
	item.net_fd = TAKE_FD(sandbox->net_fd);
	b->on_slot_free(b->context, &item);
}

static int add_end_reply(struct sandbox *sandbox, const struct pending_reply *reply,
                         struct error *err)
{
	if (sandbox->reply_count == SANDBOX_REPLIES_MAX)
		return FAIL(err, ERROR_CONFLICT, "too many requests wait for the end of '%s'",
		            sandbox->id);
	sandbox_add_reply(sandbox, reply);
	return 0;
}

/* A create under way fails, and its own request is answered first. */
static void end_sandbox(struct sandbox *sandbox)
{
	struct error err = {0};

	if (sandbox->phase == SANDBOX_RUNNING) {
		sandbox_kill(sandbox);
		return;
	}
	if (sandbox->phase == SANDBOX_ENDING)
		return;
	error_set(&err, ERROR_CONFLICT, 0, HERE, "sandbox '%s' was ended while it started",
	          sandbox->id);
	sandbox_fail_create(sandbox, &err);
}

int sandboxes_destroy(struct sandboxes *b, const struct pending_reply *reply, const char *id,
                      const struct trash_note *note, struct error *err)
{
	struct sandbox *sandbox = sandboxes_find(b, id);

	if (!sandbox) {
		/* the sandbox is stopped, or never existed */
		if (b->is_busy(b->context, id))
			return FAIL(err, ERROR_CONFLICT, "a snapshot of '%s' is being taken", id);
		if (sandbox_files_remove(b, id, note, err) < 0)
			return -1;
		b->on_done(b->context, reply);
		b->on_slot_free(b->context, &CLEANUP_NOTHING);
		return 0;
	}
	if (add_end_reply(sandbox, reply, err) < 0)
		return -1;
	if (note && !sandbox->note) {
		sandbox->note = memory_new(sizeof(*sandbox->note));
		*sandbox->note = *note;
	}
	sandbox->remove_files = true;
	end_sandbox(sandbox);
	return 0;
}

static void on_grace_end(struct timer *timer)
{
	sandbox_kill(CONTAINER_OF(timer, struct sandbox, deadline));
}

int sandboxes_stop(struct sandboxes *b, const struct pending_reply *reply, const char *id,
                   uint64_t grace_ms, struct error *err)
{
	struct sandbox *sandbox = sandboxes_find(b, id);
	struct error ignored = {0};

	if (!sandbox) {
		b->on_done(b->context, reply);
		return 0;
	}
	if (add_end_reply(sandbox, reply, err) < 0)
		return -1;
	if (sandbox->phase != SANDBOX_RUNNING || grace_ms == 0 ||
	    sandbox_ask_to_stop(sandbox, grace_ms, &ignored) < 0) {
		end_sandbox(sandbox);
		return 0;
	}
	sandbox_thaw(sandbox);
	sandbox->phase = SANDBOX_ENDING;
	sandbox->deadline.on_time = on_grace_end;
	timer_start(b->events, &sandbox->deadline, (int64_t)grace_ms);
	return 0;
}

void sandboxes_end_all(struct sandboxes *b)
{
	const char *id;
	size_t at = 0;
	struct sandbox *sandbox;

	log_warning("all sandboxes are ended");
	while ((sandbox = map_next(&b->by_id, &at, &id)))
		if (sandbox->phase == SANDBOX_RUNNING)
			sandbox_kill(sandbox);
}

/* Without a pid namespace the end of the agent does not end what it started, and the broker may end
 * before it sees the end of the agent. */
void sandboxes_end_host(struct sandboxes *b)
{
	const char *id;
	size_t at = 0;
	struct sandbox *sandbox;

	while ((sandbox = map_next(&b->by_id, &at, &id))) {
		if (sandbox->kind != BROKER_HOST || sandbox->phase != SANDBOX_RUNNING)
			continue;
		log_info("a sandbox without isolation ends with the server", TEXT("sandbox", id));
		sandbox_kill(sandbox);
		sandbox_remove_group(sandbox);
	}
}

void sandboxes_init(struct sandboxes *b, struct host *host, struct events *events,
                    struct slots *slots, struct prewarm_pool *prewarm_pool)
{
	*b = (struct sandboxes){
	        .host = host, .events = events, .slots = slots, .prewarm_pool = prewarm_pool};
	list_init(&b->waiting);
}

void sandboxes_close(struct sandboxes *b)
{
	const char *id;
	size_t at = 0;
	struct sandbox *sandbox;

	/* Freeing changes the map, so the walk starts over each time. */
	while ((sandbox = map_next(&b->by_id, &at, &id))) {
		sandbox_free(sandbox);
		at = 0;
	}
	map_done(&b->by_id);
}
