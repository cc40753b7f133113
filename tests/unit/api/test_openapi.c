/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "account/account.h"
#include "api/api.h"
#include "base/fd.h"
#include "http/server/failure.h"
#include "http/server/http.h"
#include "json/json.h"
#include "json/tree.h"
#include "unit.h"

#define DOCUMENT_MAX (8 * 1024 * 1024)

/* The file lies beside this one's tree, wherever the test is started. */
static void read_committed(struct buf *out)
{
	char path[4096];
	const char *slash = strrchr(__FILE__, '/');
	struct error err;

	(void)snprintf(path, sizeof(path), "%.*s/../../../docs/api/openapi.json",
	               (int)(slash - __FILE__), __FILE__);
	if (file_read(AT_FDCWD, path, out, &err) < 0)
		fail_msg("%s", err.text);
}

TEST(the_reference_in_docs_is_the_one_that_the_routes_give)
{
	AUTO(buf_done) struct buf made = BUF(DOCUMENT_MAX), committed = BUF(DOCUMENT_MAX);

	api_write_openapi(&made);
	buf_add_byte(&made, '\n');
	assert_false(made.overflowed);
	read_committed(&committed);
	if (!span_equals(buf_span(&made), buf_span(&committed)))
		fail_msg(
		        "docs/api/openapi.json is stale: atolld --openapi > docs/api/openapi.json");
}

TEST(every_path_of_every_route_is_in_the_document)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	AUTO(buf_done) struct buf text = BUF(DOCUMENT_MAX);
	const struct json_value *document, *paths;
	size_t operations = 0, rows = 0;
	struct error err;

	api_write_openapi(&text);
	assert_int_equal(json_load(&a, buf_span(&text), &document, &err), 0);
	assert_string_equal(json_text(json_get(document, "openapi"), ""), "3.1.0");
	paths = json_get(document, "paths");
	for (size_t i = 0; i < json_count(paths); i++) {
		const char *key;

		operations += json_count(json_member_at(paths, i, &key));
		assert_null(strpbrk(key, ":*"));
	}
	for (const struct route *const *table = api_routes; *table; table++) {
		for (const struct route *r = *table; r->path; r++)
			rows += !(r->flags & ROUTE_HIDDEN);
	}
	assert_int_equal(operations, rows);
}

static void check_references(const struct json_value *v, const struct json_value *schemas)
{
	const char *reference = json_text(json_get(v, "$ref"), NULL), *key;

	if (reference) {
		assert_int_equal(strncmp(reference, "#/components/schemas/", 21), 0);
		assert_non_null(json_get(schemas, reference + 21));
	}
	for (size_t i = 0; i < json_count(v); i++) {
		const struct json_value *member = json_member_at(v, i, &key);

		check_references(member ? member : json_item_at(v, i), schemas);
	}
}

TEST(every_reference_in_the_document_leads_somewhere)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	AUTO(buf_done) struct buf text = BUF(DOCUMENT_MAX);
	const struct json_value *document;
	struct error err;

	api_write_openapi(&text);
	assert_int_equal(json_load(&a, buf_span(&text), &document, &err), 0);
	check_references(document, json_get(json_get(document, "components"), "schemas"));
}

/* Each caller may ask who it is, change its own password and sessions, and see its organizations:
 * a user in no project has no scope (test_sign_in.py). */
static bool is_of_oneself(const char *path)
{
	return strcmp(path, "/accounts/me") == 0 || strncmp(path, "/v1/sessions", 12) == 0 ||
	       strncmp(path, "/v1/users/:user", 15) == 0 ||
	       strncmp(path, "/v1/organizations", 17) == 0 ||
	       strncmp(path, "/v1/audit", 9) == 0; /* see audit.c */
}

TEST(every_route_has_a_summary_a_tag_and_a_scope)
{
	for (const struct route *const *table = api_routes; *table; table++) {
		for (const struct route *r = *table; r->path; r++) {
			assert_non_null(r->summary);
			assert_non_null(r->tag);
			assert_non_null(r->handle);
			assert_true(r->flags & ROUTE_PUBLIC || r->scope != SCOPE_NONE ||
			            is_of_oneself(r->path));
		}
	}
}

int main(void)
{
	return RUN(CASE(the_reference_in_docs_is_the_one_that_the_routes_give),
	           CASE(every_path_of_every_route_is_in_the_document),
	           CASE(every_reference_in_the_document_leads_somewhere),
	           CASE(every_route_has_a_summary_a_tag_and_a_scope));
}
