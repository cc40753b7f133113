/* SPDX-License-Identifier: Apache-2.0 */
/* Browsers: access to the files of a volume that no sandbox has. The agent of a small sandbox reads
 * and writes them: the code for files exists once, and the volume's content is isolated like any
 * sandbox. A browser has no row: this process knows it, and a sweep removes it after the
 * process has died. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/thread.h"
#include "fleet/core/cache.h"
#include "fleet/core/fleet_hold.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/gate.h"
#include "fleet/core/volume_operation.h"
#include "fleet/volume/browsers.h"
#include "fleet/volume/volume.h"
#include "provider/provider.h"
#include "store/sandbox_record.h"

#define IDLE_MS 3000

struct browsers {
	pthread_mutex_t mutex;
	struct map by_volume; /* id -> struct browser */
};
struct browser {
	char id[ID_SIZE + 1];      /* of the sandbox */
	struct cache_entry *entry; /* pinned; held by its users */
	bool writes, is_lost;
	int64_t used_at; /* monotonic ms */
};

static const struct sandbox_resources resources = {
        .cpu = 1, .memory_mb = 256, .disk_mb = 64, .pids = 64};

struct browsers *browsers_new(void)
{
	struct browsers *b = memory_new(sizeof(*b));

	pthread_mutex_init(&b->mutex, NULL);
	return b;
}

/* After browsers_tidy: frees browsers that could not be ended. */
void browsers_free(struct browsers *b)
{
	map_free_values(&b->by_volume);
	pthread_mutex_destroy(&b->mutex);
	free(b);
}

/* Only a thread with an operation on the volume adds or removes its browser. */
static struct browser *browser_find(struct browsers *b, const char *volume_id)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&b->mutex);
	struct browser *browser = map_find(&b->by_volume, volume_id);

	return browser;
}

/* The row for the cache, which is in no store. Without a project, so that no caller finds it. */
static struct sandbox_record row_of(const struct browser *browser, bool is_open)
{
	return (struct sandbox_record){.id = browser->id,
	                               .name = "",
	                               .project_id = "",
	                               .actual = is_open ? SANDBOX_STARTED : SANDBOX_DELETED,
	                               .version = is_open ? 1 : 2};
}

static int end_browser(struct fleet *f, const char *volume_id, struct browser *browser,
                       struct error *err)
{
	struct sandbox_record closed = row_of(browser, false);
	int result =
	        f->ops->destroy(f->provider, browser->id, deadline_after(CALL_TIMEOUT_MS), err);

	pthread_mutex_lock(&f->browsers->mutex);
	map_remove(&f->browsers->by_volume, volume_id);
	pthread_mutex_unlock(&f->browsers->mutex);
	cache_update(f->cache, browser->entry, &closed);
	/* From here on it is an orphan if it still runs. */
	cache_set_queued(f->cache, browser->entry, false);
	cache_unpin(f->cache, browser->entry);
	free(browser);
	return result;
}

bool browser_await_transfers(struct fleet *f, const char *volume_id, int64_t deadline)
{
	struct browser *browser = browser_find(f->browsers, volume_id);
	bool is_over;

	if (!browser)
		return true;
	cache_close(f->cache, browser->entry); /* the end of the last transfer wakes this thread */
	is_over = cache_drain(f->cache, browser->entry, deadline);
	cache_reopen(f->cache, browser->entry);
	return is_over;
}

int browser_end(struct fleet *f, const char *volume_id, struct error *err)
{
	struct browser *browser = browser_find(f->browsers, volume_id);

	if (!browser)
		return 0;
	if (cache_is_held(f->cache, browser->id))
		log_info("transfers of a volume are cut short", TEXT("volume", volume_id));
	return end_browser(f, volume_id, browser, err);
}

int browser_close(struct fleet *f, const char *volume_id, struct error *err)
{
	(void)browser_await_transfers(f, volume_id, deadline_after(BROWSER_CLOSE_MS));
	return browser_end(f, volume_id, err);
}

static bool find_idle(struct fleet *f, bool all, char ret_volume[ID_SIZE + 1])
{
	int64_t before = clock_monotonic_ms() - IDLE_MS;
	const struct browser *browser;
	const char *id = NULL;
	size_t at = 0;
	bool found = false;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->browsers->mutex);

	while (!found && (browser = map_next(&f->browsers->by_volume, &at, &id)))
		found = all || (browser->used_at < before && !cache_is_held(f->cache, browser->id));
	if (found)
		memcpy(ret_volume, id, ID_SIZE + 1);
	return found;
}

void browsers_tidy(struct fleet *f, bool all)
{
	char id[ID_SIZE + 1];

	while (find_idle(f, all, id)) {
		AUTO(arena_done) struct arena arena = {0};
		AUTO(volume_operation_end) struct volume_operation v = {0};
		struct error err = {0};
		struct browser *browser;

		/* An operation is under way: the browser is not idle. */
		if (volume_operation_begin(f, &arena, id,
		                           deadline_after(all ? BROWSER_CLOSE_MS : 0), &v,
		                           &err) < 0)
			return;
		browser = browser_find(f->browsers, id);
		if (!browser)
			continue;
		if (!all && !cache_close_idle(f->cache, browser->entry, INT64_MAX))
			return;
		if (end_browser(f, id, browser, &err) < 0)
			log_warning("a volume's sandbox is left for the next sweep",
			            TEXT("volume", id), FAILURE(&err));
	}
}

void browsers_on_ended(struct fleet *f, const char *sandbox_id)
{
	struct browser *browser;
	const char *id;
	size_t at = 0;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&f->browsers->mutex);

	while ((browser = map_next(&f->browsers->by_volume, &at, &id)))
		if (strcmp(browser->id, sandbox_id) == 0)
			browser->is_lost = true;
}

/* States in which the agent runs and may have files of the volume open. */
static const bool has_files_open[SANDBOX_STATE_COUNT] = {
        [SANDBOX_PENDING] = true, [SANDBOX_CREATING] = true, [SANDBOX_STARTED] = true,
        [SANDBOX_PAUSED] = true,  [SANDBOX_STOPPING] = true, [SANDBOX_DELETING] = true,
};

static int check_users(const struct volume_operation *v, bool for_writing, bool *ret_is_read,
                       struct error *err)
{
	struct mount_list mounts;

	*ret_is_read = false;
	if (store_mounts_of_volume(v->fleet->store, v->arena, v->record.id, &mounts, err) < 0)
		return -1;
	for (size_t i = 0; i < mounts.count; i++) {
		const struct mount_record *m = &mounts.items[i];

		if (!has_files_open[m->sandbox_state])
			continue;
		*ret_is_read = true;
		if (m->is_read_only && !for_writing)
			continue;
		error_set(err, ERROR_CONFLICT, 0, HERE, "volume '%s' is used by sandbox '%s' (%s)",
		          v->record.name, m->sandbox_name, sandbox_state_name(m->sandbox_state));
		return FAIL_HINT(err, "stop it, or use the files at '%.60s' in it", m->path);
	}
	return 0;
}

int volume_check_unused(const struct volume_operation *v, struct error *err)
{
	bool ignored;

	return check_users(v, true, &ignored, err);
}

static int open_sandbox(struct volume_operation *v, struct browser *browser, struct error *err)
{
	struct fleet *f = v->fleet;
	const struct sandbox_mount mount = {v->record.id, FLEET_MOUNT_PATH, !browser->writes, NULL};
	const struct sandbox_spec spec = {.id = browser->id,
	                                  .hostname = "volume",
	                                  .template_dir = "host",
	                                  .resources = resources,
	                                  .network = SANDBOX_NETWORK_BLOCKED,
	                                  .mounts = &mount,
	                                  .mount_count = 1};
	struct provider_created created;

	if (f->ops->create(f->provider, &spec, deadline_after(CALL_TIMEOUT_MS), &created, err) < 0)
		return FAIL_CONTEXT(err, "open volume '%s'", v->record.name);
	return 0;
}

static int browser_open(struct volume_operation *v, bool writes, struct browser **ret,
                        struct error *err)
{
	struct fleet *f = v->fleet;
	AUTO(gate_leave_auto) struct gate *inside = gate_enter(f->gate, err);
	struct browser *browser;
	struct id id = id_new();
	struct sandbox_record open;

	if (!inside)
		return -1;
	browser = memory_new(sizeof(*browser));
	memcpy(browser->id, id.text, sizeof(browser->id));
	browser->writes = writes;
	browser->entry = cache_pin(f->cache, browser->id);
	cache_set_queued(f->cache, browser->entry, true);
	if (open_sandbox(v, browser, err) < 0) {
		cache_set_queued(f->cache, browser->entry, false);
		cache_unpin(f->cache, browser->entry);
		free(browser);
		return -1;
	}
	open = row_of(browser, true);
	cache_update(f->cache, browser->entry, &open);
	pthread_mutex_lock(&f->browsers->mutex);
	map_put(&f->browsers->by_volume, v->record.id, browser);
	pthread_mutex_unlock(&f->browsers->mutex);
	*ret = browser;
	return 0;
}

static int hold_browser(struct volume_operation *v, struct browser *browser, struct fleet_hold *ret,
                        struct error *err)
{
	struct fleet *f = v->fleet;
	struct cache_entry *entry = cache_pin(f->cache, browser->id);
	struct sandbox_record ignored;

	if (!cache_hold_entry(f->cache, v->arena, entry, &ignored)) {
		cache_unpin(f->cache, entry);
		return FAIL(err, ERROR_UNAVAILABLE, "volume '%s' is being closed", v->record.name);
	}
	pthread_mutex_lock(&f->browsers->mutex);
	browser->used_at = clock_monotonic_ms();
	pthread_mutex_unlock(&f->browsers->mutex);
	*ret = (struct fleet_hold){.fleet = f, .provider = f->provider};
	memcpy(ret->id, browser->id, ID_SIZE);
	return 0;
}

/* A read-only browser is replaced if the caller wants to write. */
static int find_or_open(struct volume_operation *v, bool is_read, bool for_writing,
                        struct browser **ret, struct error *err)
{
	struct browser *browser = browser_find(v->fleet->browsers, v->record.id);

	if (browser && (browser->is_lost || (for_writing && !browser->writes))) {
		if (browser_close(v->fleet, v->record.id, err) < 0)
			return -1;
		browser = NULL;
	}
	if (!browser)
		return browser_open(v, !is_read, ret, err);
	*ret = browser;
	return 0;
}

int fleet_volume_browse(struct fleet *fleet, struct arena *a, const struct fleet_ref *ref,
                        bool for_writing, struct fleet_hold *ret_hold, struct error *err)
{
	AUTO(volume_operation_end) struct volume_operation v = {0};
	struct browser *browser;
	struct volume_record r;
	bool is_read;

	if (provider_require(fleet->provider, PROVIDER_CAN_VOLUME, err) < 0 ||
	    provider_require(fleet->provider, PROVIDER_CAN_FILES, err) < 0 ||
	    store_volume_find(fleet->store, a, ref->project_id, ref->id_or_name, &r, err) < 0 ||
	    volume_check_local(fleet, &r, err) < 0 ||
	    volume_operation_begin(fleet, a, r.id, deadline_after(CALL_TIMEOUT_MS), &v, err) < 0)
		return -1;
	if (v.record.state != VOLUME_READY)
		return FAIL(err, ERROR_CONFLICT, "volume '%s' is %s", v.record.name,
		            volume_state_name(v.record.state));
	if (check_users(&v, for_writing, &is_read, err) < 0 ||
	    find_or_open(&v, is_read, for_writing, &browser, err) < 0)
		return -1;
	return hold_browser(&v, browser, ret_hold, err);
}
