/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/core/labels.h"

#include <string.h>

#include "json/json.h"
#include "sandbox/sandbox.h"

#define OWN "atoll."
#define KEY_MAX 128
#define VALUE_MAX 256

static bool is_own(const char *key)
{
	return strncmp(key, OWN, strlen(OWN)) == 0;
}

int labels_check_one(const struct json_pair *label, struct error *err)
{
	size_t key = strlen(label->key), value = strlen(label->value);

	if (key == 0 || key > KEY_MAX || value > VALUE_MAX)
		return FAIL(err, ERROR_INVALID,
		            "a label has a key of 1 to %d and a value of up to %d bytes", KEY_MAX,
		            VALUE_MAX);
	return 0;
}

static int check_label(const struct json_pair *label, struct error *err)
{
	if (labels_check_one(label, err) < 0)
		return -1;
	if (!is_own(label->key))
		return 0;
	(void)FAIL(err, ERROR_INVALID,
	           "label '%.64s': keys that begin with '" OWN "' are the server's own",
	           label->key);
	return FAIL_HINT(err, "give the label another key");
}

int labels_check(const struct json_map *labels, struct error *err)
{
	if (labels->count > SANDBOX_LABELS_MAX)
		return FAIL(err, ERROR_LIMIT, "more than %d labels", SANDBOX_LABELS_MAX);
	for (size_t i = 0; i < labels->count; i++)
		if (check_label(&labels->pairs[i], err) < 0)
			return -1;
	return 0;
}

struct json_map labels_join(struct arena *a, const struct json_map *labels,
                            const struct json_map *own)
{
	struct json_map all = {
	        .pairs = ARENA_ARRAY(a, struct json_pair, labels->count + own->count + 1),
	        .present = true};

	for (size_t i = 0; i < labels->count; i++)
		all.pairs[all.count++] = labels->pairs[i];
	for (size_t i = 0; i < own->count; i++)
		all.pairs[all.count++] = own->pairs[i];
	return all;
}

struct json_map labels_add(struct arena *a, const struct json_map *labels, const char *key,
                           const char *value)
{
	struct json_pair pair = {key, value};

	return labels_join(a, labels, &(struct json_map){.pairs = &pair, .count = 1});
}

void labels_split(struct arena *a, const struct json_map *all, struct json_map *ret_labels,
                  struct json_map *ret_own)
{
	struct json_map labels = {.pairs = ARENA_ARRAY(a, struct json_pair, all->count + 1)};
	struct json_map own = {.pairs = ARENA_ARRAY(a, struct json_pair, all->count + 1)};

	for (size_t i = 0; i < all->count; i++) {
		struct json_map *to = is_own(all->pairs[i].key) ? &own : &labels;

		to->pairs[to->count++] = all->pairs[i];
	}
	labels.present = labels.count > 0;
	own.present = own.count > 0;
	*ret_labels = labels;
	*ret_own = own;
}

static unsigned parse_gpus(const char *text)
{
	struct error ignored = {0};
	int64_t count = 0;

	(void)!span_parse_whole(span_of(text), 0, SANDBOX_GPUS_MAX, &count, &ignored);
	return (unsigned)count;
}

unsigned labels_gpus(const struct json_map *own)
{
	for (size_t i = 0; i < own->count; i++)
		if (strcmp(own->pairs[i].key, SANDBOX_GPUS_LABEL) == 0)
			return parse_gpus(own->pairs[i].value);
	return 0;
}

unsigned labels_gpus_of_row(struct arena *a, const char *labels_json)
{
	const char *text = labels_text_of_row(a, labels_json, SANDBOX_GPUS_LABEL);

	return text ? parse_gpus(text) : 0;
}

bool labels_have(const struct json_map *labels, const char *key)
{
	for (size_t i = 0; i < labels->count; i++)
		if (strcmp(labels->pairs[i].key, key) == 0)
			return true;
	return false;
}

const char *labels_text_of_row(struct arena *a, const char *labels_json, const char *key)
{
	const struct json_value *labels;
	struct error ignored = {0};

	/* Most sandboxes have none: avoid parsing their labels. */
	if (!strstr(labels_json, key) || json_load(a, span_of(labels_json), &labels, &ignored) < 0)
		return NULL;
	return json_get_text(labels, key, NULL);
}

struct json_map labels_of_copy(struct arena *a, const struct json_map *own)
{
	struct json_map kept = {.pairs = ARENA_ARRAY(a, struct json_pair, own->count + 1)};

	for (size_t i = 0; i < own->count; i++)
		if (strcmp(own->pairs[i].key, SANDBOX_CONFIG_LABEL) == 0 ||
		    strcmp(own->pairs[i].key, SANDBOX_GPUS_LABEL) == 0)
			kept.pairs[kept.count++] = own->pairs[i];
	kept.present = kept.count > 0;
	return kept;
}
