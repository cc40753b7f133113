/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id.h"
#include "credential/rule.h"

#define PEM_MAX (64 * 1024)

static const struct json_member credential_shape_members[] = {
        JSON_TEXT_MEMBER(credential_values, name, .flags = JSON_REQUIRED, .min = 1, .max = 128),
        JSON_TEXT_LIST_MEMBER(credential_values, hosts, .flags = JSON_REQUIRED, .max = 64),
        JSON_TEXT_MAP_MEMBER(credential_values, fields, .flags = JSON_REQUIRED | JSON_SECRET,
                             .max = CREDENTIAL_FIELDS_MAX),
        JSON_TIME_MEMBER(credential_values, expires_at, .flags = JSON_OMIT_EMPTY),
};
static JSON_SHAPE(credential_shape, "CredentialValues", credential_values,
                  "A credential with its values");

static const struct json_member credential_set_shape_members[] = {
        JSON_TEXT_MEMBER(credential_set, sandbox, .flags = JSON_REQUIRED, .max = ID_SIZE),
        JSON_LIST_MEMBER(credential_set, rules, &credential_rule_shape, .flags = JSON_REQUIRED,
                         .max = CREDENTIAL_RULES_MAX),
        JSON_LIST_MEMBER(credential_set, credentials, &credential_shape, .flags = JSON_REQUIRED,
                         .max = CREDENTIALS_MAX),
        JSON_TEXT_MEMBER(credential_set, ca_certificate, .flags = JSON_REQUIRED, .max = PEM_MAX),
        JSON_TEXT_MEMBER(credential_set, ca_key, .flags = JSON_REQUIRED | JSON_SECRET,
                         .max = PEM_MAX),
};
JSON_SHAPE_(credential_set_shape, "CredentialSet", credential_set,
            "What the credential proxy needs for a sandbox", .present_offset = SIZE_MAX);

/* A value becomes part of a head: a line end in it would begin another header. */
static bool value_is_sound(const char *value)
{
	size_t size = 0;

	for (; value[size]; size++)
		if ((unsigned char)value[size] < 0x20 || (unsigned char)value[size] > 0x7e)
			return false;
	return size > 0 && size <= CREDENTIAL_VALUE_MAX;
}

static int check_credential(const struct credential_values *c, struct error *err)
{
	if (!c->hosts || !c->hosts[0])
		return FAIL(err, ERROR_INVALID, "credential '%.64s' has no hosts", c->name);
	for (size_t i = 0; i < c->fields.count; i++)
		if (!value_is_sound(c->fields.pairs[i].value))
			return FAIL(err, ERROR_INVALID,
			            "field '%.64s' of credential '%.64s' is empty, too long or has "
			            "bytes other than printable ASCII",
			            c->fields.pairs[i].key, c->name);
	return 0;
}

struct set_check {
	const struct credential_set *set;
	struct error *err;
};

static int check_reference(void *context, const struct credential_reference *r)
{
	const struct set_check *check = context;
	const struct credential_values *c = credential_find(check->set, r->name);

	for (size_t i = 0; c && i < c->fields.count; i++)
		if (span_equals_text(r->field, c->fields.pairs[i].key))
			return 0;
	return FAIL(check->err, ERROR_NOT_FOUND, "no credential '%.*s' with a field '%.*s'",
	            (int)r->name.size, r->name.data, (int)r->field.size, r->field.data);
}

int credential_set_parse(struct arena *a, struct span text, struct credential_set *ret,
                         struct error *err)
{
	struct credential_set set;
	struct credential_rules rules;
	struct set_check check = {&set, err};

	if (text.size > CREDENTIAL_SET_TEXT_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "a set of credentials has more than %d bytes",
		            CREDENTIAL_SET_TEXT_MAX);
	if (json_parse(a, text, &credential_set_shape, &set, err) < 0)
		return -1;
	if (!id_is_valid(set.sandbox))
		return FAIL(err, ERROR_INVALID, "a set of credentials names no sandbox");
	rules.rules = set.rules;
	if (credential_rules_check(a, &rules, NULL, err) < 0)
		return -1;
	set.rules = rules.rules;
	for (size_t i = 0; i < set.credentials.count; i++)
		if (check_credential((const struct credential_values *)set.credentials.items + i,
		                     err) < 0)
			return -1;
	for (size_t i = 0; i < rules.rules.count; i++)
		if (credential_rule_references(credential_rule_at(&rules, i), check_reference,
		                               &check) < 0)
			return -1;
	*ret = set;
	return 0;
}

void credential_set_write(struct buf *out, const struct credential_set *set)
{
	json_write(out, &credential_set_shape, set);
}

const struct credential_values *credential_find(const struct credential_set *set, struct span name)
{
	const struct credential_values *items = set->credentials.items;

	for (size_t i = 0; i < set->credentials.count; i++)
		if (span_equals_text(name, items[i].name))
			return &items[i];
	return NULL;
}
