/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lifecycle/rules.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

struct rule_list {
	atomic_uint holders; /* `parsed` of the rules is one */
	struct arena arena;
	struct config_rules rules;
};

struct routing_rules {
	const char *configured;
	pthread_mutex_t mutex; /* guards the rest */
	char *stored;          /* NULL: those of the configuration hold */
	int64_t version;
	struct rule_list *parsed; /* NULL: not yet */
};

struct routing_rules *routing_rules_new(const char *configured)
{
	struct routing_rules *r = memory_new(sizeof(*r));

	r->configured = configured ? configured : "";
	r->version = -1;
	pthread_mutex_init(&r->mutex, NULL);
	return r;
}

void routing_rules_free(struct routing_rules *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->mutex);
	rule_list_release(r->parsed);
	free(r->stored);
	free(r);
}

void routing_rules_set(struct routing_rules *r, const char *stored, int64_t version)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	rule_list_release(TAKE(r->parsed));
	free(r->stored);
	r->stored = stored ? memory_text(stored) : NULL;
	r->version = version;
}

int64_t routing_rules_version(struct routing_rules *r)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	return r->version;
}

const char *routing_rules_text(struct routing_rules *r, struct arena *a, bool *ret_is_stored)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	*ret_is_stored = r->stored != NULL;
	return arena_text(a, r->stored ? r->stored : r->configured);
}

const struct config_rules *rule_list_rules(const struct rule_list *list)
{
	return &list->rules;
}

void rule_list_release(struct rule_list *list)
{
	if (!list || atomic_fetch_sub(&list->holders, 1) > 1)
		return;
	arena_done(&list->arena);
	free(list);
}

/* The caller holds the mutex. */
static int parse_rules(struct routing_rules *r, struct error *err)
{
	struct rule_list *list = memory_new(sizeof(*list));

	atomic_init(&list->holders, 1);
	if (config_routing_parse(&list->arena,
	                         arena_text(&list->arena, r->stored ? r->stored : r->configured),
	                         &list->rules, err) < 0) {
		rule_list_release(list);
		return -1;
	}
	r->parsed = list;
	return 0;
}

int routing_rules_hold(struct routing_rules *r, struct rule_list **ret, struct error *err)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&r->mutex);

	if (!r->parsed && parse_rules(r, err) < 0)
		return -1;
	atomic_fetch_add(&r->parsed->holders, 1);
	*ret = r->parsed;
	return 0;
}

/* "KEY" or "KEY=VALUE" */
static bool has_label(const struct json_map *labels, const char *wanted)
{
	struct span value = span_of(wanted), key;
	bool has_value = span_split(&value, '=', &key);

	for (size_t i = 0; labels && i < labels->count; i++)
		if (span_equals_text(key, labels->pairs[i].key))
			return !has_value || span_equals_text(value, labels->pairs[i].value);
	return false;
}

static bool matches_source(const struct config_rule *rule, const struct rule_subject *s)
{
	if (rule->project && strcmp(rule->project, s->project_id) != 0)
		return false;
	if (rule->template && strcmp(rule->template, s->template_name) != 0 &&
	    strcmp(rule->template, s->template_id) != 0)
		return false;
	if (rule->isolation && (!s->isolation || strcmp(rule->isolation, s->isolation) != 0))
		return false;
	return !rule->label || has_label(s->labels, rule->label);
}

static bool is_within(double value, double min, double max)
{
	return (min <= 0 || value >= min) && (max <= 0 || value <= max);
}

static bool matches_size(const struct config_rule *rule, const struct rule_subject *s)
{
	return is_within((double)s->resources.memory_mb, (double)rule->memory_mb_min,
	                 (double)rule->memory_mb_max) &&
	       is_within(s->resources.cpu, rule->cpu_min, rule->cpu_max) &&
	       is_within((double)s->price_hour, (double)rule->price_min, (double)rule->price_max);
}

const struct config_rule *routing_rule_find(const struct config_rules *rules,
                                            const struct rule_subject *subject)
{
	for (unsigned i = 0; i < rules->count; i++)
		if (matches_source(&rules->items[i], subject) &&
		    matches_size(&rules->items[i], subject))
			return &rules->items[i];
	return NULL;
}
