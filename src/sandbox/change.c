/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/change.h"

#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/path.h"

static const char *const kind_names[CHANGE_KIND_COUNT] = {
        [CHANGE_ADDED] = "added",     [CHANGE_DELETED] = "deleted", [CHANGE_MODIFIED] = "modified",
        [CHANGE_ATTRIBUTES] = "mode", [CHANGE_RETYPED] = "type",
};

const char *change_kind_name(enum change_kind kind)
{
	return kind_names[kind];
}

const char *change_type_name(uint32_t mode)
{
	static const struct {
		uint32_t type;
		const char *name;
	} types[] = {{S_IFREG, "file"},  {S_IFDIR, "dir"},     {S_IFLNK, "link"},
	             {S_IFIFO, "fifo"},  {S_IFSOCK, "socket"}, {S_IFCHR, "device"},
	             {S_IFBLK, "device"}};

	for (unsigned i = 0; i < COUNT_OF(types); i++)
		if ((mode & S_IFMT) == types[i].type)
			return types[i].name;
	return NULL;
}

int change_path_clean(struct arena *a, const char *text, const char **ret, struct error *err)
{
	struct span rest = span_of(text), part;
	const char *clean;
	bool more;

	if (rest.size >= PATH_SIZE_MAX)
		return FAIL(err, ERROR_INVALID, "a path is longer than %d bytes",
		            PATH_SIZE_MAX - 1);
	while (rest.size > 0 && rest.data[0] == '/') {
		rest.data++;
		rest.size--;
	}
	while (rest.size > 0 && rest.data[rest.size - 1] == '/')
		rest.size--;
	clean = arena_copy(a, rest);
	for (more = rest.size > 0; more;) {
		more = span_split(&rest, '/', &part);
		if (!path_name_is_valid(part))
			return FAIL(err, ERROR_INVALID,
			            "'%.200s' is not a path below the sandbox's root", text);
	}
	*ret = clean;
	return 0;
}

static bool needs_quotes(struct span text)
{
	for (size_t i = 0; i < text.size; i++)
		if ((unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f ||
		    text.data[i] == '"' || text.data[i] == '\\')
			return true;
	return !span_is_utf8(text);
}

static void add_quoted(struct buf *out, struct span text)
{
	static const char plain[] = "\a\b\t\n\v\f\r\"\\", letters[] = "abtnvfr\"\\";

	for (size_t i = 0; i < text.size; i++) {
		unsigned char byte = (unsigned char)text.data[i];
		const char *special = byte ? strchr(plain, byte) : NULL;

		if (special)
			buf_addf(out, "\\%c", letters[special - plain]);
		else if (byte < ' ' || byte >= 0x7f)
			buf_addf(out, "\\%03o", byte);
		else
			buf_add_byte(out, (char)byte);
	}
}

void change_add_name(struct buf *out, const char *prefix, const char *path)
{
	struct span text = span_of(path);

	if (!needs_quotes(text)) {
		buf_addf(out, "%s%s", prefix, path);
		return;
	}
	buf_addf(out, "\"%s", prefix);
	add_quoted(out, text);
	buf_add_byte(out, '"');
}

/* Programs other than git end a name at a blank; a tab after the name marks its end. */
const char *change_label(struct arena *a, const struct sandbox_change *c, unsigned side)
{
	AUTO(buf_done) struct buf out = BUF(5 * PATH_SIZE_MAX);

	if (c->sides[side].mode == 0)
		return "/dev/null";
	change_add_name(&out, side == 0 ? "a/" : "b/", c->path);
	if (buf_text(&out)[0] != '"' && strchr(c->path, ' '))
		buf_add_byte(&out, '\t');
	return arena_text(a, buf_text(&out));
}

/* The types that git has a mode for. */
static bool is_patchable(uint32_t mode)
{
	return mode == 0 || S_ISREG(mode) || S_ISLNK(mode);
}

/* The permission bits of a link have no meaning. */
static unsigned mode_of(const struct change_side *side)
{
	return S_ISLNK(side->mode) ? 0120000 : side->mode & (S_IFMT | 07777);
}

static void add_modes(struct buf *out, const struct sandbox_change *c)
{
	const struct change_side *was = &c->sides[0], *is = &c->sides[1];

	if (was->mode == 0)
		buf_addf(out, "new file mode %06o\n", mode_of(is));
	else if (is->mode == 0)
		buf_addf(out, "deleted file mode %06o\n", mode_of(was));
	else if (mode_of(was) != mode_of(is))
		buf_addf(out, "old mode %06o\nnew mode %06o\n", mode_of(was), mode_of(is));
}

/* Programs that apply a patch skip lines of this form. */
static void add_remark(struct buf *out, const struct sandbox_change *c)
{
	const struct change_side *was = &c->sides[0], *is = &c->sides[1];
	const char *type = change_type_name(is->mode ? is->mode : was->mode);

	buf_add_text(out, "# ");
	change_add_name(out, "", c->path);
	buf_addf(out, ": %s %s", type ? type : "entry", change_kind_name(c->kind));
	if (was->mode && is->mode && mode_of(was) != mode_of(is))
		buf_addf(out, ", mode %04o was %04o", is->mode & 07777, was->mode & 07777);
	if (was->mode && is->mode && (was->uid != is->uid || was->gid != is->gid))
		buf_addf(out, ", owner %u:%u was %u:%u", is->uid, is->gid, was->uid, was->gid);
	if (c->is_cut)
		buf_add_text(out, ", too deep to list its contents");
	buf_add_byte(out, '\n');
}

bool change_add_head(struct buf *out, const struct sandbox_change *c)
{
	const struct change_side *was = &c->sides[0], *is = &c->sides[1];
	bool is_patch = is_patchable(was->mode) && is_patchable(is->mode);

	/* A patch creates folders implicitly. */
	if ((!was->mode || !is->mode) && S_ISDIR(was->mode | is->mode) && !c->is_cut)
		return false;
	if (!is_patch || (was->mode && is->mode && (was->uid != is->uid || was->gid != is->gid)))
		add_remark(out, c);
	if (!is_patch || (c->kind == CHANGE_ATTRIBUTES && mode_of(was) == mode_of(is)))
		return false;
	buf_add_text(out, "diff --git ");
	change_add_name(out, "a/", c->path);
	buf_add_byte(out, ' ');
	change_add_name(out, "b/", c->path);
	buf_add_byte(out, '\n');
	add_modes(out, c);
	return c->kind != CHANGE_ATTRIBUTES;
}

/* "0,0", "1" or, for a target with line ends in it, "1,3". */
static const char *range_of(struct arena *a, const struct change_side *side)
{
	unsigned lines = 1;

	if (side->mode == 0)
		return "0,0";
	for (const char *c = side->link; *c; c++)
		lines += *c == '\n';
	return lines == 1 ? "1" : arena_format(a, "1,%u", lines);
}

void change_add_links(struct buf *out, struct arena *a, const struct sandbox_change *c)
{
	static const char marks[] = {'-', '+'};

	buf_addf(out, "--- %s\n+++ %s\n@@ -%s +%s @@\n", change_label(a, c, 0),
	         change_label(a, c, 1), range_of(a, &c->sides[0]), range_of(a, &c->sides[1]));
	for (unsigned i = 0; i < 2; i++) {
		const char *line = c->sides[i].link;

		if (c->sides[i].mode == 0)
			continue;
		/* A target may hold line ends; each starts a new line of the patch. */
		buf_add_byte(out, marks[i]);
		for (; *line; line++) {
			buf_add_byte(out, *line);
			if (*line == '\n')
				buf_add_byte(out, marks[i]);
		}
		buf_add_text(out, "\n\\ No newline at end of file\n");
	}
}

static void count_line(struct change_lines *lines, char first)
{
	lines->added += first == '+';
	lines->deleted += first == '-';
}

struct change_lines change_count_lines(struct span patch)
{
	struct change_lines lines = {0};
	bool is_hunk = false;
	struct span line;

	while (patch.size > 0) {
		(void)span_split(&patch, '\n', &line);
		if (span_starts_with(line, "diff --git "))
			is_hunk = false;
		else if (span_starts_with(line, "@@ "))
			is_hunk = true;
		else if (!is_hunk)
			lines.is_binary |= span_starts_with(line, CHANGE_BINARY " ") ||
			                   span_starts_with(line, CHANGE_LARGE " ");
		else if (line.size > 0)
			count_line(&lines, line.data[0]);
	}
	return lines;
}

unsigned change_split(const struct sandbox_change *c, struct sandbox_change ret[2])
{
	ret[0] = ret[1] = *c;
	if (c->kind != CHANGE_RETYPED)
		return 1;
	ret[0].kind = CHANGE_DELETED;
	ret[0].sides[1] = (struct change_side){.link = ""};
	ret[1].kind = CHANGE_ADDED;
	ret[1].sides[0] = (struct change_side){.link = ""};
	return 2;
}
