/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of a Dockerfile: joins continued lines, leaves out comments, collects
 * here-documents. */
#include <ctype.h>
#include <string.h>

#include "dockerfile/translation.h"

#define DOCUMENTS_MAX 32
#define INSTRUCTIONS_MAX 2000

struct line_reader {
	struct arena *arena;
	struct span rest;
	unsigned number; /* of the last line that was taken */
	bool more;
};

static bool take_line(struct line_reader *r, struct span *ret)
{
	if (!r->more)
		return false;
	r->more = span_split(&r->rest, '\n', ret);
	r->number++;
	if (ret->size > 0 && ret->data[ret->size - 1] == '\r')
		ret->size--;
	return true;
}

static struct span trim_end(struct span line)
{
	while (line.size > 0 && isspace((unsigned char)line.data[line.size - 1]))
		line.size--;
	return line;
}

static struct span trim_start(struct span line)
{
	while (line.size > 0 && isspace((unsigned char)line.data[0]))
		span_skip(&line, 1);
	return line;
}

/* The next word with its quotes and backslashes; false: there is none. */
static bool take_raw_word(const char **text, struct span *ret)
{
	const char *c = docker_skip_blanks(*text);
	char quote = '\0';

	*ret = (struct span){c, 0};
	for (; *c && (quote || !isspace((unsigned char)*c)); c++) {
		if (*c == '\\' && quote != '\'' && c[1])
			c++;
		else if (*c == quote)
			quote = '\0';
		else if (!quote && (*c == '\'' || *c == '"'))
			quote = *c;
	}
	ret->size = (size_t)(c - ret->data);
	*text = c;
	return ret->size > 0;
}

struct document_head {
	struct span name;
	bool expands, strips_tabs;
};

/* Whether the word is <<NAME, <<-NAME, <<"NAME" or 3<<NAME. */
static bool parse_head(struct span word, struct document_head *ret)
{
	while (word.size > 0 && isdigit((unsigned char)word.data[0]))
		span_skip(&word, 1);
	if (!span_starts_with(word, "<<"))
		return false;
	span_skip(&word, 2);
	*ret = (struct document_head){.expands = true};
	ret->strips_tabs = span_starts_with(word, "-");
	span_skip(&word, ret->strips_tabs);
	if (word.size > 2 && (word.data[0] == '"' || word.data[0] == '\'') &&
	    word.data[word.size - 1] == word.data[0]) {
		ret->expands = false;
		word = (struct span){word.data + 1, word.size - 2};
	}
	ret->name = word;
	return word.size > 0 && !memchr(word.data, '<', word.size);
}

static int read_document(struct line_reader *r, const struct document_head *head,
                         struct docker_document *ret, struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(DOCKER_BODY_MAX);
	struct span line;

	while (take_line(r, &line)) {
		while (head->strips_tabs && line.size > 0 && line.data[0] == '\t')
			span_skip(&line, 1);
		if (span_equals(line, head->name)) {
			*ret = (struct docker_document){
			        .name = arena_copy(r->arena, head->name),
			        .text = arena_copy(r->arena, buf_span(&text)),
			        .expands = head->expands};
			return 0;
		}
		buf_add_span(&text, line);
		buf_add_byte(&text, '\n');
	}
	return FAIL(err, ERROR_INVALID, "the here-document '%.*s' has no end",
	            head->name.size < 60 ? (int)head->name.size : 60, head->name.data);
}

static bool takes_documents(const char *text)
{
	static const char *const names[] = {"RUN", "COPY", "ADD"};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (span_is_word((struct span){text, strcspn(text, " \t")}, names[i]))
			return true;
	return false;
}

static int read_documents(struct line_reader *r, struct docker_instruction *ret, struct error *err)
{
	const char *text = ret->text;
	struct document_head head;
	struct span word;

	while (takes_documents(ret->text) && take_raw_word(&text, &word)) {
		if (!parse_head(word, &head))
			continue;
		if (ret->document_count == DOCUMENTS_MAX)
			return FAIL(err, ERROR_INVALID, "more than %d here-documents",
			            DOCUMENTS_MAX);
		if (!ret->documents)
			ret->documents =
			        ARENA_ARRAY(r->arena, struct docker_document, DOCUMENTS_MAX);
		if (read_document(r, &head, &ret->documents[ret->document_count++], err) < 0)
			return -1;
	}
	return 0;
}

/* A line that ends with a backslash continues on the next line that is neither empty nor a
 * comment. 1: an instruction; 0: the end. */
static int read_instruction(struct line_reader *r, struct docker_instruction *ret,
                            struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(DOCKER_BODY_MAX);
	bool goes_on = true;
	struct span line;

	*ret = (struct docker_instruction){0};
	while (goes_on && take_line(r, &line)) {
		struct span content = trim_end(trim_start(line));

		if (content.size == 0 || content.data[0] == '#')
			continue;
		if (text.size == 0)
			ret->line = r->number;
		else
			content = trim_end(line);
		goes_on = content.data[content.size - 1] == '\\';
		buf_add(&text, content.data, content.size - goes_on);
	}
	if (text.size == 0)
		return 0;
	if (goes_on && !r->more && trim_end(line).size > 0)
		return FAIL(err, ERROR_INVALID, "the last line ends with a backslash");
	ret->text = arena_copy(r->arena, trim_end(buf_span(&text)));
	return read_documents(r, ret, err) < 0 ? -1 : 1;
}

int docker_lines_read(struct arena *a, struct span text, const struct docker_reader *reader,
                      unsigned *ret_line, struct error *err)
{
	struct line_reader r = {.arena = a, .rest = text, .more = true};
	struct docker_instruction instruction;
	int result;

	for (unsigned i = 0; i < INSTRUCTIONS_MAX; i++) {
		result = read_instruction(&r, &instruction, err);
		*ret_line = instruction.line;
		if (result <= 0)
			return result;
		if (reader->each(reader->context, &instruction, err) < 0)
			return -1;
	}
	return FAIL(err, ERROR_TOO_LARGE, "more than %d instructions", INSTRUCTIONS_MAX);
}
