/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/display.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "base/bytes.h"

#define ELLIPSIS "\xE2\x80\xA6"
#define WIDTH_DEFAULT 80 /* of a terminal that does not know its size */
#define WIDTH_MAX 10000

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0];
}

static bool auto_color(void)
{
	const char *terminal = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");

	if (is_set("NO_COLOR"))
		return false;
	if (force && force[0] && strcmp(force, "0") != 0)
		return true;
	return isatty(STDOUT_FILENO) && (!terminal || strcmp(terminal, "dumb") != 0);
}

int display_find(const char *color, struct display *ret, struct error *err)
{
	struct display display = {.width = display_width(STDOUT_FILENO)};

	if (!color || strcmp(color, "auto") == 0) {
		display.has_color = auto_color();
	} else if (strcmp(color, "always") == 0) {
		display.has_color = true;
	} else if (strcmp(color, "never") != 0) {
		(void)FAIL(err, ERROR_INVALID, "option '--color': '%s' is not known", color);
		return FAIL_HINT(err, "auto, always or never");
	}
	*ret = display;
	return 0;
}

unsigned display_width(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = {0};
	struct error ignored;
	int64_t width;

	if (!isatty(fd))
		return 0;
	if (columns && span_parse_whole(span_of(columns), 1, WIDTH_MAX, &width, &ignored) == 0)
		return (unsigned)width;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : WIDTH_DEFAULT;
}

/* Measures the character at `text`. Sets its size in bytes. */
static unsigned measure_character(const char *text, size_t *ret_size)
{
	mbstate_t state = {0};
	wchar_t character;
	size_t size = mbrtowc(&character, text, strlen(text), &state);
	int width = -1;

	if (size == (size_t)-1 || size == (size_t)-2)
		size = 1;
	else
		width = wcwidth(character);
	*ret_size = size;
	return width < 0 ? 1 : (unsigned)width;
}

unsigned display_columns(const char *text)
{
	unsigned columns = 0;
	size_t size;

	for (; *text; text += size)
		columns += measure_character(text, &size);
	return columns;
}

const char *display_cut(struct arena *a, const char *text, unsigned columns)
{
	const char *end = text;
	unsigned used = 0;
	size_t size;

	if (display_columns(text) <= columns)
		return text;
	while (*end) {
		unsigned width = measure_character(end, &size);

		if (used + width + 1 > columns)
			break;
		used += width;
		end += size;
	}
	return arena_format(a, "%.*s" ELLIPSIS, (int)(end - text), text);
}
