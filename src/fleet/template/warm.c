/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/template/warm.h"

#include <string.h>

#include "fleet/core/defaults.h"
#include "fleet/core/operation.h"
#include "fleet/template/warm_parts.h"
#include "json/write.h"
#include "provider/compute.h"
#include "store/templates.h"
#include "wire/agent.h"
#include "wire/agent_warm.h"

#define WARM_MAX 4
#define NAME_MAX_BYTES 128
#define JSON_MAX (64 * 1024)

/* Names of modules as import or require takes them. */
struct language {
	const char *name;
	bool (*is_module)(const char *name);
};
static bool is_python_module(const char *name);
static bool is_node_module(const char *name);
static const struct language languages[] = {
        {"python", is_python_module},
        {"javascript", is_node_module},
};

static const struct language *language_find(const char *name)
{
	for (size_t i = 0; name && i < COUNT_OF(languages); i++)
		if (strcmp(languages[i].name, name) == 0)
			return &languages[i];
	return NULL;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* "a.b_1": words that begin with a letter. */
static bool is_python_module(const char *name)
{
	bool begins = true;

	if (strlen(name) > NAME_MAX_BYTES)
		return false;
	for (; *name; name++) {
		if (begins ? !is_letter(*name)
		           : !is_letter(*name) && *name != '.' && !(*name >= '0' && *name <= '9'))
			return false;
		begins = *name == '.';
	}
	return !begins;
}

/* "lodash", "fs/promises", "node:fs", "@scope/name/part.js": packages and what is in them, no paths
 * into the filesystem. */
static bool is_node_module(const char *name)
{
	static const char letters[] =
	        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
	struct span rest, part;
	bool more = true, is_first = true;

	if (strlen(name) > NAME_MAX_BYTES)
		return false;
	if (strncmp(name, "node:", 5) == 0)
		name += 5;
	else if (name[0] == '@' && strchr(name, '/'))
		name++;
	for (rest = span_of(name); more; is_first = false) {
		more = span_split(&rest, '/', &part);
		if (part.size == 0 || part.data[0] == '.' || (is_first && part.data[0] == '-'))
			return false;
		for (size_t i = 0; i < part.size; i++)
			if (!strchr(letters, part.data[i]))
				return false;
	}
	return true;
}

static int check_imports(const struct fleet_warm_one *warm, size_t index, struct error *err)
{
	const struct language *language = language_find(warm->language);
	size_t count = 0;

	if (!language) {
		(void)FAIL(err, ERROR_INVALID, "warm[%zu].language: cannot be kept warm", index);
		return FAIL_HINT(err, "one of: python, javascript");
	}
	for (; warm->imports && warm->imports[count]; count++) {
		if (count == AGENT_WARM_IMPORTS_MAX)
			return FAIL(err, ERROR_LIMIT, "warm[%zu].imports: at most %d", index,
			            AGENT_WARM_IMPORTS_MAX);
		if (!language->is_module(warm->imports[count]))
			return FAIL(err, ERROR_INVALID,
			            "warm[%zu].imports[%zu]: '%.140s' is no name of a module",
			            index, count, warm->imports[count]);
	}
	return 0;
}

int warm_check(const struct fleet *f, const struct fleet_recipe *recipe, struct error *err)
{
	const struct fleet_warm *list = recipe->warm;

	if (!list || list->count == 0)
		return 0;
	if (list->count > WARM_MAX)
		return FAIL(err, ERROR_LIMIT, "warm: at most %d", WARM_MAX);
	for (size_t i = 0; i < list->count; i++) {
		const struct fleet_warm_one *warm = &list->items[i];

		if (check_imports(warm, i, err) < 0)
			return -1;
		for (size_t other = 0; other < i; other++)
			if (strcmp(list->items[other].language, warm->language) == 0)
				return FAIL(err, ERROR_INVALID, "warm: '%s' is there twice",
				            warm->language);
	}
	return provider_require(f->provider, PROVIDER_CAN_ISOLATE, err);
}

const char *warm_to_json(struct arena *a, const struct fleet_warm *warm)
{
	AUTO(buf_done) struct buf text = BUF(JSON_MAX);

	json_begin_list(&text, NULL);
	for (size_t i = 0; i < warm->count; i++) {
		json_begin_object(&text, NULL);
		json_add_text(&text, "language", warm->items[i].language);
		json_add_texts(&text, "imports", warm->items[i].imports);
		json_end_object(&text);
	}
	json_end_list(&text);
	return arena_copy(a, buf_span(&text));
}

static bool keeps_any(const struct template_record *t)
{
	return t->warm_json && *t->warm_json && strcmp(t->warm_json, "[]") != 0;
}

const char *warm_name(struct arena *a, const struct template_record *t)
{
	return keeps_any(t) ? arena_format(a, "%s:%lld", t->id, (long long)t->updated_at) : "";
}

static struct agent_warm make_wish(struct arena *a, const struct json_value *item,
                                   const struct fleet_defaults *defaults)
{
	return (struct agent_warm){
	        .language = json_text(json_get(item, "language"), ""),
	        .imports = json_texts(a, json_get(item, "imports")),
	        .env = defaults->env,
	        .user = defaults->user,
	        .cwd = defaults->workdir,
	};
}

int warm_wish(const struct fleet *f, struct arena *a, const struct template_record *t,
              struct span *ret, struct error *err)
{
	const struct sandbox_record nobodys = {
	        .name = "", .env_json = "{}", .labels_json = "{}", .provider = f->primary};
	AUTO(buf_done) struct buf frames = BUF(WARM_MAX * (WIRE_HEAD_SIZE + WIRE_PAYLOAD_MAX));
	struct fleet_defaults defaults;
	const struct json_value *list;
	struct agent_warm wish;

	*ret = (struct span){NULL, 0};
	if (!keeps_any(t))
		return 0;
	if (json_load(a, span_of(t->warm_json), &list, err) < 0 ||
	    defaults_compute(f, a, &nobodys, t, &defaults, err) < 0)
		return -1;
	for (size_t i = 0; i < json_count(list); i++) {
		wish = make_wish(a, json_item_at(list, i), &defaults);
		if (wire_encode(&frames, AGENT_WARM, agent_warm_shape, &wish, err) < 0)
			return -1;
	}
	if (frames.size <= AGENT_WARM_WISH_MAX)
		*ret = (struct span){arena_copy(a, buf_span(&frames)), frames.size};
	return 0;
}

static int send_warm(struct operation *op, const struct json_value *item,
                     const struct fleet_defaults *defaults, struct error *err)
{
	const struct agent_warm warm = make_wish(op->arena, item, defaults);
	struct agent_done done;
	const struct compute_call call = {
	        .type = AGENT_WARM, .shape = agent_warm_shape, .message = &warm, .done = &done};

	return compute_call(op->provider, op->record.id, op->arena, &call,
	                    deadline_after(CALL_TIMEOUT_MS), err);
}

static int send_all_warm(struct operation *op, const struct template_record *t, struct error *err)
{
	struct fleet_defaults defaults;
	const struct json_value *list;

	if (json_load(op->arena, span_of(t->warm_json), &list, err) < 0 ||
	    defaults_compute(op->fleet, op->arena, &op->record, t, &defaults, err) < 0)
		return -1;
	for (size_t i = 0; i < json_count(list); i++)
		if (send_warm(op, json_item_at(list, i), &defaults, err) < 0)
			return -1;
	return 0;
}

void warm_start(struct operation *op, const struct template_record *t)
{
	struct error err = {0};

	/* Most have none, and pay nothing for it. */
	if (!keeps_any(t) || !(op->ops->abilities & PROVIDER_CAN_ISOLATE))
		return;
	if (send_all_warm(op, t, &err) < 0)
		log_warning("a sandbox keeps no warm interpreter", TEXT("sandbox", op->record.id),
		            FAILURE(&err));
}
