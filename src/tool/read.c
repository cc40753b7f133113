/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/path.h"
#include "json/json.h"
#include "tool/builtin.h"
#include "tool/tool.h"
#include "wire/agent_files.h"

#define LINES_DEFAULT 2000
#define LINES_MAX 100000
#define LINE_MAX 2000         /* bytes of one line */
#define PAGE_MAX (256 * 1024) /* bytes of one answer */
#define COUNT_MAX (64 << 20)  /* bytes that are read to count lines */
#define MEDIA_MAX (8 << 20)   /* bytes of an image, a sound or a PDF */
#define BINARY_LOOK 8192      /* bytes that decide whether a file is text */

struct read_input {
	const char *path;
	int64_t offset, limit;
};
static const struct json_member read_input_members[] = {
        JSON_TEXT_MEMBER(read_input, path, .flags = JSON_REQUIRED, .min = 1, .max = PATH_SIZE_MAX,
                         .about = "relative to the workspace", .example = "src/main.c"),
        JSON_WHOLE_MEMBER(read_input, offset, .min = 0, .max = INT32_MAX,
                          .about = "first line, from 1 (default 1)"),
        JSON_WHOLE_MEMBER(read_input, limit, .min = 0, .max = LINES_MAX,
                          .about = "at most so many lines (default 2000)"),
};
static JSON_SHAPE(read_input, "ReadInput", read_input, "A file, or a page of it");

struct read_output {
	const char *path, *media_type;
	int64_t size, offset, lines, total_lines, next_offset;
};
static const struct json_member read_output_members[] = {
        JSON_TEXT_MEMBER(read_output, path),
        JSON_TEXT_MEMBER(read_output, media_type,
                         .about = "text/plain, or of an image, sound or PDF"),
        JSON_WHOLE_MEMBER(read_output, size, .about = "size of the whole file"),
        JSON_WHOLE_MEMBER(read_output, offset, .flags = JSON_OMIT_EMPTY,
                          .about = "first line of this page"),
        JSON_WHOLE_MEMBER(read_output, lines, .flags = JSON_OMIT_EMPTY),
        JSON_WHOLE_MEMBER(read_output, total_lines, .flags = JSON_OMIT_EMPTY,
                          .about = "absent when the file is too long to count its lines"),
        JSON_WHOLE_MEMBER(read_output, next_offset, .flags = JSON_OMIT_EMPTY,
                          .about = "first line of the next page; absent at the end"),
};
static JSON_SHAPE(read_output, "ReadOutput", read_output,
                  "A page of a file, or a whole image, sound or PDF");

static const struct file_media {
	const char *type, *magic, *more; /* `more` at byte 8 */
	size_t magic_size;
	enum tool_content_kind kind;
} medias[] = {
        {"image/png", "\x89PNG\r\n\x1a\n", "", 8, TOOL_IMAGE},
        {"image/jpeg", "\xff\xd8\xff", "", 3, TOOL_IMAGE},
        {"image/gif", "GIF8", "", 4, TOOL_IMAGE},
        {"image/webp", "RIFF", "WEBP", 4, TOOL_IMAGE},
        {"audio/wav", "RIFF", "WAVE", 4, TOOL_AUDIO},
        {"audio/mpeg", "ID3", "", 3, TOOL_AUDIO},
        {"audio/ogg", "OggS", "", 4, TOOL_AUDIO},
        {"audio/flac", "fLaC", "", 4, TOOL_AUDIO},
        {"application/pdf", "%PDF-", "", 5, TOOL_RESOURCE},
};

static const struct file_media *media_of(struct span start)
{
	for (size_t i = 0; i < COUNT_OF(medias); i++) {
		const struct file_media *m = &medias[i];
		size_t more = strlen(m->more);

		if (start.size >= m->magic_size + 8 &&
		    memcmp(start.data, m->magic, m->magic_size) == 0 &&
		    memcmp(start.data + 8, m->more, more) == 0)
			return m;
	}
	return NULL;
}

struct read_page {
	const struct read_input *in;
	struct buf text, whole; /* numbered lines; bytes of an image or a PDF */
	const struct file_media *media;
	bool is_known;    /* the type is known */
	bool is_full;     /* no more lines are added */
	bool stopped;     /* no more lines are counted */
	int64_t line;     /* number of the current line, from 1 */
	size_t line_size; /* bytes of the current line so far */
	int64_t first, limit, kept;
	uint64_t seen;
};

static void page_done(struct read_page *p)
{
	buf_done(&p->text);
	buf_done(&p->whole);
}

static bool line_is_wanted(const struct read_page *p)
{
	return !p->is_full && p->line >= p->first && p->line - p->first < p->limit;
}

static void end_line(struct read_page *p)
{
	if (line_is_wanted(p)) {
		if (p->line_size > LINE_MAX)
			buf_addf(&p->text, " [%zu more bytes]", p->line_size - LINE_MAX);
		buf_add_byte(&p->text, '\n');
		p->kept++;
		p->is_full = p->text.size >= PAGE_MAX;
	}
	p->line++;
	p->line_size = 0;
}

/* `piece` is of one line, without its line feed. */
static void add_piece(struct read_page *p, struct span piece)
{
	if (line_is_wanted(p)) {
		size_t room = p->line_size < LINE_MAX ? LINE_MAX - p->line_size : 0;

		if (p->line_size == 0)
			buf_addf(&p->text, "%6" PRId64 "\t", p->line);
		buf_add(&p->text, piece.data, piece.size < room ? piece.size : room);
	}
	p->line_size += piece.size;
}

static void add_lines(struct read_page *p, struct span bytes)
{
	while (bytes.size > 0) {
		const char *end = memchr(bytes.data, '\n', bytes.size);
		size_t size = end ? (size_t)(end - bytes.data) : bytes.size;

		add_piece(p, (struct span){bytes.data, size});
		if (end)
			end_line(p);
		size += end != NULL;
		span_skip(&bytes, size);
	}
}

static int detect_media(struct read_page *p, const struct agent_file *file, struct span start,
                        struct error *err)
{
	struct span look = {start.data, start.size < BINARY_LOOK ? start.size : BINARY_LOOK};

	p->is_known = true;
	p->media = media_of(start);
	if (p->media && file->size > MEDIA_MAX)
		return FAIL(err, ERROR_TOO_LARGE, "'%s' is larger than %d bytes", p->in->path,
		            MEDIA_MAX);
	if (p->media || !look.data || !memchr(look.data, '\0', look.size))
		return 0;
	(void)FAIL(err, ERROR_INVALID, "'%s' is a binary file of %" PRIu64 " bytes", p->in->path,
	           file->size);
	return FAIL_HINT(err, "look at it with bash: file, xxd, strings");
}

static int on_bytes(void *context, const struct agent_file *file, struct span bytes,
                    struct error *err)
{
	struct read_page *p = context;

	if (!p->is_known && detect_media(p, file, bytes, err) < 0)
		return -1;
	p->seen += bytes.size;
	if (p->media) {
		buf_add_span(&p->whole, bytes);
		return p->whole.overflowed ? FAIL(err, ERROR_TOO_LARGE,
		                                  "'%s' grew while it was read", p->in->path)
		                           : 0;
	}
	add_lines(p, bytes);
	p->stopped = p->seen > COUNT_MAX && (p->is_full || p->line >= p->first + p->limit);
	return p->stopped;
}

static void answer_media(const struct tool_call *call, const struct read_page *p,
                         struct tool_result *ret)
{
	ret->content[ret->count++] = (struct tool_content){
	        .kind = p->media->kind,
	        .bytes = {arena_copy(call->arena, buf_span(&p->whole)), p->whole.size},
	        .media_type = p->media->type,
	        .uri = arena_format(call->arena, "workspace:///%s", p->in->path),
	};
}

static int answer_page(const struct tool_call *call, struct read_page *p, struct read_output *out,
                       struct tool_result *ret, struct error *err)
{
	int64_t total = p->line - 1 + (p->line_size > 0);

	if (p->line_size > 0)
		end_line(p);
	if (!p->stopped && p->first > 1 && p->first > total)
		return FAIL(err, ERROR_INVALID, "offset %" PRId64 ": '%s' has %" PRId64 " lines",
		            p->first, p->in->path, total);
	out->offset = p->first;
	out->lines = p->kept;
	out->total_lines = p->stopped ? 0 : total;
	if (p->stopped || p->first + p->kept <= total) {
		out->next_offset = p->first + p->kept;
		buf_addf(&p->text, "[more: offset=%" PRId64 "]\n", out->next_offset);
	}
	if (p->text.size == 0)
		buf_add_text(&p->text, "[the file is empty]\n");
	tool_add_text(ret,
	              (struct span){arena_copy(call->arena, buf_span(&p->text)), p->text.size});
	return 0;
}

static int read_call(const struct tool_call *call, const void *input, struct tool_result *ret,
                     struct error *err)
{
	const struct read_input *in = input;
	AUTO(page_done) struct read_page page = {
	        .in = in,
	        .text = BUF(PAGE_MAX + 3 * LINE_MAX),
	        .whole = BUF(MEDIA_MAX),
	        .line = 1,
	        .first = in->offset ? in->offset : 1,
	        .limit = in->limit ? in->limit : LINES_DEFAULT,
	};
	const struct tool_file_reader reading = {on_bytes, &page};
	struct read_output *out = ARENA_NEW(call->arena, struct read_output);
	struct agent_file file;

	if (tool_read_file(call, in->path, &reading, &file, err) < 0)
		return -1;
	*out = (struct read_output){.path = in->path,
	                            .media_type = page.media ? page.media->type : "text/plain",
	                            .size = (int64_t)file.size};
	ret->structured = out;
	if (!page.media)
		return answer_page(call, &page, out, ret, err);
	answer_media(call, &page, ret);
	return 0;
}

const struct tool read_tool = {
        .name = "read",
        .title = "Read a file",
        .description =
                "Reads a text file of the workspace with line numbers, as 'NUMBER<tab>LINE'. A "
                "long file comes in pages: offset and limit count lines, and the answer tells the "
                "next offset. Lines over 2000 bytes are cut. Images (PNG, JPEG, GIF, WebP), "
                "sounds (WAV, MP3 with ID3, Ogg, FLAC) and PDF files are returned as such; other "
                "binary files are refused.",
        .input = &read_input,
        .output = &read_output,
        .class = TOOL_READS,
        .flags = TOOL_IDEMPOTENT | TOOL_OF_WORKSPACE,
        .reason = USAGE_FILE_OPS,
        .call = read_call,
};
