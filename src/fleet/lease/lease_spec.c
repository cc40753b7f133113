/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/lease/lease_spec.h"

#include <string.h>

#include "config/config.h"
#include "fleet/core/fleet_state.h"
#include "fleet/core/labels.h"
#include "fleet/lease/lease.h"
#include "fleet/volume/volume.h"
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

static const struct json_member mount_members[] = {
        JSON_TEXT_MEMBER(fleet_mount, volume, .flags = JSON_REQUIRED),
        JSON_TEXT_MEMBER(fleet_mount, path, .flags = JSON_OMIT_EMPTY),
        JSON_TEXT_MEMBER(fleet_mount, subpath, .flags = JSON_OMIT_EMPTY),
        JSON_BOOL_MEMBER(fleet_mount, is_read_only, .name = "read_only", .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(mount, "LeaseSpecificationVolume", fleet_mount, "A volume of the sandbox");

/* ROW(member of struct fleet_create, stored name, name in a request) */
/* clang-format off */
#define SPEC_TEXTS(ROW)                                                                            \
	ROW(template, "template", "template"),                                                     \
	ROW(image, "image", "image"),                                                              \
	ROW(snapshot, "snapshot", "snapshot"),                                                     \
	ROW(provider, "provider", "provider"),                                                     \
	ROW(isolation, "isolation", "isolation"),                                                  \
	ROW(region, "region", "region"),                                                           \
	ROW(persistent_home, "persistent_home", "persistentHome"),                                 \
	ROW(persistent_home_path, "persistent_home_path", "persistentHomePath"),                   \
	ROW(workspace, "workspace", "workspace"),                                                  \
	ROW(workspace_root, "workspace_root", "workspaceRoot"),                                    \
	ROW(egress, "egress", "egress"),                                                           \
	ROW(rules_json, "rules", "egress.rules"),                                                  \
	ROW(network_json, "network", "network")
#define SPEC_WHOLES(ROW)                                                                           \
	ROW(persistent_home_mb, "persistent_home_mb", "persistentDiskGb"),                         \
	ROW(timeout_ms, "timeout_ms", "timeout_ms")
#define SPEC_FLAGS(ROW)                                                                            \
	ROW(preview_off, "preview_off", "previewEnabled"),                                         \
	ROW(preview_public, "preview_public", "previewPublic")
/* clang-format on */

enum spec_row { SPEC_INTERNET, SPEC_PERSISTENT };
/* Bounds of switchable timeouts and of fixed ones. */
#define TIMEOUT_MIN_SWITCHABLE -1
#define TIMEOUT_MIN_FIXED 0
#define STORED_ROW_(kind_, member, stored, ...)                                                    \
	{                                                                                          \
		.kind = (kind_), .c_name = (stored),                                               \
		.offset = offsetof(struct lease_spec, member), .flags = JSON_OMIT_EMPTY,           \
		__VA_ARGS__                                                                        \
	}
#define STORED_TEXT(member, stored, name) STORED_ROW_(JSON_TEXT, make.member, stored)
#define STORED_WHOLE(member, stored, name) STORED_ROW_(JSON_WHOLE, make.member, stored)
#define STORED_FLAG(member, stored, name) STORED_ROW_(JSON_BOOL, make.member, stored)
#define STORED_TIMEOUT(stem, off, ...)                                                             \
	STORED_ROW_(JSON_WHOLE, make.timeouts.stem##_ms, #stem "_ms", .min = TIMEOUT_MIN_##off)
#define BIT(row) (UINT64_C(1) << (row))
static const struct json_member spec_shape_members[] = {
        [SPEC_INTERNET] = JSON_BOOL_MEMBER(lease_spec, internet, .flags = JSON_OMIT_EMPTY),
        [SPEC_PERSISTENT] = JSON_BOOL_MEMBER(lease_spec, persistent, .flags = JSON_OMIT_EMPTY),
        SPEC_TEXTS(STORED_TEXT),
        STORED_ROW_(JSON_TEXT_MAP, make.labels, "labels"),
        STORED_ROW_(JSON_TEXT_MAP, make.own_labels, "own_labels", .name = "ownLabels"),
        STORED_ROW_(JSON_OBJECT, make.resources, "resources", .of = &resources),
        SPEC_WHOLES(STORED_WHOLE),
        SPEC_FLAGS(STORED_FLAG),
        JSON_TEXT_MEMBER(lease_spec, pull, .flags = JSON_OMIT_EMPTY),
        JSON_LIST_MEMBER(lease_spec, mounts, &mount, .name = "volumes", .max = SANDBOX_MOUNTS_MAX,
                         .flags = JSON_OMIT_EMPTY),
        SANDBOX_TIMEOUTS(STORED_TIMEOUT),
};
static JSON_BITS_SHAPE(spec_shape, "LeaseSpecification", lease_spec,
                       "What a lease's sandbox is made like");

/* The members of struct fleet_create that a specification has, besides internet, persistent, pull
 * and the volumes. Offsets are in struct fleet_create. */
static const struct spec_member {
	enum spec_kind { SPEC_TEXT, SPEC_WHOLE, SPEC_NUMBER, SPEC_MAP, SPEC_FLAG } kind;
	size_t offset;
	const char *name; /* in a request */
} members[] = {
#define MEMBER_TEXT(member, stored, name)                                                          \
	{                                                                                          \
		SPEC_TEXT, offsetof(struct fleet_create, member), name                             \
	}
#define MEMBER_WHOLE(member, stored, name)                                                         \
	{                                                                                          \
		SPEC_WHOLE, offsetof(struct fleet_create, member), name                            \
	}
#define MEMBER_FLAG(member, stored, name)                                                          \
	{                                                                                          \
		SPEC_FLAG, offsetof(struct fleet_create, member), name                             \
	}
#define MEMBER_TIMEOUT(stem, ...)                                                                  \
	{                                                                                          \
		SPEC_WHOLE, offsetof(struct fleet_create, timeouts.stem##_ms), #stem               \
	}
        {SPEC_NUMBER, offsetof(struct fleet_create, resources.cpu), "resources.cpu"},
        {SPEC_WHOLE, offsetof(struct fleet_create, resources.memory_mb), "resources.memory_mb"},
        {SPEC_WHOLE, offsetof(struct fleet_create, resources.disk_mb), "resources.disk_mb"},
        {SPEC_WHOLE, offsetof(struct fleet_create, resources.pids), "resources.pids"},
        SPEC_WHOLES(MEMBER_WHOLE),
        SANDBOX_TIMEOUTS(MEMBER_TIMEOUT),
        SPEC_TEXTS(MEMBER_TEXT),
        {SPEC_MAP, offsetof(struct fleet_create, labels), "labels"},
        {SPEC_MAP, offsetof(struct fleet_create, own_labels), "config"},
        {SPEC_MAP, offsetof(struct fleet_create, env), "env"},
        SPEC_FLAGS(MEMBER_FLAG),
};
static const size_t sizes[] = {
        [SPEC_TEXT] = sizeof(const char *), [SPEC_WHOLE] = sizeof(int64_t),
        [SPEC_NUMBER] = sizeof(double),     [SPEC_MAP] = sizeof(struct json_map),
        [SPEC_FLAG] = sizeof(bool),
};

static const struct spec_member *members_end(void)
{
	return members + COUNT_OF(members);
}

static const void *member_of(const struct spec_member *m, const struct fleet_create *make)
{
	return (const char *)make + m->offset;
}

static const char *text_of(const struct spec_member *m, const struct fleet_create *make)
{
	const char *text = *(const char *const *)member_of(m, make);

	return text ? text : "";
}

static void copy_member(const struct spec_member *m, const struct fleet_create *from,
                        struct fleet_create *to)
{
	memcpy((char *)to + m->offset, member_of(m, from), sizes[m->kind]);
}

static bool is_given(const struct spec_member *m, const struct fleet_create *make)
{
	const void *value = member_of(m, make);

	switch (m->kind) {
	case SPEC_TEXT:
		return *text_of(m, make) != '\0';
	case SPEC_WHOLE:
		return *(const int64_t *)value != 0;
	case SPEC_NUMBER:
		return *(const double *)value > 0;
	case SPEC_MAP:
		return ((const struct json_map *)value)->present;
	case SPEC_FLAG:
		return *(const bool *)value;
	}
	return false;
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

static bool is_same_member(const struct spec_member *m, const struct fleet_create *a,
                           const struct fleet_create *b)
{
	if (m->kind == SPEC_TEXT)
		return strcmp(text_of(m, a), text_of(m, b)) == 0;
	if (m->kind == SPEC_MAP)
		return is_same_map(member_of(m, a), member_of(m, b));
	return memcmp(member_of(m, a), member_of(m, b), sizes[m->kind]) == 0;
}

struct lease_spec lease_spec_given(const struct fleet_lease *request)
{
	const struct fleet_create *make = request->make;
	struct lease_spec spec = {
	        .pull = make->pull != FLEET_PULL_MISSING ? fleet_pull_names[make->pull] : NULL,
	        .mounts = {(void *)(uintptr_t)make->mounts, make->mount_count,
	                   make->mounts != NULL},
	        .internet = make->internet > 0,
	        .persistent = make->persistent,
	        .present =
	                (make->internet >= 0 ? BIT(SPEC_INTERNET) : 0) |
	                (make->persistent || request->names_persistent ? BIT(SPEC_PERSISTENT) : 0),
	};

	for (const struct spec_member *m = members; m < members_end(); m++)
		copy_member(m, make, &spec.make);
	return spec;
}

static enum fleet_pull parse_pull(const char *name)
{
	for (unsigned i = 0; name && i < FLEET_PULL_COUNT; i++)
		if (strcmp(fleet_pull_names[i], name) == 0)
			return (enum fleet_pull)i;
	return FLEET_PULL_MISSING;
}

void lease_spec_apply(const struct lease_spec *spec, struct fleet_create *make)
{
	bool is_preview_off = make->preview_off || spec->make.preview_off;

	for (const struct spec_member *m = members; m < members_end(); m++)
		copy_member(m, &spec->make, make);
	make->pull = spec->make.image ? parse_pull(spec->pull) : FLEET_PULL_MISSING;
	make->mounts = spec->mounts.items;
	make->mount_count = spec->mounts.count;
	make->internet = spec->present & BIT(SPEC_INTERNET) ? spec->internet : -1;
	make->persistent = spec->persistent;
	make->preview_off = is_preview_off;
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
	        .make = {.template = sandbox->template_name, .resources = sandbox->resources},
	        .internet = sandbox->network == SANDBOX_NETWORK_INTERNET,
	        .persistent = sandbox->persistent,
	        .present = BIT(SPEC_INTERNET) | BIT(SPEC_PERSISTENT),
	};
	sandbox_timeouts_copy_inherited(&ret->make.timeouts, &sandbox->timeouts);
	if (load_map(a, sandbox->labels_json, &all, err) < 0 ||
	    load_map(a, sandbox->env_json, &ret->make.env, err) < 0)
		return -1;
	labels_split(a, &all, &ret->make.labels, &own);
	ret->make.own_labels = labels_of_copy(a, &own);
	return 0;
}

/* Rules that the sandbox got while it lived belong to the lease: a new sandbox must reach no
 * more and show no more. */
static void take_rules(const struct sandbox_record *sandbox, struct lease_spec *spec)
{
	spec->make.egress = *sandbox->egress ? sandbox->egress : NULL;
	spec->make.rules_json = *sandbox->rules_json ? sandbox->rules_json : NULL;
	spec->make.network_json = *sandbox->network_json ? sandbox->network_json : NULL;
	spec->make.preview_off = sandbox->preview_off;
	spec->make.preview_public = sandbox->preview_public;
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
	struct fleet_create *make = &spec->make;
	const struct json_map all = labels_join(a, &make->labels, &make->own_labels);
	bool had_labels = make->labels.present;

	labels_split(a, &all, &make->labels, &make->own_labels);
	make->labels.present = had_labels;
}

int lease_spec_read(struct arena *a, const struct lease_record *r, struct lease_spec *ret,
                    struct error *err)
{
	*ret = (struct lease_spec){.present = 0};
	if (!*r->spec_json)
		return 0;
	if (json_parse(a, span_of(r->spec_json), &spec_shape, ret, err) < 0 ||
	    load_map(a, r->env_json, &ret->make.env, err) < 0)
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
	r->env_json = json_format_map(a, &spec->make.env);
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
	for (const struct spec_member *m = members; m < members_end(); m++) {
		const struct json_map *map = member_of(m, &spec->make);

		if (is_given(m, &spec->make) && (m->kind != SPEC_MAP || map->count > 0))
			return false;
	}
	return spec->present == 0 && spec->mounts.count == 0;
}

/* A given source of the files replaces the others; request_check refuses some pairs. */
static void join_sources(const struct fleet_create *given, struct fleet_create *make)
{
	if (!given->template && !given->image && !given->snapshot)
		return;
	make->template = given->template;
	make->image = given->image;
	make->snapshot = given->snapshot;
}

static struct lease_spec join_specs(const struct lease_spec *kept, const struct lease_spec *given)
{
	struct lease_spec spec = *kept;

	for (const struct spec_member *m = members; m < members_end(); m++)
		if (is_given(m, &given->make))
			copy_member(m, &given->make, &spec.make);
	if (given->present & BIT(SPEC_INTERNET))
		spec.internet = given->internet;
	if (given->present & BIT(SPEC_PERSISTENT))
		spec.persistent = given->persistent;
	if (given->mounts.present)
		spec.mounts = given->mounts;
	join_sources(&given->make, &spec.make);
	if (given->pull || given->make.image)
		spec.pull = given->pull;
	spec.present = kept->present | given->present;
	/* Rules are for a sandbox that has a network. */
	if (spec.present & BIT(SPEC_INTERNET) && !spec.internet)
		spec.make.egress = spec.make.rules_json = spec.make.network_json = NULL;
	return spec;
}

struct lease_spec lease_spec_join(const struct fleet_lease *request, const struct lease_spec *kept)
{
	const struct lease_spec given = lease_spec_given(request);

	if (request->terms == LEASE_TERMS_FIRST && !is_nothing(kept))
		return *kept;
	return join_specs(kept, &given);
}

static void add_name(struct buf *names, const char *name)
{
	buf_addf(names, "%s%s", names->size > 0 ? ", " : "", name);
}

static struct lease_spec with_defaults(const struct fleet *f, const struct lease_spec *kept)
{
	struct lease_spec spec = *kept;

	if (!spec.make.template && !spec.make.image && !spec.make.snapshot)
		spec.make.template = f->config->default_template;
	if (!(spec.present & BIT(SPEC_INTERNET)))
		spec.internet = f->config->internet;
	return spec;
}

static const char *text_or(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

static bool is_same_mount(const struct fleet_mount *a, const struct fleet_mount *b)
{
	return strcmp(a->volume, b->volume) == 0 && a->is_read_only == b->is_read_only &&
	       strcmp(text_or(a->path, FLEET_MOUNT_PATH), text_or(b->path, FLEET_MOUNT_PATH)) ==
	               0 &&
	       strcmp(text_or(a->subpath, ""), text_or(b->subpath, "")) == 0;
}

static bool has_same_mounts(const struct lease_spec *a, const struct lease_spec *b)
{
	const struct fleet_mount *mine = a->mounts.items, *others = b->mounts.items;

	if (a->mounts.count != b->mounts.count)
		return false;
	for (size_t i = 0; i < a->mounts.count; i++)
		if (!is_same_mount(&mine[i], &others[i]))
			return false;
	return true;
}

const char *lease_spec_differing(const struct fleet *f, struct arena *a,
                                 const struct lease_spec *kept, const struct lease_spec *given)
{
	const struct lease_spec is = with_defaults(f, kept);
	AUTO(buf_done) struct buf names = BUF(NAMES_BYTES_MAX);

	if (given->present & BIT(SPEC_INTERNET) && is.internet != given->internet)
		add_name(&names, "internet");
	if (given->present & BIT(SPEC_PERSISTENT) && is.persistent != given->persistent)
		add_name(&names, "persistent");
	for (const struct spec_member *m = members; m < members_end(); m++)
		if (is_given(m, &given->make) && !is_same_member(m, &is.make, &given->make))
			add_name(&names, m->name);
	if (given->mounts.present && !has_same_mounts(&is, given))
		add_name(&names, "volumes");
	return names.size > 0 ? arena_copy(a, buf_span(&names)) : NULL;
}
