/* SPDX-License-Identifier: Apache-2.0 */
#include "connect/preset.h"

#include <string.h>

#include "credential/rule.h"
#include "sandbox/credential.h"

#define IT "${credential.it."
#define SOURCE "preset:"
#define NAME_IN_ID_MAX 40
#define TEXT_MAX ((size_t)64 * 1024)

static const struct json_member preset_field_shape_members[] = {
        JSON_TEXT_MEMBER(preset_field, name),
        JSON_TEXT_MEMBER(preset_field, label),
        JSON_BOOL_MEMBER(preset_field, secret, .about = "false: it may be shown"),
};
static JSON_SHAPE(preset_field_shape, "CredentialPresetField", preset_field, "A field to ask for");
static const struct json_member preset_marker_shape_members[] = {
        JSON_TEXT_MEMBER(preset_marker, env),
        JSON_TEXT_MEMBER(preset_marker, value),
};
static JSON_SHAPE(preset_marker_shape, "CredentialPresetMarker", preset_marker,
                  "A variable without worth that lets programs inside start");
static const struct json_member connect_preset_shape_members[] = {
        JSON_TEXT_MEMBER(connect_preset, name),
        JSON_WHOLE_MEMBER(connect_preset, version),
        JSON_TEXT_MEMBER(connect_preset, about),
        JSON_TEXT_MEMBER(connect_preset, kind, .about = "of the credential"),
        JSON_TEXT_LIST_MEMBER(connect_preset, hosts),
        JSON_LIST_MEMBER(connect_preset, fields, &preset_field_shape),
        JSON_LIST_MEMBER(connect_preset, markers, &preset_marker_shape, .flags = JSON_OMIT_EMPTY),
        JSON_LIST_MEMBER(connect_preset, rules, &credential_rule_shape,
                         .about = "a credential of this preset is named \"it\" here"),
        JSON_OBJECT_MEMBER(connect_preset, oauth, &connect_service_shape, .flags = JSON_OMIT_EMPTY),
};
JSON_SHAPE(connect_preset_shape, "CredentialPreset", connect_preset,
           "A service whose hosts and OAuth server are known");

int connect_presets(struct arena *a, struct json_list *ret, struct error *err)
{
	struct connect_preset *items;
	size_t count = 0;

	while (connect_preset_texts[count])
		count++;
	items = ARENA_ARRAY(a, struct connect_preset, count + 1);
	for (size_t i = 0; i < count; i++)
		if (json_parse(a, span_of(connect_preset_texts[i]), &connect_preset_shape,
		               &items[i], err) < 0)
			return FAIL_CONTEXT(err, "preset %zu", i);
	*ret = (struct json_list){items, count, true};
	return 0;
}

int connect_preset_find(struct arena *a, const char *name, struct connect_preset *ret,
                        struct error *err)
{
	AUTO(buf_done) struct buf known = BUF(512);
	const struct connect_preset *items;
	struct json_list all;

	if (connect_presets(a, &all, err) < 0)
		return -1;
	items = all.items;
	for (size_t i = 0; i < all.count; i++) {
		if (strcmp(items[i].name, name) == 0) {
			*ret = items[i];
			return 0;
		}
		buf_addf(&known, "%s%s", i > 0 ? ", " : "", items[i].name);
	}
	(void)FAIL(err, ERROR_INVALID, "unknown preset '%.64s'", name);
	return FAIL_HINT(err, "known presets: %s", buf_text(&known));
}

/* The file with another name for its credential. */
static const char *name_credential(struct arena *a, const char *text, const char *name)
{
	AUTO(buf_done) struct buf out = BUF(TEXT_MAX);
	const char *found;

	while ((found = strstr(text, IT))) {
		buf_add(&out, text, (size_t)(found - text));
		buf_addf(&out, "${credential.%s.", name);
		text = found + strlen(IT);
	}
	buf_add_text(&out, text);
	return out.overflowed ? text : arena_copy(a, buf_span(&out));
}

int connect_preset_rules(struct arena *a, const struct preset_use *use, struct connect_preset *ret,
                         struct error *err)
{
	struct credential_rule *rules;
	size_t number = 0, kept = 0;
	struct connect_preset found;
	struct json_list all;

	if (connect_preset_find(a, use->preset, &found, err) < 0 ||
	    connect_presets(a, &all, err) < 0)
		return -1;
	while (strcmp(((const struct connect_preset *)all.items)[number].name, found.name) != 0)
		number++;
	if (json_parse(a,
	               span_of(name_credential(a, connect_preset_texts[number], use->credential)),
	               &connect_preset_shape, &found, err) < 0)
		return FAIL_CONTEXT(err, "preset '%s'", use->preset);
	rules = (struct credential_rule *)found.rules.items;
	for (size_t i = 0; i < found.rules.count; i++) {
		if (!credential_hosts_cover(use->hosts, span_of(rules[i].host)))
			continue;
		rules[i].id =
		        arena_format(a, "%.*s-%s", NAME_IN_ID_MAX, use->credential, rules[i].id);
		rules[i].source = arena_format(a, SOURCE "%s", found.name);
		rules[kept++] = rules[i];
	}
	found.rules.count = kept;
	*ret = found;
	return kept > 0 ? 0
	                : FAIL(err, ERROR_INVALID,
	                       "the credential '%s' has no host of its preset '%s'",
	                       use->credential, use->preset);
}
