/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "credential/rule.h"

#define OPEN "${credential."
#define WORD_MAX 160      /* "secret_" and a name of the vault */
#define REFERENCES_MAX 32 /* of one template */

static bool is_word(struct span word)
{
	if (word.size == 0 || word.size > WORD_MAX)
		return false;
	for (size_t i = 0; i < word.size; i++) {
		unsigned char c = (unsigned char)word.data[i];

		if (c >= 0x80 || (!isalnum(c) && c != '_' && c != '-'))
			return false;
	}
	return true;
}

/* Moves past text and, if there is one, the reference that follows it. Returns 1 with a reference,
 * 0 at the end of the template, -1 if it is malformed. */
static int next_reference(struct span *rest, struct span *ret_text,
                          struct credential_reference *ret)
{
	const char *open;
	struct span inside;
	ptrdiff_t end;

	*ret_text = *rest;
	if (rest->size == 0)
		return 0;
	open = memmem(rest->data, rest->size, "${", 2);
	*ret_text = (struct span){rest->data, open ? (size_t)(open - rest->data) : rest->size};
	span_skip(rest, ret_text->size);
	if (!open)
		return 0;
	end = span_find(*rest, '}');
	if (end < 0 || !span_starts_with(*rest, OPEN))
		return -1;
	inside = (struct span){rest->data + strlen(OPEN), (size_t)end - strlen(OPEN)};
	span_skip(rest, (size_t)end + 1);
	if (!span_split(&inside, '.', &ret->name))
		return -1;
	ret->field = inside;
	return is_word(ret->name) && is_word(ret->field) ? 1 : -1;
}

int credential_references(const char *template, struct credential_reference *ret, unsigned size)
{
	struct span rest = span_of(template), text;
	struct credential_reference found;
	unsigned count = 0;
	int got;

	while ((got = next_reference(&rest, &text, &found)) > 0) {
		if (count < size)
			ret[count] = found;
		if (++count > REFERENCES_MAX)
			return -1;
	}
	return got < 0 ? -1 : (int)count;
}

int credential_rule_references(const struct credential_rule *rule,
                               int (*on_reference)(void *context,
                                                   const struct credential_reference *reference),
                               void *context)
{
	const struct credential_inject *items = rule->inject.items;

	for (size_t i = 0; i < rule->inject.count; i++) {
		const char *const templates[] = {
		        items[i].value,         items[i].username,          items[i].password,
		        items[i].access_key_id, items[i].secret_access_key, items[i].session_token};

		for (size_t j = 0; j < COUNT_OF(templates); j++) {
			struct credential_reference found[REFERENCES_MAX];
			int count = credential_references(templates[j], found, REFERENCES_MAX);

			for (int k = 0; k < count; k++) {
				int result = on_reference(context, &found[k]);

				if (result != 0)
					return result;
			}
		}
	}
	return 0;
}

static const char *find_field(const struct credential_values *c, struct span name)
{
	for (size_t i = 0; c && i < c->fields.count; i++)
		if (span_equals_text(name, c->fields.pairs[i].key))
			return c->fields.pairs[i].value;
	return NULL;
}

int credential_fill(struct buf *out, const struct credential_set *set, const char *template,
                    struct error *err)
{
	struct span rest = span_of(template), text;
	struct credential_reference r;
	int got;

	while ((got = next_reference(&rest, &text, &r)) > 0) {
		const char *value = find_field(credential_find(set, r.name), r.field);

		if (!value)
			return FAIL(err, ERROR_NOT_FOUND,
			            "no credential '%.*s' with a field '%.*s'", (int)r.name.size,
			            r.name.data, (int)r.field.size, r.field.data);
		buf_add_span(out, text);
		buf_add_text(out, value);
	}
	if (got < 0)
		return FAIL(err, ERROR_INVALID, "a template of a credential is malformed");
	buf_add_span(out, text);
	return 0;
}
