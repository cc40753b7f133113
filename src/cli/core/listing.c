/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/core/server.h"
#include "cli/core/table.h"
#include "cli/core/text_out.h"

#define COLUMNS_MAX 16
#define JSON_SIZE_MAX (256 * 1024 * 1024)

const char *listing_texts(struct arena *a, const struct json_value *value)
{
	const char *text = "";

	for (size_t i = 0; i < json_count(value); i++)
		text = arena_format(a, "%s%s%s", text, i > 0 ? "," : "",
		                    json_text(json_item_at(value, i), ""));
	return text;
}

const char *listing_yes(UNUSED struct arena *a, const struct json_value *value)
{
	return json_bool(value, false) ? "yes" : NULL;
}

const char *listing_usd(struct arena *a, const struct json_value *value)
{
	return arena_format(a, "%.6f", json_number(value, 0));
}

const char *listing_bytes(struct arena *a, const struct json_value *value)
{
	double bytes = json_number(value, 0);

	return bytes > 0 ? text_out_bytes(a, bytes) : NULL;
}

static const char *plain_cell(struct arena *a, const struct json_value *value)
{
	const char *text = json_text(value, NULL);
	int64_t least = json_whole(value, INT64_MIN);

	if (text || least == INT64_MIN)
		return text;
	return arena_format(a, "%" PRId64, least);
}

static void begin_table(struct text_table *t, struct arena *a, const struct listing_column *columns)
{
	const char *head[COLUMNS_MAX + 1] = {NULL};

	for (unsigned i = 0; i < COLUMNS_MAX && columns[i].head; i++)
		head[i] = columns[i].head;
	table_init(t, a, head);
}

static void add_rows(struct text_table *t, const struct json_value *items,
                     const struct listing_column *columns)
{
	for (size_t i = 0; i < json_count(items); i++) {
		const struct json_value *item = json_item_at(items, i);

		for (const struct listing_column *c = columns; c->head; c++) {
			const struct json_value *value =
			        c->member ? json_get(item, c->member) : item;

			table_add(t,
			          c->cell ? c->cell(t->arena, value) : plain_cell(t->arena, value));
		}
	}
}

void listing_print(struct cli *cli, const struct json_value *items,
                   const struct listing_column *columns)
{
	struct text_table table;

	begin_table(&table, cli->arena, columns);
	add_rows(&table, items, columns);
	table_print(&table, stdout, &cli->display);
}

static void add_json(struct buf *json, const struct json_value *items)
{
	for (size_t i = 0; i < json_count(items); i++) {
		buf_add_text(json, json->size > 0 ? ",\n" : "[\n");
		json_print(json, json_item_at(items, i), 2);
	}
}

static int print_array(struct cli *cli, const struct buf *json)
{
	if (json->overflowed)
		return FAIL(cli->err, ERROR_TOO_LARGE, "the list is longer than %d MiB",
		            JSON_SIZE_MAX / 1024 / 1024);
	(void)printf(json->size > 0 ? "%s\n]\n" : "[]\n", json->size > 0 ? buf_text(json) : "");
	return 0;
}

/* NULL after the last page. */
static const char *next_path(struct cli *cli, const char *path, const struct json_value *answer)
{
	const char *page = json_get_text(answer, "next_page", NULL);

	if (!page || !page[0])
		return NULL;
	return escaped_path(
	        cli->arena,
	        arena_format(cli->arena, "%s%cpage=", path, strchr(path, '?') ? '&' : '?'), page,
	        "");
}

int listing_run(struct cli *cli, const char *path, const struct listing_column *columns)
{
	AUTO(buf_done) struct buf json = BUF(JSON_SIZE_MAX);
	const struct json_value *answer;
	struct text_table table;

	if (cli_connect(cli) < 0)
		return -1;
	begin_table(&table, cli->arena, columns);
	for (const char *next = path; next; next = next_path(cli, path, answer)) {
		if (server_get(cli, next, &answer) < 0)
			return -1;
		if (cli->json)
			add_json(&json, answer_items(answer));
		else
			add_rows(&table, answer_items(answer), columns);
	}
	if (cli->json)
		return print_array(cli, &json);
	table_print(&table, stdout, &cli->display);
	return 0;
}
