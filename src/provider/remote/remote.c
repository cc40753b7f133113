/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/remote/remote.h"

#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/fd.h"
#include "base/random.h"
#include "base/thread.h"
#include "http/client/async.h"
#include "provider/agent_health.h"
#include "provider/agent_links.h"
#include "provider/agent_stop.h"
#include "provider/claims.h"
#include "provider/compute.h"
#include "provider/own_folder.h"
#include "provider/remote/parts.h"
#include "provider/shared.h"
#include "wire/agent.h"

#define CLEAN_UP_MS 20000 /* to remove a sandbox whose create failed */
#define FIND_MS 3000      /* for a connection to a sandbox that this server does not know */
#define HEALTH_MS 10000
#define LIST_MS 30000
#define STOP_SPARE_MS 500
#define KEY_TEXT_MAX 128

static int check_id(const char *id, struct error *err)
{
	return id_is_valid(id) ? 0 : FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", id);
}

static int check_spec(struct provider *p, const struct sandbox_spec *spec, struct error *err)
{
	const char *name = p->ops->name;

	if (check_id(spec->id, err) < 0)
		return -1;
	if (spec->review)
		return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: %s", name,
		            provider_ability_name(PROVIDER_CAN_REVIEW));
	if (spec->snapshot && !as_remote(p)->kind->snapshots)
		return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: %s", name,
		            provider_ability_name(PROVIDER_CAN_SNAPSHOT));
	return remote_mounts_check(as_remote(p), spec, err);
}

/* Before the first list, and where another server may have made the sandbox since the last one, a
 * call lists the account itself: it is on a worker that may wait. */
int remote_find_sandbox(struct remote *r, const char *id, int64_t deadline,
                        struct remote_sandbox *ret, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_list list;

	if (remote_record_find(r, id, ret, err) == 0)
		return 0;
	if (err->code != ERROR_UNAVAILABLE && !r->ops.is_shared)
		return -1;
	error_clear(err);
	if (r->kind->list(r, &arena, id, deadline, &list, err) < 0)
		return -1;
	if (list.count == 0)
		return FAIL_MISSING(err, "sandbox", id);
	remote_claims_read(r, &list);
	remote_record_put(r, &list.items[0]);
	*ret = list.items[0];
	return 0;
}

/* All that the account has with this id: a call whose answer was lost may have made one. */
static int remove_every_one(struct remote *r, const char *id, int64_t deadline, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct remote_list found = {0};

	if (r->kind->list(r, &arena, id, deadline, &found, err) < 0)
		return -1;
	for (size_t i = 0; i < found.count; i++)
		if (r->kind->remove(r, &found.items[i], deadline, err) < 0)
			return -1;
	return 0;
}

static void forget_sandbox(struct remote *r, const char *id)
{
	(void)remote_record_remove(r, id);
	remote_tunnels_end(r, id);
	agent_links_drop(r->links, id);
	agent_health_forget(id);
	provider_claim_remove(r->claims_dir, id);
	remote_access_remove(r, id);
}

static int make_sandbox(struct remote *r, const struct sandbox_spec *spec, int64_t deadline,
                        struct remote_sandbox *ret, struct error *err)
{
	struct remote_sandbox s = {.state = REMOTE_RUNNING};

	if (r->kind->create(r, spec, deadline, &s, err) < 0)
		return -1;
	fault_point("remote", "created");
	memcpy(s.id, spec->id, sizeof(s.id));
	(void)snprintf(s.owner, sizeof(s.owner), "%s", spec->owner ? spec->owner : "");
	s.lease_epoch = spec->lease_epoch;
	s.has_access = true;
	remote_record_put(r, &s);
	if (remote_access_write(r, &s, err) < 0 ||
	    (spec->snapshot && remote_copy_settle(r, &s, deadline, err) < 0) ||
	    remote_agent_put(r, &s, deadline, err) < 0)
		return -1;
	fault_point("remote", "agent-uploaded");
	if (remote_agent_start(r, &s, deadline, err) < 0)
		return -1;
	*ret = s;
	return 0;
}

static struct provider_created created_of(const struct remote_sandbox *s,
                                          const struct sandbox_spec *spec, int64_t began_ns)
{
	struct sandbox_resources effective = spec->resources;

	if (s->cpu > 0)
		effective.cpu = s->cpu;
	if (s->memory_mb > 0)
		effective.memory_mb = s->memory_mb;
	if (s->disk_mb > 0)
		effective.disk_mb = s->disk_mb;
	return (struct provider_created){.disk_is_advisory = true,
	                                 .effective = effective,
	                                 .took_us = (clock_monotonic_ns() - began_ns) / 1000};
}

static int create_held(struct remote *r, const struct sandbox_spec *spec, int64_t deadline,
                       struct remote_sandbox *ret, struct error *err)
{
	if (remote_record_exists(r, spec->id))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' exists already", spec->id);
	if (make_sandbox(r, spec, deadline, ret, err) == 0)
		return 0;
	/* The service has one of this id already, which is not ours to remove. */
	if (err->code == ERROR_CONFLICT)
		return -1;
	(void)!remove_every_one(r, spec->id, deadline_after(CLEAN_UP_MS), &(struct error){0});
	forget_sandbox(r, spec->id);
	return -1;
}

int remote_create(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                  struct provider_created *ret, struct error *err)
{
	struct remote *r = as_remote(p);
	int64_t began_ns = clock_monotonic_ns();
	struct remote_sandbox s;

	if (check_spec(p, spec, err) < 0 || remote_record_hold(r, spec->id, deadline, err) < 0)
		return -1;
	int status = create_held(r, spec, deadline, &s, err);
	remote_record_release(r, spec->id);
	if (status == 0)
		*ret = created_of(&s, spec, began_ns);
	return status;
}

int remote_destroy(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	struct remote *r = as_remote(p);
	struct remote_sandbox s;
	struct error unknown = {0};

	if (check_id(id, err) < 0 || remote_record_hold(r, id, deadline, err) < 0)
		return -1;
	int status = remote_record_find(r, id, &s, &unknown) == 0
	                     ? r->kind->remove(r, &s, deadline, err)
	                     : remove_every_one(r, id, deadline, err);
	fault_point("remote", "removed");
	if (status == 0)
		forget_sandbox(r, id);
	remote_record_release(r, id);
	return status;
}

static void tell_agent_to_stop(struct provider *p, const char *id, int64_t grace_ms)
{
	AUTO_CLOSE int fd = agent_stop_begin(p, id, grace_ms);
	int64_t until = deadline_after((grace_ms > 0 ? grace_ms : 0) + STOP_SPARE_MS);
	struct error ignored = {0};
	char byte;

	/* The agent ends when its processes have ended, and the connection with it. */
	if (fd >= 0 && fd_wait(fd, POLLIN, until, &ignored) == 1)
		(void)!read(fd, &byte, 1);
}

/* Files alone are kept, or the memory, too. The claim is written first: whatever the process does
 * not live to see, a sandbox that runs counts as running. */
int remote_rest_sandbox(struct remote *r, struct remote_sandbox *s, bool keeps_memory,
                        int64_t deadline, struct error *err)
{
	const struct provider_claim claim = {s->owner, s->lease_epoch, !keeps_memory};

	if (provider_claim_write(r->claims_dir, s->id, &claim, err) < 0)
		return -1;
	fault_point("remote", "rest-claimed");
	/* The service keeps no memory of what is paused already. */
	if (s->state == REMOTE_PAUSED && !keeps_memory && r->kind->resume(r, s, deadline, err) < 0)
		return -1;
	/* Bytes to a port of a paused sandbox may wake it, those of a tunnel that ends included.
	 * Both go over one thread, so that the tunnels end before the call begins. */
	remote_tunnels_end(r, s->id);
	agent_links_drop(r->links, s->id);
	if (r->kind->pause(r, s, keeps_memory, deadline, err) < 0)
		return -1;
	fault_point("remote", "rested");
	s->state = keeps_memory ? REMOTE_PAUSED : REMOTE_STOPPED;
	remote_record_put(r, s);
	agent_health_forget(s->id);
	return 0;
}

static int stop_held(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
                     struct error *err)
{
	struct remote_sandbox s;

	if (remote_find_sandbox(as_remote(p), id, deadline, &s, err) < 0)
		return -1;
	if (s.state == REMOTE_STOPPED)
		return 0;
	if (s.state == REMOTE_RUNNING)
		tell_agent_to_stop(p, id, grace_ms);
	return remote_rest_sandbox(as_remote(p), &s, false, deadline, err);
}

int remote_stop(struct provider *p, const char *id, int64_t grace_ms, int64_t deadline,
                struct error *err)
{
	if (check_id(id, err) < 0 || remote_record_hold(as_remote(p), id, deadline, err) < 0)
		return -1;
	int status = stop_held(p, id, grace_ms, deadline, err);
	remote_record_release(as_remote(p), id);
	return status;
}

static int pause_held(struct remote *r, const char *id, int64_t deadline, struct error *err)
{
	struct remote_sandbox s;

	if (remote_find_sandbox(r, id, deadline, &s, err) < 0)
		return -1;
	if (s.state == REMOTE_STOPPED)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is stopped", id);
	return s.state == REMOTE_PAUSED ? 0 : remote_rest_sandbox(r, &s, true, deadline, err);
}

int remote_pause(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	if (check_id(id, err) < 0 || remote_record_hold(as_remote(p), id, deadline, err) < 0)
		return -1;
	int status = pause_held(as_remote(p), id, deadline, err);
	remote_record_release(as_remote(p), id);
	return status;
}

int remote_wake_sandbox(struct remote *r, const struct sandbox_spec *spec, struct remote_sandbox *s,
                        int64_t deadline, struct error *err)
{
	int status = spec && r->kind->start ? r->kind->start(r, spec, s, deadline, err)
	                                    : r->kind->resume(r, s, deadline, err);

	if (status < 0)
		return -1;
	fault_point("remote", "woken");
	s->has_access = true;
	s->state = REMOTE_RUNNING;
	remote_record_put(r, s);
	return remote_access_write(r, s, err);
}

static int resume_held(struct remote *r, const char *id, int64_t deadline, struct error *err)
{
	struct remote_sandbox s;

	if (remote_find_sandbox(r, id, deadline, &s, err) < 0)
		return -1;
	if (s.state == REMOTE_STOPPED)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is stopped", id);
	return s.state == REMOTE_RUNNING ? 0 : remote_wake_sandbox(r, NULL, &s, deadline, err);
}

int remote_resume(struct provider *p, const char *id, int64_t deadline, struct error *err)
{
	if (check_id(id, err) < 0 || remote_record_hold(as_remote(p), id, deadline, err) < 0)
		return -1;
	int status = resume_held(as_remote(p), id, deadline, err);
	remote_record_release(as_remote(p), id);
	return status;
}

static int start_held(struct remote *r, const struct sandbox_spec *spec, int64_t deadline,
                      struct remote_sandbox *ret, struct error *err)
{
	struct remote_sandbox s;
	bool is_cold;

	if (remote_find_sandbox(r, spec->id, deadline, &s, err) < 0)
		return -1;
	/* One that runs may lack its agent: this server died between the two. */
	is_cold = s.state != REMOTE_PAUSED;
	(void)snprintf(s.owner, sizeof(s.owner), "%s", spec->owner ? spec->owner : "");
	s.lease_epoch = spec->lease_epoch;
	const struct provider_claim begun = {s.owner, s.lease_epoch, is_cold},
	                            done = {s.owner, s.lease_epoch, false};
	if (provider_claim_write(r->claims_dir, s.id, &begun, err) < 0 ||
	    remote_wake_sandbox(r, spec, &s, deadline, err) < 0 ||
	    (is_cold && remote_agent_start(r, &s, deadline, err) < 0) ||
	    provider_claim_write(r->claims_dir, s.id, &done, err) < 0)
		return -1;
	*ret = s;
	return 0;
}

int remote_start(struct provider *p, const struct sandbox_spec *spec, int64_t deadline,
                 struct provider_created *ret, struct error *err)
{
	int64_t began_ns = clock_monotonic_ns();
	struct remote *r = as_remote(p);
	struct remote_sandbox s;

	if (check_spec(p, spec, err) < 0 || remote_record_hold(r, spec->id, deadline, err) < 0)
		return -1;
	int status = start_held(r, spec, deadline, &s, err);
	remote_record_release(r, spec->id);
	if (status == 0)
		*ret = created_of(&s, spec, began_ns);
	return status;
}

int remote_filter(struct provider *p, const char *id, const char *egress, int64_t deadline,
                  struct error *err)
{
	struct remote *r = as_remote(p);
	struct remote_sandbox s;

	if (remote_find_sandbox(r, id, deadline, &s, err) < 0)
		return -1;
	return r->kind->filter(r, &s, egress, deadline, err);
}

int remote_list_all(struct provider *p, struct arena *a, struct provider_list *ret,
                    struct error *err)
{
	struct remote_list list;

	if (remote_refresh(as_remote(p), a, deadline_after(LIST_MS), &list, err) < 0)
		return -1;
	*ret = (struct provider_list){
	        .entries = ARENA_ARRAY(a, struct provider_entry, list.count + 1)};
	memset(ret->entries, 0, sizeof(*ret->entries) * (list.count + 1));
	for (size_t i = 0; i < list.count; i++) {
		struct provider_entry *entry = &ret->entries[ret->count++];
		const struct remote_sandbox *s = &list.items[i];

		memcpy(entry->id, s->id, sizeof(entry->id));
		memcpy(entry->owner, s->owner, sizeof(entry->owner));
		entry->lease_epoch = s->lease_epoch;
		entry->running = s->state != REMOTE_STOPPED;
		entry->paused = s->state == REMOTE_PAUSED;
	}
	return 0;
}

int remote_stats(struct provider *p, const char *id, struct provider_stats *ret, struct error *err)
{
	return remote_record_usage(as_remote(p), id, ret) ? 0 : FAIL_MISSING(err, "sandbox", id);
}

int remote_health(struct provider *p, struct error *err)
{
	return as_remote(p)->kind->check(as_remote(p), deadline_after(HEALTH_MS), err);
}

/* Of a shared provider another server may have made the sandbox after the last list. */
static int find_to_connect(struct remote *r, const char *id, int64_t deadline,
                           struct remote_sandbox *ret, struct error *err)
{
	int64_t until = deadline_after(FIND_MS);

	return r->ops.is_shared
	               ? remote_find_sandbox(r, id, deadline < until ? deadline : until, ret, err)
	               : remote_record_find(r, id, ret, err);
}

/* A connection that is made later tells why it is not made as an agent would. */
static int connect_agent(struct provider *p, const char *id, int64_t deadline, int *ret_fd,
                         struct error *err)
{
	struct remote_sandbox s;

	if (find_to_connect(as_remote(p), id, deadline, &s, err) < 0)
		return -1;
	if (s.state != REMOTE_RUNNING)
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' is %s", id,
		            s.state == REMOTE_PAUSED ? "paused" : "stopped");
	if (!s.has_access)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "%s has not told yet how sandbox '%s' is reached",
		            as_remote(p)->kind->title, id);
	return remote_tunnel_open(as_remote(p), &s, ret_fd, err);
}

static int take_link(struct provider *p, const char *id)
{
	return agent_links_take(as_remote(p)->links, id);
}

static void give_back_link(struct provider *p, const char *id, int fd)
{
	agent_links_give_back(as_remote(p)->links, id, fd);
}

const struct compute_ops remote_compute = {
        .connect = connect_agent,
        .carries_dials = true,
        .take = take_link,
        .give_back = give_back_link,
};

void remote_close(struct provider *p)
{
	struct remote *r = as_remote(p);

	if (!p)
		return;
	remote_watch_close(r);
	if (r->kind->finish)
		r->kind->finish(r);
	agent_links_free(r->links);
	if (r->http) {
		remote_tunnels_end(r, NULL);
		http_async_close(r->http);
	}
	if (r->kind->done)
		r->kind->done(r);
	remote_records_done(r);
	buf_done(&r->agent);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->mutex);
	auto_close(&r->lock_fd);
	sodium_memzero(r->key, sizeof(r->key));
	free(r->credential);
	free(r->api_url);
	free(r->access_dir);
	free(r->claims_dir);
	free(r->dir);
	free(r);
}

static int read_key(struct remote *r, struct error *err)
{
	char path[PATH_SIZE_MAX], text[KEY_TEXT_MAX];
	AUTO(buf_done) struct buf found = BUF(KEY_TEXT_MAX);

	(void)snprintf(path, sizeof(path), "%.4000s/key", r->dir);
	int status = own_folder_text(path, &found, err);
	if (status < 0)
		return -1;
	if (status == 0) {
		random_bytes(r->key, sizeof(r->key));
		hex_encode(r->key, sizeof(r->key), text);
		return file_write(AT_FDCWD, path, span_of(text), 0600, err);
	}
	if (hex_decode(buf_span(&found), r->key, sizeof(r->key)) < 0)
		return FAIL(err, ERROR_INVALID, "'%s' does not hold a key", path);
	return 0;
}

static int read_identity(struct remote *r, const char *dir, struct error *err)
{
	return own_folder_id(dir, r->server, err) < 0 ? -1 : read_key(r, err);
}

/* Another server on the store goes on with what this one has made. */
static int share_identity(struct remote *r, struct error *err)
{
	const struct provider_shared *shared = r->options.shared;

	if (!shared)
		return FAIL(err, ERROR_UNAVAILABLE,
		            "provider '%s' needs the key that the store's servers share", r->name);
	provider_shared_id(shared, r->name, r->server);
	memcpy(r->key, shared->key, sizeof(r->key));
	return 0;
}

static int open_folder(struct remote *r, struct error *err)
{
	char root[PATH_SIZE_MAX], dir[PATH_SIZE_MAX], name[256], path[PATH_SIZE_MAX];

	(void)snprintf(name, sizeof(name), "/%s", r->name);
	if (own_folder_make(r->options.data_dir, "/remote", root, err) < 0 ||
	    own_folder_make(root, name, dir, err) < 0)
		return -1;
	r->dir = memory_text(dir);
	if (own_folder_lock(dir, &r->lock_fd, err) < 0 ||
	    own_folder_make(dir, "/claims", path, err) < 0)
		return -1;
	r->claims_dir = memory_text(path);
	if (own_folder_make(dir, "/access", path, err) < 0)
		return -1;
	r->access_dir = memory_text(path);
	return r->ops.is_shared ? share_identity(r, err) : read_identity(r, dir, err);
}

static char *copy_url(const char *url)
{
	char *copy = memory_text(url);

	for (size_t size = strlen(copy); size > 0 && copy[size - 1] == '/'; size--)
		copy[size - 1] = '\0';
	return copy;
}

static int check_credential(const struct remote *r, const char *credential, struct error *err)
{
	if (!credential || !*credential)
		return FAIL(err, ERROR_INVALID, "provider '%s' needs %s", r->name,
		            r->kind->key_option);
	for (const char *c = credential; *c; c++)
		if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
			return FAIL(err, ERROR_INVALID,
			            "provider '%s': %s holds a blank or a control character",
			            r->name, r->kind->key_option);
	return 0;
}

static int check_options(const struct remote *r, struct error *err)
{
	const char *url = r->own->url;

	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return FAIL(err, ERROR_INVALID, "provider '%s': '%s' is no http:// or https:// URL",
		            r->name, url);
	return check_credential(r, r->own->key, err);
}

/* Another account does not have the sandboxes, so that all other options are fixed. Calls that run
 * use the old credential to their end. */
int remote_change(struct provider *p, const struct provider_options *options, struct error *err)
{
	struct remote *r = as_remote(p);
	const char *credential = options->remote->key;

	if (check_credential(r, credential, err) < 0)
		return -1;
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);
	free(r->credential);
	r->credential = memory_text(credential);
	return 0;
}

static int find_service(struct remote *r, struct error *err)
{
	if (r->kind->begin)
		return r->kind->begin(r, err);
	if (check_options(r, err) < 0)
		return -1;
	r->credential = memory_text(r->own->key);
	r->api_url = copy_url(r->own->url);
	r->key_file = r->own->key_file;
	return 0;
}

static int open_parts(struct remote *r, struct error *err)
{
	if (open_folder(r, err) < 0 || (r->kind->put_file && remote_agent_load(r, err) < 0) ||
	    http_async_open(r->name, &r->http, err) < 0)
		return -1;
	r->base.ops = &r->ops;
	return find_service(r, err) < 0 ? -1 : remote_watch_open(r, err);
}

int remote_open(const struct remote_kind *kind, const struct provider_ops *ops,
                const struct remote_options *own, const struct provider_options *options,
                struct provider **ret, struct error *err)
{
	struct remote *r;

	if (!own)
		return FAIL(err, ERROR_INVALID, "provider '%s' has no options", kind->name);
	r = memory_new(sizeof(*r));
	r->options = *options;
	r->own = own;
	r->kind = kind;
	r->name = options->name ? options->name : kind->name;
	r->ops = *ops;
	if (ops->describe)
		ops->describe(options, &r->ops);
	r->lock_fd = -1;
	r->limited_until = 0;
	pthread_mutex_init(&r->mutex, NULL);
	thread_condition_init(&r->wake);
	list_init(&r->tunnels);
	remote_calls_init(r);
	r->links = agent_links_new("");
	if (open_parts(r, err) < 0) {
		remote_close(&r->base);
		return -1;
	}
	*ret = &r->base;
	return 0;
}
