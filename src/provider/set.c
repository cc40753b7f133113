/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/set.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "provider/entries.h"
#include "provider/health.h"

struct set_member {
	struct provider_member member;
	/* Of the set's arena: a change puts new ones in their place, and others may still read the
	 * old ones. */
	_Atomic(const struct provider_ops *) kind; /* the kind's with these options */
	_Atomic(const struct provider_options *) options;
	_Atomic(const struct provider_bounds *) limits;
	_Atomic(struct provider *) provider; /* NULL: not open */
	bool is_lent;
	atomic_bool has_left, drains;
	atomic_int_fast64_t left_ms; /* monotonic */
	atomic_int_fast64_t cost_day, cost_month;
};

/* Longer than the deadline of every call of a provider. */
#define LEFT_OPEN_MS 150000

struct provider_set {
	atomic_uint count; /* a member is whole before it counts */
	struct arena arena;
	struct set_member members[PROVIDER_MEMBERS_MAX];
};

static struct set_member *as_set_member(const struct provider_member *m)
{
	return (struct set_member *)(uintptr_t)m;
}

struct provider_set *provider_set_new(void)
{
	return memory_new(sizeof(struct provider_set));
}

void provider_set_close(struct provider_set *set)
{
	for (unsigned i = 0; set && i < set->count; i++) {
		struct set_member *m = &set->members[i];
		struct provider *p = m->is_lent ? NULL : atomic_exchange(&m->provider, NULL);

		if (p)
			provider_ops_of(p)->close(p);
	}
}

void provider_set_free(struct provider_set *set)
{
	if (!set)
		return;
	provider_set_close(set);
	for (unsigned i = 0; i < set->count; i++)
		provider_health_free(set->members[i].member.health);
	arena_done(&set->arena);
	free(set);
}

struct arena *provider_set_arena(struct provider_set *set)
{
	return &set->arena;
}

static struct set_member *begin_member(struct provider_set *set, const char *name)
{
	struct set_member *m = &set->members[set->count];
	const char *own = arena_text(&set->arena, name);

	m->member = (struct provider_member){
	        .name = own, .number = set->count, .health = provider_health_new(own)};
	atomic_store(&m->limits, ARENA_NEW(&set->arena, struct provider_bounds));
	return m;
}

static void describe_member(struct provider_set *set, struct set_member *m,
                            const struct provider_ops *kind, const struct provider_options *options)
{
	struct provider_options *own = ARENA_NEW(&set->arena, struct provider_options);
	struct provider_ops *described = ARENA_NEW(&set->arena, struct provider_ops);

	*own = *options;
	own->name = m->member.name;
	*described = *kind;
	if (kind->describe)
		kind->describe(own, described);
	atomic_store(&m->options, own);
	atomic_store(&m->kind, described);
}

void provider_set_bound(struct provider_set *set, const struct provider_member *m,
                        const struct provider_bounds *limits)
{
	struct provider_bounds *own = ARENA_NEW(&set->arena, struct provider_bounds);

	*own = *limits;
	atomic_store(&as_set_member(m)->limits, own);
	provider_health_limit(m->health, limits->p99_max_ms);
}

struct provider_bounds provider_member_limits(const struct provider_member *m)
{
	return *atomic_load(&as_set_member(m)->limits);
}

int provider_set_add(struct provider_set *set, const struct provider_entry_options *entry,
                     const struct provider_options *options, struct error *err)
{
	const struct provider_ops *kind = provider_find(entry->kind);
	struct set_member *m;

	if (!kind)
		return FAIL(err, ERROR_INVALID, "unknown provider '%s'", entry->kind);
	if (set->count == PROVIDER_MEMBERS_MAX)
		return FAIL(err, ERROR_LIMIT, "a server has at most %d providers",
		            PROVIDER_MEMBERS_MAX);
	if (provider_set_find(set, entry->name))
		return FAIL(err, ERROR_CONFLICT, "provider '%s' is there twice", entry->name);
	m = begin_member(set, entry->name);
	describe_member(set, m, kind, options);
	m->member.kind = kind->name;
	provider_set_bound(set, &m->member, &entry->limits);
	atomic_store(&m->member.version, entry->version);
	atomic_fetch_add(&set->count, 1);
	return 0;
}

int provider_set_change(struct provider_set *set, const struct provider_entry_options *entry,
                        const struct provider_options *options, struct error *err)
{
	struct set_member *m = as_set_member(provider_set_find(set, entry->name));
	struct provider *p = atomic_load(&m->provider);
	const struct provider_ops *kind = provider_find(m->member.kind);

	assert(!m->is_lent && atomic_load(&m->member.version) > 0);
	if (p && kind->change && kind->change(p, options, err) < 0)
		return FAIL_CONTEXT(err, "provider '%s'", entry->name);
	/* Without an operation the options of an open provider are those it was opened with. */
	describe_member(set, m, kind, options);
	provider_set_bound(set, &m->member, &entry->limits);
	atomic_store(&m->member.version, entry->version);
	return 0;
}

void provider_set_lend(struct provider_set *set, const char *name, struct provider *p)
{
	struct set_member *m;

	assert(set->count < PROVIDER_MEMBERS_MAX);
	m = begin_member(set, name);
	atomic_store(&m->kind, provider_ops_of(p));
	m->member.kind = provider_ops_of(p)->name;
	m->is_lent = true;
	atomic_store(&m->provider, p);
	atomic_fetch_add(&set->count, 1);
}

void provider_member_leave(const struct provider_member *member)
{
	struct set_member *m = as_set_member(member);

	assert(!m->is_lent && member->number > 0);
	atomic_store(&m->left_ms, clock_monotonic_ms());
	atomic_store(&m->has_left, true);
}

bool provider_member_has_left(const struct provider_member *m)
{
	return atomic_load(&as_set_member(m)->has_left);
}

void provider_member_drain(const struct provider_member *m)
{
	atomic_store(&as_set_member(m)->drains, true);
}

bool provider_member_drains(const struct provider_member *m)
{
	return atomic_load(&as_set_member(m)->drains);
}

void provider_member_note_cost(const struct provider_member *m, int64_t day, int64_t month)
{
	atomic_store(&as_set_member(m)->cost_day, day);
	atomic_store(&as_set_member(m)->cost_month, month);
}

int64_t provider_member_cost_day(const struct provider_member *m)
{
	return atomic_load(&as_set_member(m)->cost_day);
}

int64_t provider_member_cost_month(const struct provider_member *m)
{
	return atomic_load(&as_set_member(m)->cost_month);
}

int provider_member_open(const struct provider_member *member, struct error *err)
{
	struct set_member *m = as_set_member(member);
	struct provider *p;

	if (atomic_load(&m->provider))
		return 0;
	if (atomic_load(&m->kind)->open(atomic_load(&m->options), &p, err) < 0)
		return FAIL_CONTEXT(err, "provider '%s'", member->name);
	atomic_store(&m->provider, p);
	return 0;
}

/* No sandbox of it exists, and each call that used it has reached its deadline. */
static void close_left(struct set_member *m)
{
	struct provider *p;

	if (clock_monotonic_ms() - atomic_load(&m->left_ms) < LEFT_OPEN_MS)
		return;
	p = atomic_exchange(&m->provider, NULL);
	if (p)
		provider_ops_of(p)->close(p);
}

unsigned provider_set_retry(struct provider_set *set)
{
	unsigned opened = 0;

	for (unsigned i = 0; i < set->count; i++) {
		struct set_member *m = &set->members[i];
		struct error err = {0};

		if (atomic_load(&m->has_left))
			close_left(m);
		if (atomic_load(&m->provider) || atomic_load(&m->has_left))
			continue;
		if (provider_member_open(&m->member, &err) < 0) {
			log_debug("a provider is not open yet", TEXT("provider", m->member.name),
			          FAILURE(&err));
			provider_health_note(m->member.health, &err);
			continue;
		}
		log_info("a provider is open", TEXT("provider", m->member.name));
		provider_health_note(m->member.health, NULL);
		opened++;
	}
	return opened;
}

void provider_set_last_calls(struct provider_set *set)
{
	for (unsigned i = 0; i < set->count; i++) {
		struct provider *p = atomic_load(&set->members[i].provider);

		if (p && provider_ops_of(p)->last_calls)
			provider_ops_of(p)->last_calls(p);
	}
}

void provider_set_template_gone(struct provider_set *set, const char *folder)
{
	for (unsigned i = 0; i < set->count; i++) {
		struct provider *p = atomic_load(&set->members[i].provider);

		if (p && provider_ops_of(p)->template_gone)
			provider_ops_of(p)->template_gone(p, folder);
	}
}

unsigned provider_set_count(const struct provider_set *set)
{
	return set->count;
}

bool provider_set_has_several(const struct provider_set *set)
{
	unsigned count = 0;

	for (unsigned i = 0; i < set->count; i++)
		count += !atomic_load(&as_set_member(&set->members[i].member)->has_left);
	return count > 1;
}

const struct provider_member *provider_set_at(const struct provider_set *set, unsigned number)
{
	assert(number < set->count);
	return &set->members[number].member;
}

const struct provider_member *provider_set_find(const struct provider_set *set, const char *name)
{
	for (unsigned i = 0; i < set->count; i++)
		if (strcmp(set->members[i].member.name, name) == 0 &&
		    !provider_member_has_left(&set->members[i].member))
			return &set->members[i].member;
	return NULL;
}

const struct provider_member *provider_set_member_of(const struct provider_set *set,
                                                     const struct provider *p)
{
	for (unsigned i = 0; i < set->count; i++)
		if (atomic_load(&as_set_member(&set->members[i].member)->provider) == p)
			return &set->members[i].member;
	return NULL;
}

struct provider *provider_member_provider(const struct provider_member *m)
{
	return atomic_load(&as_set_member(m)->provider);
}

const struct provider_ops *provider_member_ops(const struct provider_member *m)
{
	const struct provider *p = provider_member_provider(m);

	return p ? provider_ops_of(p) : atomic_load(&as_set_member(m)->kind);
}

bool provider_shares_place(const struct provider *a, const struct provider *b)
{
	const char *place = provider_ops_of(a)->place;

	return a == b || (place && provider_ops_of(b)->place &&
	                  strcmp(place, provider_ops_of(b)->place) == 0);
}

static int list_member(const struct provider_member *m, struct arena *a, struct provider_list *ret,
                       struct error *err)
{
	struct provider *p = provider_member_provider(m);

	if (!p)
		return FAIL(err, ERROR_UNAVAILABLE, "provider '%s' does not answer", m->name);
	if (provider_ops_of(p)->list(p, a, ret, err) < 0)
		return FAIL_CONTEXT(err, "list what provider '%s' has", m->name);
	for (size_t i = 0; i < ret->count; i++)
		ret->entries[i].member = m->number;
	return 0;
}

/* The earlier member of the same place, which lists the same sandboxes; -1: none. */
static int find_lister(const struct provider_set *set, unsigned number)
{
	struct provider *p = provider_member_provider(provider_set_at(set, number));

	for (unsigned i = 0; p && i < number; i++) {
		struct provider *other = provider_member_provider(provider_set_at(set, i));

		if (other && provider_shares_place(p, other) &&
		    !provider_member_has_left(provider_set_at(set, i)))
			return (int)i;
	}
	return -1;
}

static void append_list(struct arena *a, struct provider_list *all,
                        const struct provider_list *more)
{
	struct provider_entry *entries =
	        ARENA_ARRAY(a, struct provider_entry, all->count + more->count + 1);

	if (all->count > 0)
		memcpy(entries, all->entries, all->count * sizeof(*entries));
	if (more->count > 0)
		memcpy(entries + all->count, more->entries, more->count * sizeof(*entries));
	*all = (struct provider_list){entries, all->count + more->count};
}

int provider_set_list(const struct provider_set *set, struct arena *a, struct provider_list *ret,
                      bool ret_silent[PROVIDER_MEMBERS_MAX], struct error *err)
{
	struct provider_list all = {0};

	for (unsigned i = 0; i < set->count; i++) {
		struct provider_list list = {0};

		ret_silent[i] = false;
		if (provider_member_has_left(provider_set_at(set, i)))
			continue;
		int lister = find_lister(set, i);
		if (lister >= 0) {
			ret_silent[i] = ret_silent[lister];
			continue;
		}
		if (list_member(provider_set_at(set, i), a, &list, err) == 0) {
			append_list(a, &all, &list);
			continue;
		}
		if (i == 0)
			return -1;
		log_warning("sandboxes of a provider are left as they are", FAILURE(err));
		error_clear(err);
		ret_silent[i] = true;
	}
	*ret = all;
	return 0;
}
