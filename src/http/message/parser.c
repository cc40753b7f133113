/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message/parser.h"

#include <llhttp.h>

static int on_target(llhttp_t *parser, const char *at, size_t size)
{
	((struct parsed_head *)parser->data)->target = (struct span){at, size};
	return 0;
}

static int on_name(llhttp_t *parser, const char *at, size_t size)
{
	struct parsed_head *head = parser->data;

	if (head->count == PARSER_FIELDS_MAX)
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

static enum http_fault fault_of(llhttp_errno_t result)
{
	static const struct {
		llhttp_errno_t result;
		enum http_fault fault;
	} rows[] = {
	        {HPE_USER, FAULT_HEADER_COUNT},
	        {HPE_INVALID_METHOD, FAULT_REQUEST_LINE},
	        {HPE_INVALID_URL, FAULT_TARGET},
	        {HPE_UNEXPECTED_CONTENT_LENGTH, FAULT_LENGTH},
	        {HPE_INVALID_CONTENT_LENGTH, FAULT_LENGTH},
	        {HPE_INVALID_TRANSFER_ENCODING, FAULT_LENGTH},
	};

	if (result == HPE_OK || result == HPE_PAUSED_UPGRADE)
		return FAULT_NONE;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (rows[i].result == result)
			return rows[i].fault;
	return FAULT_HEADER;
}

enum http_fault parser_run(enum parser_kind kind, struct span text, struct parsed_head *ret)
{
	static const llhttp_settings_t settings = {.on_url = on_target,
	                                           .on_header_field = on_name,
	                                           .on_header_value = on_value,
	                                           .on_headers_complete = on_head_end};
	enum http_fault fault;
	llhttp_t parser;

	ret->count = 0;
	ret->target = (struct span){NULL, 0};
	/* llhttp takes the table without const, but only reads it. */
	llhttp_init(&parser, kind == PARSER_REQUEST ? HTTP_REQUEST : HTTP_RESPONSE,
	            (llhttp_settings_t *)(uintptr_t)&settings);
	parser.data = ret;
	fault = fault_of(llhttp_execute(&parser, text.data, text.size));
	if (fault)
		return fault;
	return kind == PARSER_ANSWER || ret->target.size ? FAULT_NONE : FAULT_REQUEST_LINE;
}
