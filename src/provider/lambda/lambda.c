/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/lambda/lambda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "http/client/async.h"
#include "provider/agent_health.h"
#include "provider/compute.h"
#include "provider/entries.h"

#define HEALTH_MS 10000
#define WORKSPACE_ROOT "/mnt/workspaces/" /* where functions mount their file system */

static struct lambda_settings *make_settings(const struct lambda_options *from)
{
	struct lambda_settings *s = memory_new(sizeof(*s));
	struct lambda_options *to = &s->options;
	struct arena *a = &s->arena;

	atomic_store(&s->holders, 1);
	*to = (struct lambda_options){
	        .region = arena_text(a, from->region),
	        .endpoint = arena_text(a, from->endpoint),
	        .key_id = arena_text(a, from->key_id),
	        .secret = arena_text(a, from->secret),
	        .session_token = arena_text(a, from->session_token),
	        .templates = arena_text(a, from->templates),
	        .workspace_project = arena_text(a, from->workspace_project),
	        .memory_mb = from->memory_mb,
	};
	for (size_t i = 0; i < 4; i++)
		to->functions[i / 2][i % 2] = arena_text(a, from->functions[i / 2][i % 2]);
	const char *host = strstr(to->endpoint, "://");
	s->host = host ? host + 3 : to->endpoint;
	return s;
}

struct lambda_settings *lambda_settings_hold(struct lambda *l)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&l->mutex);

	atomic_fetch_add(&l->settings->holders, 1);
	return l->settings;
}

void lambda_settings_release(struct lambda_settings *s)
{
	if (!s || atomic_fetch_sub(&s->holders, 1) > 1)
		return;
	arena_done(&s->arena);
	free(s);
}

/* A path or a query in the endpoint would not be signed. */
static int check_endpoint(const char *endpoint, struct error *err)
{
	const char *host = strstr(endpoint, "://");

	if ((strncmp(endpoint, "http://", 7) != 0 && strncmp(endpoint, "https://", 8) != 0) ||
	    !host[3] || strpbrk(host + 3, "/?#@ "))
		return FAIL(err, ERROR_INVALID,
		            "lambda_endpoint '%.100s' is not http://HOST:PORT or https://HOST",
		            endpoint);
	return 0;
}

static int check_options(const struct lambda_options *o, struct error *err)
{
	bool has_any = false;

	for (size_t i = 0; i < 4; i++)
		has_any |= *o->functions[i / 2][i % 2] != '\0';
	if (!*o->region) {
		(void)FAIL(err, ERROR_INVALID, "provider lambda needs a region");
		return FAIL_HINT(err, "set lambda_region, or AWS_REGION in the environment");
	}
	if (!*o->key_id || !*o->secret) {
		(void)FAIL(err, ERROR_INVALID, "provider lambda needs a key");
		return FAIL_HINT(err, "set lambda_access_key_id and lambda_secret_access_key, or "
		                      "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the "
		                      "environment");
	}
	if (!has_any) {
		(void)FAIL(err, ERROR_INVALID, "provider lambda needs a function");
		return FAIL_HINT(err, "deploy deploy/lambda/template.yaml, and set sandbox_fn_* to "
		                      "the names of its functions");
	}
	return check_endpoint(o->endpoint, err);
}

int64_t lambda_limit_ms(struct lambda *l)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&l->mutex);
	int64_t left_ms = l->limited_until - clock_monotonic_ms();

	return left_ms > 0 ? left_ms : 0;
}

void lambda_limit_note(struct lambda *l, int64_t pause_ms)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&l->mutex);
	int64_t until = deadline_after(pause_ms);

	l->limited_until = until > l->limited_until ? until : l->limited_until;
}

static int refuse_wish(const struct lambda *l, const char *what, struct error *err)
{
	return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: %s", l->name, what);
}

static int check_kind_of_sandbox(struct lambda *l, const struct sandbox_spec *spec,
                                 struct error *err)
{
	if (!id_is_valid(spec->id))
		return FAIL(err, ERROR_INVALID, "'%s' is no sandbox id", spec->id);
	if (!spec->is_ephemeral) {
		(void)refuse_wish(l, "keep a sandbox", err);
		return FAIL_HINT(err, "it runs ephemeral calls: POST /v1/ephemeral/exec, or 'atoll "
		                      "tool --ephemeral'");
	}
	if (spec->snapshot)
		return refuse_wish(l, provider_ability_name(PROVIDER_CAN_SNAPSHOT), err);
	if (spec->mount_count > 0)
		return refuse_wish(l, provider_ability_name(PROVIDER_CAN_VOLUME), err);
	if (spec->review)
		return refuse_wish(l, provider_ability_name(PROVIDER_CAN_REVIEW), err);
	return 0;
}

static bool has_word(const char *words, const char *word)
{
	struct span rest = span_of(words), found;

	while (rest.size > 0) {
		(void)span_split(&rest, ' ', &found);
		if (span_equals_text(found, word))
			return true;
	}
	return false;
}

static int check_wishes(struct lambda *l, const struct lambda_settings *s,
                        const struct sandbox_spec *spec, struct error *err)
{
	const struct lambda_options *o = &s->options;

	if (!has_word(o->templates, spec->template_dir)) {
		(void)FAIL(err, ERROR_UNSUPPORTED,
		           "provider '%s' has no function of template '%s'; it stands for: %s",
		           l->name, spec->template_dir, o->templates);
		return FAIL_HINT(err, "name one of these templates, or build the functions' image "
		                      "with what this one has and add it to lambda_templates");
	}
	if (spec->resources.memory_mb > o->memory_mb)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider '%s' has functions of %lld MB, and not %lld MB", l->name,
		            (long long)o->memory_mb, (long long)spec->resources.memory_mb);
	return 0;
}

/* All functions with a workspace have one file system, and a command can read all of it. */
static int check_workspace(struct lambda *l, const struct lambda_settings *s,
                           const struct sandbox_spec *spec, struct error *err)
{
	size_t root = strlen(WORKSPACE_ROOT);
	const char *path = spec->workspace;

	if (!path)
		return 0;
	if (strncmp(path, WORKSPACE_ROOT, root) != 0 || strchr(path + root, '/') ||
	    strlen(path) > LAMBDA_WORKSPACE_MAX)
		return FAIL(err, ERROR_UNSUPPORTED,
		            "provider '%s' has workspaces at " WORKSPACE_ROOT "NAME only, not '%s'",
		            l->name, path);
	if (spec->project && strcmp(spec->project, s->options.workspace_project) == 0)
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED,
	           "provider '%s' keeps no workspaces of project '%s': its functions share one "
	           "file system",
	           l->name, spec->project ? spec->project : "");
	return FAIL_HINT(err, "set lambda_workspace_project to the project that may have them");
}

static int check_function(struct lambda *l, const struct lambda_settings *s,
                          const struct lambda_sandbox *sandbox, struct error *err)
{
	if (*lambda_function_of(s, sandbox))
		return 0;
	(void)FAIL(err, ERROR_UNSUPPORTED, "provider '%s' has no function %s a workspace and %s",
	           l->name, *sandbox->workspace ? "with" : "without",
	           sandbox->has_network ? "with a network" : "without a network");
	return FAIL_HINT(err, "deploy it, and set sandbox_fn_%s_%s to its name",
	                 *sandbox->workspace ? "mount" : "nomount",
	                 sandbox->has_network ? "net" : "nonet");
}

static int check_spec(struct lambda *l, const struct lambda_settings *s,
                      const struct sandbox_spec *spec, struct error *err)
{
	int64_t pause_ms = lambda_limit_ms(l);

	if (check_kind_of_sandbox(l, spec, err) < 0 || check_wishes(l, s, spec, err) < 0 ||
	    check_workspace(l, s, spec, err) < 0)
		return -1;
	if (pause_ms <= LAMBDA_PAUSE_MAX_MS)
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE, "AWS Lambda allows no more calls of '%s' for %lld ms",
	           l->name, (long long)pause_ms);
	err->retry_after_s = (int)((pause_ms + 999) / 1000);
	return -1;
}

static struct lambda_sandbox sandbox_of(const struct sandbox_spec *spec)
{
	struct lambda_sandbox s = {.has_network = spec->network != SANDBOX_NETWORK_BLOCKED,
	                           .lease_epoch = spec->lease_epoch};

	memcpy(s.id, spec->id, ID_SIZE);
	(void)snprintf(s.owner, sizeof(s.owner), "%s", spec->owner ? spec->owner : "");
	(void)snprintf(s.workspace, sizeof(s.workspace), "%s",
	               spec->workspace ? spec->workspace : "");
	return s;
}

static int add_sandbox(struct lambda *l, const struct lambda_sandbox *s, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&l->mutex);
	struct lambda_sandbox *own;

	if (map_find(&l->sandboxes, s->id))
		return FAIL(err, ERROR_CONFLICT, "sandbox '%s' exists already", s->id);
	own = memory_new(sizeof(*own));
	*own = *s;
	(void)map_put(&l->sandboxes, own->id, own);
	return 0;
}

static void release_settings(struct lambda_settings **s)
{
	lambda_settings_release(*s);
}

static int lambda_create(struct provider *p, const struct sandbox_spec *spec,
                         UNUSED int64_t deadline, struct provider_created *ret, struct error *err)
{
	struct lambda *l = as_lambda(p);
	AUTO(release_settings) struct lambda_settings *s = lambda_settings_hold(l);

	if (check_spec(l, s, spec, err) < 0)
		return -1;
	struct lambda_sandbox sandbox = sandbox_of(spec);
	if (check_function(l, s, &sandbox, err) < 0 || add_sandbox(l, &sandbox, err) < 0)
		return -1;
	*ret = (struct provider_created){.disk_is_advisory = true, .effective = spec->resources};
	ret->effective.memory_mb = s->options.memory_mb;
	return 0;
}

static int lambda_destroy(struct provider *p, const char *id, UNUSED int64_t deadline,
                          UNUSED struct error *err)
{
	struct lambda *l = as_lambda(p);

	pthread_mutex_lock(&l->mutex);
	free(map_remove(&l->sandboxes, id));
	pthread_mutex_unlock(&l->mutex);
	lambda_connections_end(l, id);
	agent_health_forget(id);
	return 0;
}

static int lambda_list(struct provider *p, struct arena *a, struct provider_list *ret,
                       UNUSED struct error *err)
{
	struct lambda *l = as_lambda(p);
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&l->mutex);
	struct provider_list list = {
	        .entries = ARENA_ARRAY(a, struct provider_entry, l->sandboxes.count + 1)};
	const char *id;
	size_t at = 0;

	for (const struct lambda_sandbox *s; (s = map_next(&l->sandboxes, &at, &id));) {
		struct provider_entry *entry = &list.entries[list.count++];

		memcpy(entry->id, s->id, sizeof(entry->id));
		memcpy(entry->owner, s->owner, sizeof(entry->owner));
		entry->lease_epoch = s->lease_epoch;
		entry->running = true;
	}
	*ret = list;
	return 0;
}

/* Asks whether each function could be invoked: one that is missing, or not allowed, fails. */
static int lambda_health(struct provider *p, struct error *err)
{
	struct lambda *l = as_lambda(p);
	AUTO(release_settings) struct lambda_settings *s = lambda_settings_hold(l);
	int64_t deadline = deadline_after(HEALTH_MS);

	for (size_t i = 0; i < 4; i++) {
		AUTO(arena_done) struct arena arena = {0};
		const struct lambda_call call = {
		        .settings = s,
		        .function = s->options.functions[i / 2][i % 2],
		        .body = SPAN("{}"),
		        .is_trial = true,
		};
		struct http_async_answer answer;
		struct http_async_call http;

		if (!*call.function)
			continue;
		if (lambda_call_sign(&arena, &call, &http, err) < 0 ||
		    http_async_wait(l->http, &http, deadline, &answer, err) < 0)
			return FAIL_CONTEXT(err, "AWS Lambda");
		int status = lambda_answer_check(&call, &answer, err);
		buf_done(&answer.body);
		if (status < 0)
			return -1;
	}
	return 0;
}

static int connect_sandbox(struct provider *p, const char *id, UNUSED int64_t deadline, int *ret_fd,
                           struct error *err)
{
	struct lambda *l = as_lambda(p);
	struct lambda_sandbox copy;

	pthread_mutex_lock(&l->mutex);
	const struct lambda_sandbox *s = map_find(&l->sandboxes, id);
	if (s)
		copy = *s;
	pthread_mutex_unlock(&l->mutex);
	return s ? lambda_connect(l, &copy, ret_fd, err) : FAIL_MISSING(err, "sandbox", id);
}

static void give_back_connection(UNUSED struct provider *p, UNUSED const char *id, int fd)
{
	close(fd);
}

static const struct compute_ops lambda_compute = {
        .connect = connect_sandbox,
        .carries_dials = true,
        .give_back = give_back_connection,
};

static void lambda_close(struct provider *p)
{
	struct lambda *l = as_lambda(p);

	if (!p)
		return;
	if (l->http) {
		lambda_connections_end(l, NULL);
		http_async_close(l->http);
	}
	map_free_values(&l->sandboxes);
	lambda_settings_release(l->settings);
	pthread_mutex_destroy(&l->mutex);
	free(l->name);
	free(l);
}

static int lambda_open(const struct provider_options *options, struct provider **ret,
                       struct error *err)
{
	struct lambda *l;

	if (check_options(options->lambda, err) < 0)
		return -1;
	l = memory_new(sizeof(*l));
	l->ops = provider_lambda;
	l->base.ops = &l->ops;
	l->name = memory_text(options->name ? options->name : provider_lambda.name);
	l->settings = make_settings(options->lambda);
	list_init(&l->connections);
	pthread_mutex_init(&l->mutex, NULL);
	if (http_async_open("lambda", &l->http, err) < 0) {
		lambda_close(&l->base);
		return -1;
	}
	*ret = &l->base;
	return 0;
}

/* Calls that run use the old options to their end. */
static int lambda_change(struct provider *p, const struct provider_options *options,
                         struct error *err)
{
	struct lambda *l = as_lambda(p);
	struct lambda_settings *old;

	if (check_options(options->lambda, err) < 0)
		return -1;
	struct lambda_settings *next = make_settings(options->lambda);
	pthread_mutex_lock(&l->mutex);
	old = l->settings;
	l->settings = next;
	l->limited_until = 0; /* of another account, perhaps */
	pthread_mutex_unlock(&l->mutex);
	lambda_settings_release(old);
	return 0;
}

const struct provider_ops provider_lambda = {
        .name = "lambda",
        .isolation = "remote",
        .abilities = PROVIDER_CAN_EXEC | PROVIDER_CAN_BLOCK_NETWORK | PROVIDER_CAN_ISOLATE,
        .is_for_calls = true,
        .keeps_workspaces = true,
        .open = lambda_open,
        .close = lambda_close,
        .change = lambda_change,
        .create = lambda_create,
        .destroy = lambda_destroy,
        .list = lambda_list,
        .health = lambda_health,
        .compute = &lambda_compute,
};
