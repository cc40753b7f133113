/* SPDX-License-Identifier: Apache-2.0 */
#include "http/parser.h"

#include <llhttp.h>

static int on_target(llhttp_t *parser, const char *at, size_t size)
{
	((struct parsed_head *)parser->data)->target = (struct span){at, size};
	return 0;
}

static int on_name(llhttp_t *parser, const char *at, size_t size)
{
	struct parsed_head *head = parser->data;

	head->too_many = head->count == PARSER_FIELDS_MAX;
	if (head->too_many)
		return -1;
	head->fields[head->count].name = (struct span){at, size};
	head->fields[head->count].value = (struct span){at + size + 1, 0};
	head->count++;
	return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t size)
{
	struct parsed_head *head = parser->data;

	if (!head->count)
		return -1;
	if (!size)
		return 0; /* llhttp then points behind the line: on_name's guess is the place */
	head->fields[head->count - 1].value = (struct span){at, size};
	return 0;
}

static int on_head_end(llhttp_t *parser)
{
	struct parsed_head *head = parser->data;
	bool close = parser->flags & F_CONNECTION_CLOSE;

	head->status = parser->status_code;
	head->is_http10 = parser->http_minor == 0;
	head->keep_alive =
	        !close && (!head->is_http10 || (parser->flags & F_CONNECTION_KEEP_ALIVE));
	head->upgrade = (parser->flags & F_CONNECTION_UPGRADE) && (parser->flags & F_UPGRADE);
	return 0;
}

int parser_run(enum parser_kind kind, struct span text, struct parsed_head *ret)
{
	static const llhttp_settings_t settings = {.on_url = on_target,
	                                           .on_header_field = on_name,
	                                           .on_header_value = on_value,
	                                           .on_headers_complete = on_head_end};
	llhttp_t parser;
	llhttp_errno_t result;

	ret->count = 0;
	ret->too_many = false;
	ret->target = (struct span){NULL, 0};
	/* llhttp takes the table without const, but only reads it. */
	llhttp_init(&parser, kind == PARSER_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE,
	            (llhttp_settings_t *)(uintptr_t)&settings);
	parser.data = ret;
	result = llhttp_execute(&parser, text.data, text.size);
	if (result != HPE_OK && result != HPE_PAUSED_UPGRADE)
		return -1;
	return kind == PARSER_ANSWER || ret->target.size ? 0 : -1;
}
