/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lease/lease_spec.h"

#include <string.h>

#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/labels.h"
#include "fleet/lease/lease.h"
#include "json/write.h"
#include "sandbox/timeouts.h"
#include "store/secrets.h"
#include "store/snapshots.h"

#define SPEC_BYTES_MAX ((size_t)256 * 1024)
#define NAMES_BYTES_MAX 1024
#define NOTHING "{}"

static const struct json_member resources_members[] = {
        JSON_NUMBER_MEMBER(sandbox_resources, cpu, .flags = JSON_OMIT_EMPTY),
        JSON_WHOLE_MEMBER(sandbox_resources, memory_mb, .flags = JSON_OMIT_EMPTY),
        JSON_WHOLE_MEMBER(sandbox_resources, disk_mb, .flags = JSON_OMIT_EMPTY),
        JSON_WHOLE_MEMBER(sandbox_resources, pids, .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(resources, "LeaseSpecificationResources", sandbox_resources, "Limits");

enum spec_row {
	SPEC_INTERNET,
	SPEC_PERSISTENT,
	SPEC_TEMPLATE,
	SPEC_IMAGE,
	SPEC_LABELS,
	SPEC_OWN_LABELS,
	SPEC_RESOURCES,
	SPEC_HOME,
	SPEC_HOME_PATH,
	SPEC_HOME_MB,
	SPEC_EGRESS,
	SPEC_NETWORK,
	SPEC_PREVIEW_OFF,
};
/* Bounds of switchable timeouts and of fixed ones. */
#define TIMEOUT_MIN_SWITCHABLE -1
#define TIMEOUT_MIN_FIXED 0
#define TIMEOUT_MEMBER(stem, off, ...)                                                             \
	{                                                                                          \
		.kind = JSON_WHOLE, .c_name = #stem "_ms",                                         \
		.offset = offsetof(struct lease_spec, timeouts.stem##_ms),                         \
		.min = TIMEOUT_MIN_##off, .flags = JSON_OMIT_EMPTY                                 \
	}
#define BIT(row) (UINT64_C(1) << (row))
static const struct json_member spec_shape_members[] = {
        [SPEC_INTERNET] = JSON_BOOL_MEMBER(lease_spec, internet, .flags = JSON_OMIT_EMPTY),
        [SPEC_PERSISTENT] = JSON_BOOL_MEMBER(lease_spec, persistent, .flags = JSON_OMIT_EMPTY),
        [SPEC_TEMPLATE] = JSON_TEXT_MEMBER(lease_spec, template, .flags = JSON_OMIT_EMPTY),
        [SPEC_IMAGE] = JSON_TEXT_MEMBER(lease_spec, image, .flags = JSON_OMIT_EMPTY),
        [SPEC_LABELS] = JSON_TEXT_MAP_MEMBER(lease_spec, labels, .flags = JSON_OMIT_EMPTY),
        [SPEC_OWN_LABELS] = JSON_TEXT_MAP_MEMBER(lease_spec, own_labels, .name = "ownLabels",
                                                 .flags = JSON_OMIT_EMPTY),
        [SPEC_RESOURCES] =
                JSON_OBJECT_MEMBER(lease_spec, resources, &resources, .flags = JSON_OMIT_EMPTY),
        [SPEC_HOME] = JSON_TEXT_MEMBER(lease_spec, persistent_home, .flags = JSON_OMIT_EMPTY),
        [SPEC_HOME_PATH] =
                JSON_TEXT_MEMBER(lease_spec, persistent_home_path, .flags = JSON_OMIT_EMPTY),
        [SPEC_HOME_MB] =
                JSON_WHOLE_MEMBER(lease_spec, persistent_home_mb, .flags = JSON_OMIT_EMPTY),
        [SPEC_EGRESS] = JSON_TEXT_MEMBER(lease_spec, egress, .flags = JSON_OMIT_EMPTY),
        [SPEC_NETWORK] = JSON_TEXT_MEMBER(lease_spec, network, .flags = JSON_OMIT_EMPTY),
        [SPEC_PREVIEW_OFF] = JSON_BOOL_MEMBER(lease_spec, preview_off, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(lease_spec, provider, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(lease_spec, isolation, .flags = JSON_OMIT_EMPTY),
        SANDBOX_INHERITED_TIMEOUTS(TIMEOUT_MEMBER),
};
static JSON_BITS_SHAPE(spec_shape, "LeaseSpecification", lease_spec,
                       "What a lease's sandbox is made like");

#define TIMEOUT_WHOLE(stem, ...)                                                                   \
	{                                                                                          \
#stem, offsetof(struct lease_spec, timeouts.stem##_ms)                             \
	}
/* The members of one kind, for what is done with each of them. */
static const struct {
	const char *name;
	size_t offset;
} texts[] =
        {
                {"template", offsetof(struct lease_spec, template)},
                {"image", offsetof(struct lease_spec, image)},
                {"provider", offsetof(struct lease_spec, provider)},
                {"isolation", offsetof(struct lease_spec, isolation)},
                {"persistentHome", offsetof(struct lease_spec, persistent_home)},
                {"persistentHomePath", offsetof(struct lease_spec, persistent_home_path)},
                {"egress", offsetof(struct lease_spec, egress)},
                {"network", offsetof(struct lease_spec, network)},
},
  wholes[] =
          {
                  {"resources.memory_mb", offsetof(struct lease_spec, resources.memory_mb)},
                  {"resources.disk_mb", offsetof(struct lease_spec, resources.disk_mb)},
                  {"resources.pids", offsetof(struct lease_spec, resources.pids)},
                  {"persistentDiskGb", offsetof(struct lease_spec, persistent_home_mb)},
                  SANDBOX_INHERITED_TIMEOUTS(TIMEOUT_WHOLE),
},
  maps[] =
          {
                  {"labels", offsetof(struct lease_spec, labels)},
                  {"config", offsetof(struct lease_spec, own_labels)},
                  {"env", offsetof(struct lease_spec, env)},
},
  bools[] = {
          /* in the order of their rows, which are their bits */
          {"internet", offsetof(struct lease_spec, internet)},
          {"persistent", offsetof(struct lease_spec, persistent)},
};

static const void *member_address(const struct lease_spec *spec, size_t offset)
{
	return (const char *)spec + offset;
}

static const char *member_text(const struct lease_spec *spec, size_t offset)
{
	const char *text = *(const char *const *)member_address(spec, offset);

	return text ? text : "";
}

struct lease_spec lease_spec_given(const struct fleet_lease *request)
{
	const struct fleet_create *make = request->make;

	struct lease_spec spec = {
	        .template = make->template,
	        .image = make->image,
	        .provider = make->provider,
	        .isolation = make->isolation,
	        .persistent_home = make->persistent_home,
	        .persistent_home_path = make->persistent_home_path,
	        .persistent_home_mb = make->persistent_home_mb,
	        .egress = make->egress,
	        .network = make->network_json,
	        .labels = make->labels,
	        .own_labels = make->own_labels,
	        .env = make->env,
	        .resources = make->resources,
	        .internet = make->internet > 0,
	        .persistent = make->persistent,
	        .present =
	                (make->internet >= 0 ? BIT(SPEC_INTERNET) : 0) |
	                (make->persistent || request->names_persistent ? BIT(SPEC_PERSISTENT) : 0),
	};

	sandbox_timeouts_copy_inherited(&spec.timeouts, &make->timeouts);
	return spec;
}

void lease_spec_apply(const struct lease_spec *spec, struct fleet_create *make)
{
	make->template = spec->template;
	make->image = spec->image;
	make->provider = spec->provider;
	make->isolation = spec->isolation;
	make->persistent_home = spec->persistent_home;
	make->persistent_home_path = spec->persistent_home_path;
	make->persistent_home_mb = spec->persistent_home_mb;
	make->egress = spec->egress;
	make->network_json = spec->network;
	make->labels = spec->labels;
	make->own_labels = spec->own_labels;
	make->env = spec->env;
	make->resources = spec->resources;
	sandbox_timeouts_copy_inherited(&make->timeouts, &spec->timeouts);
	make->internet = spec->present & BIT(SPEC_INTERNET) ? spec->internet : -1;
	make->persistent = spec->persistent;
	make->preview_off = make->preview_off || spec->preview_off;
}

static int load_map(struct arena *a, const char *text, struct json_map *ret, struct error *err)
{
	if (!text || !*text || strcmp(text, NOTHING) == 0)
		return 0;
	return store_secret_check(text, err) < 0 ? -1 : text_map_of_json(a, text, ret, err);
}

/* Of a lease of before there were specifications: what it has is what it was made with. */
static int take_sandbox(struct arena *a, const struct sandbox_record *sandbox,
                        struct lease_spec *ret, struct error *err)
{
	struct json_map all = {.count = 0}, own;

	*ret = (struct lease_spec){
	        .template = sandbox->template_name,
	        .resources = sandbox->resources,
	        .internet = sandbox->network == SANDBOX_NETWORK_INTERNET,
	        .persistent = sandbox->persistent,
	        .present = BIT(SPEC_INTERNET) | BIT(SPEC_PERSISTENT),
	};
	sandbox_timeouts_copy_inherited(&ret->timeouts, &sandbox->timeouts);
	if (load_map(a, sandbox->labels_json, &all, err) < 0 ||
	    load_map(a, sandbox->env_json, &ret->env, err) < 0)
		return -1;
	labels_split(a, &all, &ret->labels, &own);
	ret->own_labels = labels_of_copy(a, &own);
	return 0;
}

/* Rules that the sandbox got while it lived belong to the lease: a new sandbox must reach no
 * more and show no more. */
static void take_rules(const struct sandbox_record *sandbox, struct lease_spec *spec)
{
	spec->egress = *sandbox->egress ? sandbox->egress : NULL;
	spec->network = *sandbox->network_json ? sandbox->network_json : NULL;
	spec->preview_off = sandbox->preview_off;
}

/* A row is there for some time after its sandbox's end. */
static int find_sandbox(struct fleet *f, struct arena *a, const struct lease_record *r,
                        struct sandbox_record *ret, struct error *err)
{
	if (!r->sandbox_id || !*r->sandbox_id)
		return FAIL(err, ERROR_NOT_FOUND, "lease '%.100s' has no sandbox", r->key);
	return store_sandbox_find_ended(f->store, a, r->project_id, r->sandbox_id, ret, err);
}

/* A row of before has the server's own labels among those of callers. */
static void take_own_labels(struct arena *a, struct lease_spec *spec)
{
	const struct json_map all = labels_join(a, &spec->labels, &spec->own_labels);
	bool had_labels = spec->labels.present;

	labels_split(a, &all, &spec->labels, &spec->own_labels);
	spec->labels.present = had_labels;
}

int lease_spec_read(struct arena *a, const struct lease_record *r, struct lease_spec *ret,
                    struct error *err)
{
	*ret = (struct lease_spec){.present = 0};
	if (!*r->spec_json)
		return 0;
	if (json_parse(a, span_of(r->spec_json), &spec_shape, ret, err) < 0 ||
	    load_map(a, r->env_json, &ret->env, err) < 0)
		return FAIL_CONTEXT(err, "specification of lease '%.100s'", r->key);
	take_own_labels(a, ret);
	return 0;
}

int lease_spec_load(struct fleet *f, struct arena *a, const struct lease_record *r,
                    struct lease_spec *ret, struct error *err)
{
	struct sandbox_record sandbox;

	if (lease_spec_read(a, r, ret, err) < 0)
		return -1;
	if (find_sandbox(f, a, r, &sandbox, err) < 0) {
		if (err->code != ERROR_NOT_FOUND)
			return -1;
		error_clear(err);
		return 0;
	}
	/* The row of a sandbox that was never made tells nothing. */
	if (sandbox.started_at == 0)
		return 0;
	if (!*r->spec_json && take_sandbox(a, &sandbox, ret, err) < 0)
		return FAIL_CONTEXT(err, "specification of lease '%.100s'", r->key);
	take_rules(&sandbox, ret);
	return 0;
}

int lease_spec_store(struct arena *a, const struct lease_spec *spec, struct lease_record *r,
                     struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SPEC_BYTES_MAX);
	struct lease_spec written = *spec;

	written.present &= BIT(SPEC_INTERNET) | BIT(SPEC_PERSISTENT);
	json_write(&text, &spec_shape, &written);
	if (text.overflowed)
		return FAIL(err, ERROR_TOO_LARGE,
		            "the specification of lease '%.100s' is larger than %zu bytes", r->key,
		            text.size_max);
	r->spec_json = arena_copy(a, buf_span(&text));
	r->env_json = json_format_map(a, &spec->env);
	return 0;
}

int lease_spec_update(struct fleet *f, struct arena *a, struct lease_record *r, struct error *err)
{
	struct lease_spec spec;

	return lease_spec_load(f, a, r, &spec, err) < 0 ? -1 : lease_spec_store(a, &spec, r, err);
}

bool lease_spec_is_empty(const struct lease_record *r)
{
	return (!r->spec_json || !*r->spec_json || strcmp(r->spec_json, NOTHING) == 0) &&
	       (!r->env_json || !*r->env_json || strcmp(r->env_json, NOTHING) == 0);
}

static bool is_nothing(const struct lease_spec *spec)
{
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (*member_text(spec, texts[i].offset))
			return false;
	for (size_t i = 0; i < COUNT_OF(wholes); i++)
		if (*(const int64_t *)member_address(spec, wholes[i].offset) != 0)
			return false;
	for (size_t i = 0; i < COUNT_OF(maps); i++)
		if (((const struct json_map *)member_address(spec, maps[i].offset))->count > 0)
			return false;
	return spec->present == 0 && spec->resources.cpu == 0 && !spec->preview_off;
}

/* What is given replaces the other; request_check refuses both. */
static void join_sources(const struct lease_spec *given, struct lease_spec *spec)
{
	if (given->image && !given->template)
		spec->template = NULL;
	else if (given->template && !given->image)
		spec->image = NULL;
}

static struct lease_spec join_specs(const struct lease_spec *kept, const struct lease_spec *given)
{
	struct lease_spec spec = *kept;

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (*member_text(given, texts[i].offset))
			memcpy((char *)&spec + texts[i].offset,
			       member_address(given, texts[i].offset), sizeof(const char *));
	for (size_t i = 0; i < COUNT_OF(wholes); i++)
		if (*(const int64_t *)member_address(given, wholes[i].offset) != 0)
			memcpy((char *)&spec + wholes[i].offset,
			       member_address(given, wholes[i].offset), sizeof(int64_t));
	for (size_t i = 0; i < COUNT_OF(maps); i++)
		if (((const struct json_map *)member_address(given, maps[i].offset))->present)
			memcpy((char *)&spec + maps[i].offset,
			       member_address(given, maps[i].offset), sizeof(struct json_map));
	for (size_t i = 0; i < COUNT_OF(bools); i++)
		if (given->present & BIT(i))
			memcpy((char *)&spec + bools[i].offset,
			       member_address(given, bools[i].offset), sizeof(bool));
	if (given->resources.cpu > 0)
		spec.resources.cpu = given->resources.cpu;
	join_sources(given, &spec);
	spec.present = kept->present | given->present;
	/* Rules are for a sandbox that has a network. */
	if (spec.present & BIT(SPEC_INTERNET) && !spec.internet)
		spec.egress = spec.network = NULL;
	return spec;
}

struct lease_spec lease_spec_join(const struct fleet_lease *request, const struct lease_spec *kept)
{
	const struct lease_spec given = lease_spec_given(request);

	if (request->terms == LEASE_TERMS_FIRST && !is_nothing(kept))
		return *kept;
	return join_specs(kept, &given);
}

static bool is_same_map(const struct json_map *a, const struct json_map *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const char *other = text_map_find(b, a->pairs[i].key);

		if (!other || strcmp(other, a->pairs[i].value) != 0)
			return false;
	}
	return true;
}

static void add_name(struct buf *names, const char *name)
{
	buf_addf(names, "%s%s", names->size > 0 ? ", " : "", name);
}

static struct lease_spec with_defaults(const struct fleet *f, const struct lease_spec *kept)
{
	struct lease_spec spec = *kept;

	if (!spec.template && !spec.image)
		spec.template = f->config->default_template;
	if (!(spec.present & BIT(SPEC_INTERNET)))
		spec.internet = f->config->internet;
	return spec;
}

static void compare_scalars(const struct lease_spec *is, const struct lease_spec *given,
                            struct buf *names)
{
	for (size_t i = 0; i < COUNT_OF(bools); i++)
		if (given->present & BIT(i) &&
		    *(const bool *)member_address(is, bools[i].offset) !=
		            *(const bool *)member_address(given, bools[i].offset))
			add_name(names, bools[i].name);
	if (given->resources.cpu > 0 && given->resources.cpu != is->resources.cpu)
		add_name(names, "resources.cpu");
	for (size_t i = 0; i < COUNT_OF(wholes); i++) {
		int64_t wanted = *(const int64_t *)member_address(given, wholes[i].offset);

		if (wanted != 0 && wanted != *(const int64_t *)member_address(is, wholes[i].offset))
			add_name(names, wholes[i].name);
	}
}

const char *lease_spec_differing(const struct fleet *f, struct arena *a,
                                 const struct lease_spec *kept, const struct lease_spec *given)
{
	const struct lease_spec is = with_defaults(f, kept);
	AUTO(buf_done) struct buf names = BUF(NAMES_BYTES_MAX);

	compare_scalars(&is, given, &names);

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (*member_text(given, texts[i].offset) &&
		    strcmp(member_text(given, texts[i].offset),
		           member_text(&is, texts[i].offset)) != 0)
			add_name(&names, texts[i].name);
	for (size_t i = 0; i < COUNT_OF(maps); i++) {
		const struct json_map *wanted = member_address(given, maps[i].offset);

		if (wanted->present && !is_same_map(member_address(&is, maps[i].offset), wanted))
			add_name(&names, maps[i].name);
	}
	return names.size > 0 ? arena_copy(a, buf_span(&names)) : NULL;
}
