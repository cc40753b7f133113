/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message/head.h"

#include <strings.h>

#include "http/message/parser.h"

static const struct span known_names[HEAD_KNOWN_COUNT] = {
        [HEAD_HOST] = SPAN("host"),
        [HEAD_CONTENT_LENGTH] = SPAN("content-length"),
        [HEAD_TRANSFER_ENCODING] = SPAN("transfer-encoding"),
        [HEAD_CONTENT_TYPE] = SPAN("content-type"),
        [HEAD_EXPECT] = SPAN("expect"),
        [HEAD_UPGRADE] = SPAN("upgrade"),
        [HEAD_REQUEST_ID] = SPAN("x-request-id"),
        [HEAD_AUTHORIZATION] = SPAN("authorization"),
        [HEAD_WEBSOCKET_KEY] = SPAN("sec-websocket-key"),
        [HEAD_WEBSOCKET_VERSION] = SPAN("sec-websocket-version"),
};

enum http_fault head_find_end(struct span data, size_t *scanned, size_t *ret_size)
{
	const char *at, *end, *line;

	if (data.size == 0) /* and no address */
		return FAULT_NONE;
	at = data.data + *scanned;
	end = data.data + data.size;
	while (at < end && (line = memchr(at, '\n', (size_t)(end - at)))) {
		if (line == data.data || line[-1] != '\r')
			return FAULT_LINE_END;
		if (line - data.data == 1)
			return FAULT_REQUEST_LINE;
		if (line[-2] == '\n') {
			*ret_size = (size_t)(line + 1 - data.data);
			return FAULT_NONE;
		}
		at = line + 1;
	}
	*scanned = data.size;
	return FAULT_NONE;
}

static bool is_token_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* METHOD SP TARGET SP HTTP/1.x with exactly these blanks; `line` ends before CR LF. */
static enum http_fault check_request_line(struct span line)
{
	struct span rest = line, method, target;

	if (!span_split(&rest, ' ', &method) || !span_split(&rest, ' ', &target))
		return FAULT_REQUEST_LINE;
	if (!method.size || !target.size || span_find(rest, ' ') >= 0)
		return FAULT_REQUEST_LINE;
	for (size_t i = 0; i < method.size; i++)
		if (!is_token_byte((unsigned char)method.data[i]))
			return FAULT_REQUEST_LINE;
	if (target.size > HEAD_TARGET_MAX)
		return FAULT_TARGET_SIZE;
	for (size_t i = 0; i < target.size; i++)
		if (target.data[i] <= 0x20 || target.data[i] >= 0x7f || target.data[i] == '#')
			return FAULT_TARGET;
	if (rest.size != 8 || !span_starts_with(rest, "HTTP/"))
		return FAULT_REQUEST_LINE;
	if (!span_equals_text(rest, "HTTP/1.1") && !span_equals_text(rest, "HTTP/1.0"))
		return FAULT_VERSION;
	return FAULT_NONE;
}

/* HTTP/1.x SP 3DIGIT, then nothing or SP and a reason without control bytes. */
static enum http_fault check_status_line(struct span line)
{
	if (!span_starts_with(line, "HTTP/1.1 ") && !span_starts_with(line, "HTTP/1.0 "))
		return FAULT_VERSION;
	if (line.size < 12 || (line.size > 12 && line.data[12] != ' '))
		return FAULT_STATUS_LINE;
	for (size_t i = 9; i < 12; i++)
		if (line.data[i] < '0' || line.data[i] > '9')
			return FAULT_STATUS_LINE;
	if (line.data[9] < '1' || line.data[9] > '5')
		return FAULT_STATUS_LINE;
	for (size_t i = 12; i < line.size; i++)
		if (((unsigned char)line.data[i] < 0x20 && line.data[i] != '\t') ||
		    line.data[i] == 0x7f)
			return FAULT_STATUS_LINE;
	return FAULT_NONE;
}

/* A name of token bytes right up to the colon, so neither a folded line nor a blank before the
 * colon passes; then no control byte but the tab. */
static enum http_fault check_header_line(struct span line)
{
	ptrdiff_t colon = span_find(line, ':');

	if (colon <= 0)
		return FAULT_HEADER;
	for (ptrdiff_t i = 0; i < colon; i++)
		if (!is_token_byte((unsigned char)line.data[i]))
			return FAULT_HEADER;
	for (size_t i = (size_t)colon; i < line.size; i++) {
		unsigned char c = (unsigned char)line.data[i];

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return FAULT_HEADER;
	}
	return FAULT_NONE;
}

/* head_find_end has seen that every LF follows a CR; a CR elsewhere is a control byte here. */
static enum http_fault check_lines(struct span text,
                                   enum http_fault (*check_first)(struct span line))
{
	struct span line;
	enum http_fault fault;

	(void)span_split(&text, '\n', &line);
	fault = check_first((struct span){line.data, line.size - 1});
	while (!fault && span_split(&text, '\n', &line) && line.size > 1)
		fault = check_header_line((struct span){line.data, line.size - 1});
	return fault;
}

static enum http_fault note_known(struct http_head *head, struct span name, const char *value)
{
	for (unsigned i = 0; i < HEAD_KNOWN_COUNT; i++) {
		if (!span_is_same_word(name, known_names[i]))
			continue;
		if (head->known[i])
			return FAULT_HEADER_DOUBLED;
		head->known[i] = value;
		return FAULT_NONE;
	}
	return FAULT_NONE;
}

/* Every name is followed by a colon and every value by a blank or CR, which make room for NUL. */
static enum http_fault take_fields(struct http_head *head, const struct parsed_head *parsed,
                                   char *text)
{
	for (unsigned i = 0; i < parsed->count; i++) {
		struct span name = parsed->fields[i].name, value = parsed->fields[i].value;
		enum http_fault fault;

		value = span_trim(value);
		text[name.data + name.size - text] = '\0';
		text[value.data + value.size - text] = '\0';
		head->fields[i] = (struct head_field){name.data, value.data};
		fault = note_known(head, name, value.data);
		if (fault)
			return fault;
	}
	head->field_count = parsed->count;
	return FAULT_NONE;
}

/* How long the body is: one answer, or none at all. */
static enum http_fault check_body(struct http_head *head)
{
	const char *length = head->known[HEAD_CONTENT_LENGTH];
	const char *coding = head->known[HEAD_TRANSFER_ENCODING];
	struct error ignored;

	head->content_length = -1;
	if (length && coding)
		return FAULT_LENGTH;
	if (length && span_parse_whole(span_of(length), 0, INT64_MAX / 2, &head->content_length,
	                               &ignored) < 0)
		return FAULT_LENGTH;
	if (coding && (head->is_http10 || strcasecmp(coding, "chunked") != 0))
		return FAULT_CODING;
	head->chunked = coding != NULL;
	return FAULT_NONE;
}

/* A name, an IPv4 or a bracketed IPv6 address, and perhaps a port. */
static bool host_is_valid(struct span host)
{
	const char *name_bytes = "-._~%!$&'()*+,;=", *bracket_bytes = ".:";
	bool bracketed = host.size && host.data[0] == '[';
	size_t i = bracketed ? 1 : 0;

	for (; i < host.size; i++) {
		char c = host.data[i];
		bool is_word =
		        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

		if (!is_word && !strchr(bracketed ? bracket_bytes : name_bytes, c))
			break;
	}
	if (bracketed && (i < 3 || i >= host.size || host.data[i++] != ']'))
		return false;
	if (i == host.size)
		return i > 0;
	if (i == 0 || host.data[i++] != ':')
		return false;
	for (size_t digits = 0; i < host.size; i++, digits++)
		if (host.data[i] < '0' || host.data[i] > '9' || digits == 5)
			return false;
	return true;
}

/* "http://host/path" must name the host that Host names; what is left of it is the path. */
static enum http_fault check_target(struct http_head *head)
{
	struct span target = head->target, authority;
	size_t scheme = span_starts_with(target, "http://")    ? 7
	                : span_starts_with(target, "https://") ? 8
	                                                       : 0;
	const char *host = head->known[HEAD_HOST];

	if (target.data[0] == '/')
		return FAULT_NONE;
	if (!scheme)
		return span_equals_text(target, "*") && strcmp(head->method, "OPTIONS") == 0
		               ? FAULT_NONE
		               : FAULT_TARGET;
	span_skip(&target, scheme);
	if (span_find(target, '/') < 0)
		return FAULT_TARGET;
	authority = (struct span){target.data, (size_t)span_find(target, '/')};
	if (!host || !span_is_word(authority, host))
		return FAULT_HOST;
	head->target = (struct span){target.data + authority.size, target.size - authority.size};
	return FAULT_NONE;
}

static enum http_fault check_rules(struct http_head *head)
{
	const char *host = head->known[HEAD_HOST], *expect = head->known[HEAD_EXPECT];
	enum http_fault fault = check_body(head);

	if (fault)
		return fault;
	if (host ? !host_is_valid(span_of(host)) : !head->is_http10)
		return FAULT_HOST;
	if (expect && strcasecmp(expect, "100-continue") != 0)
		return FAULT_EXPECT;
	head->expects_continue = expect && !head->is_http10;
	return check_target(head);
}

/* What requests and answers have in common. */
static enum http_fault parse_head(enum parser_kind kind, char *text, size_t size,
                                  struct http_head *ret)
{
	struct parsed_head parsed;
	enum http_fault fault =
	        check_lines((struct span){text, size},
	                    kind == PARSER_REQUEST ? check_request_line : check_status_line);

	memset(ret, 0, offsetof(struct http_head, fields));
	ret->field_count = 0;
	if (!fault)
		fault = parser_run(kind, (struct span){text, size}, &parsed);
	if (fault)
		return fault;
	ret->target = parsed.target;
	ret->status = parsed.status;
	ret->is_http10 = parsed.is_http10;
	ret->keep_alive = parsed.keep_alive;
	ret->upgrade = parsed.upgrade;
	return take_fields(ret, &parsed, text);
}

enum http_fault head_parse(char *text, size_t size, struct http_head *ret)
{
	char *method_end = memchr(text, ' ', size);
	enum http_fault fault = parse_head(PARSER_REQUEST, text, size, ret);

	if (fault)
		return fault;
	*method_end = '\0';
	ret->method = text;
	return check_rules(ret);
}

enum http_fault head_parse_answer(char *text, size_t size, struct http_head *ret)
{
	enum http_fault fault = parse_head(PARSER_ANSWER, text, size, ret);

	return fault ? fault : check_body(ret);
}

bool head_name_is_of(const char *name, const char *const *names)
{
	for (; names && *names; names++)
		if (strcasecmp(*names, name) == 0)
			return true;
	return false;
}

const char *head_find(const struct http_head *head, const char *name)
{
	for (unsigned i = 0; i < head->field_count; i++)
		if (strcasecmp(head->fields[i].name, name) == 0)
			return head->fields[i].value;
	return NULL;
}

enum http_fault head_check_size(struct span data, size_t size, size_t size_max)
{
	if (size ? size > size_max : data.size >= size_max)
		return FAULT_HEAD_SIZE;
	if (!size && data.size > HEAD_TARGET_MAX + 64 && span_find(data, '\n') < 0)
		return FAULT_TARGET_SIZE;
	return FAULT_NONE;
}
