/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"

#define LINE_SIZE_MAX 4000 /* below PIPE_BUF, so that a pipe takes a line whole */
#define DEBUG_FOLDERS_SIZE_MAX 512
#define END_SIZE 32 /* room for the end of a line that is cut */

static const char *const level_names[] = {"error", "warning", "info", "debug"};

static char program_name[32];
static enum log_level level_max = LOG_INFO;
static bool has_clock = true, is_json;
static atomic_bool debug_is_on;
static pthread_mutex_t debug_lock = PTHREAD_MUTEX_INITIALIZER;
static char debug_folders[DEBUG_FOLDERS_SIZE_MAX];
static _Thread_local const char *request;

/* On the stack and of a fixed size: a failure to allocate can be logged, too. */
struct log_line {
	size_t size, whole_size; /* whole_size: with whole fields only */
	bool is_cut;
	char text[LINE_SIZE_MAX];
};

static void line_add(struct log_line *line, const char *text, size_t size)
{
	size_t room = sizeof(line->text) - line->size - END_SIZE;

	if (line->is_cut)
		return;
	if (size > room) {
		size = room;
		line->is_cut = true;
	}
	memcpy(line->text + line->size, text, size);
	line->size += size;
}

static void line_add_text(struct log_line *line, const char *text)
{
	line_add(line, text, strlen(text));
}

static PRINTF(2, 3) void line_addf(struct log_line *line, const char *format, ...)
{
	char text[64];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	line_add_text(line, text);
}

static bool is_bare(unsigned char c)
{
	return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
}

/* Number of bytes at `at` that must not reach an operator's terminal, or turn the line around: text
 * from a sandbox must not control either. */
static size_t hostile_size(const char *at, bool is_utf8)
{
	if (is_utf8)
		return span_hostile((struct span){at, strnlen(at, 4)});
	return (unsigned char)at[0] < ' ' || (unsigned char)at[0] >= 0x7F;
}

static void line_add_harmless(struct log_line *line, const char *value, bool is_quoted)
{
	bool is_utf8 = span_is_utf8(span_of(value));

	for (const char *at = value; *at;) {
		size_t hostile = hostile_size(at, is_utf8);

		if (is_quoted && (*at == '"' || *at == '\\'))
			line_addf(line, "\\%c", *at);
		else if (*at == '\n')
			line_add_text(line, "\\n");
		else if (hostile == 0)
			line_add(line, at, 1);
		else
			for (size_t i = 0; i < hostile; i++)
				line_addf(line, "\\x%02x", (unsigned char)at[i]);
		at += hostile > 0 ? hostile : 1;
	}
}

/* The code point of a character of up to three bytes. */
static unsigned point_of(const char *at, size_t size)
{
	unsigned point = (unsigned char)at[0] & (size == 1 ? 0x7F : size == 2 ? 0x1F : 0x0F);

	for (size_t i = 1; i < size; i++)
		point = point << 6 | ((unsigned char)at[i] & 0x3F);
	return point;
}

/* Invalid bytes become U+FFFD. */
static void line_add_json_text(struct log_line *line, const char *value)
{
	bool is_utf8 = span_is_utf8(span_of(value));

	line_add_text(line, "\"");
	for (const char *at = value; *at;) {
		size_t hostile = is_utf8 ? hostile_size(at, true) : 0;
		unsigned char c = (unsigned char)*at;

		if (c == '"' || c == '\\')
			line_addf(line, "\\%c", c);
		else if (c < ' ' || c == 0x7F || hostile > 0)
			line_addf(line, "\\u%04x", point_of(at, hostile > 0 ? hostile : 1));
		else if (c >= 0x80 && !is_utf8)
			line_add_text(line, "\xEF\xBF\xBD");
		else
			line_add(line, at, 1);
		at += hostile > 0 ? hostile : 1;
	}
	line_add_text(line, "\"");
}

static void line_keep_whole(struct log_line *line)
{
	if (!line->is_cut)
		line->whole_size = line->size;
}

static void line_add_value(struct log_line *line, const char *value)
{
	const char *at = value;

	while (*at && is_bare((unsigned char)*at))
		at++;
	if (!*at && at > value) {
		line_add_text(line, value);
		return;
	}
	line_add_text(line, "\"");
	line_add_harmless(line, value, true);
	line_add_text(line, "\"");
}

static void line_add_pair(struct log_line *line, const char *key, const char *value)
{
	if (is_json) {
		line_addf(line, ",\"%s\":", key);
		line_add_json_text(line, value ? value : "");
		line_keep_whole(line);
		return;
	}
	line_addf(line, " %s=", key);
	line_add_value(line, value ? value : "");
}

static void line_add_number(struct log_line *line, const char *key, int64_t number)
{
	if (is_json)
		line_addf(line, ",\"%s\":%" PRId64, key, number);
	else
		line_addf(line, " %s=%" PRId64, key, number);
	line_keep_whole(line);
}

static void line_add_failure(struct log_line *line, const struct error *failure)
{
	line_add_pair(line, "code", error_kind_get(failure->code)->name);
	line_add_pair(line, "error", failure->text);
	if (failure->where)
		line_add_pair(line, "where", failure->where);
	if (failure->sys_errno)
		line_add_number(line, "errno", failure->sys_errno);
}

static void line_add_field(struct log_line *line, const struct log_field *field)
{
	switch (field->kind) {
	case LOG_FIELD_END:
		break;
	case LOG_FIELD_TEXT:
		line_add_pair(line, field->key, field->text);
		break;
	case LOG_FIELD_NUMBER:
		line_add_number(line, field->key, field->number);
		break;
	case LOG_FIELD_FAILURE:
		line_add_failure(line, field->failure);
		break;
	}
}

static void line_add_time(struct log_line *line)
{
	int64_t now = clock_unix_ms();
	time_t seconds = (time_t)(now / 1000);
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		line_addf(line, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
		          tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		          (int)(now % 1000));
}

static void line_add_json_start(struct log_line *line, enum log_level level, const char *event)
{
	line_add_text(line, "{\"time\":\"");
	line_add_time(line);
	line_addf(line, "\",\"level\":\"%s\"", level_names[level]);
	line_add_pair(line, "program", program_name);
	line_add_pair(line, "event", event);
}

static void line_add_start(struct log_line *line, enum log_level level, const char *event)
{
	if (is_json) {
		line_add_json_start(line, level, event);
		return;
	}
	if (has_clock) {
		line_add_time(line);
		line_add_text(line, " ");
	}
	line_add_text(line, level_names[level]);
	line_add_text(line, " ");
	if (program_name[0]) {
		line_add_text(line, program_name);
		line_add_text(line, ": ");
	}
	line_add_text(line, event);
}

static void line_write(struct log_line *line)
{
	ssize_t wrote;

	if (line->is_cut)
		line->size =
		        (size_t)((char *)mempcpy(line->text + line->size, "...", 3) - line->text);
	line->text[line->size++] = '\n';
	do
		wrote = write(STDERR_FILENO, line->text, line->size);
	while (wrote < 0 && errno == EINTR);
}

/* A field that did not fit is left out whole, so that the line is an object. */
static void line_end_json(struct log_line *line)
{
	static const char end[] = ",\"cut\":true}";

	if (line->is_cut) {
		line->size = line->whole_size;
		line->is_cut = false;
		memcpy(line->text + line->size, end, sizeof(end) - 1);
		line->size += sizeof(end) - 1;
	} else {
		line->text[line->size++] = '}';
	}
}

void log_tell(const struct error *failure)
{
	struct log_line line = {.size = 0};

	line_add_text(&line, program_name);
	line_add_text(&line, ": ");
	line_add_harmless(&line, failure->text, false);
	if (failure->hint[0]) {
		line_add_text(&line, "\n  hint: ");
		line_add_harmless(&line, failure->hint, false);
	}
	line_write(&line);
}

void log_event(enum log_level level, const char *file, const char *event,
               const struct log_field *fields)
{
	struct log_line line;
	int saved = errno;

	if (level > level_max && !(level == LOG_DEBUG && log_debug_is_on(file)))
		return;
	line.size = line.whole_size = 0;
	line.is_cut = false;
	line_add_start(&line, level, event);
	if (is_json && request)
		line_add_pair(&line, "request", request);
	for (; fields->kind != LOG_FIELD_END; fields++)
		line_add_field(&line, fields);
	if (!is_json && request)
		line_add_pair(&line, "request", request);
	if (is_json)
		line_end_json(&line);
	line_write(&line);
	errno = saved;
}

void log_open(const char *program, enum log_level level)
{
	(void)snprintf(program_name, sizeof(program_name), "%s", program);
	level_max = level;
	has_clock = !getenv("JOURNAL_STREAM"); /* journald stamps each line itself */
	log_format_set(getenv(LOG_FORMAT_VARIABLE));
}

void log_format_set(const char *format)
{
	is_json = format && strcmp(format, "json") == 0;
}

void log_debug_set(const char *folders)
{
	(void)pthread_mutex_lock(&debug_lock);
	(void)snprintf(debug_folders, sizeof(debug_folders), "%s", folders);
	(void)pthread_mutex_unlock(&debug_lock);
	atomic_store(&debug_is_on, folders[0] != '\0');
}

/* "provider" and "provider/native" both name .../src/provider/native/native.c. */
static bool file_is_in(const char *file, struct span folder)
{
	const char *source = strstr(file, "src/");
	char after;

	if (folder.size == 0)
		return false;
	if (span_equals_text(folder, "all"))
		return true;
	source = source ? source + strlen("src/") : file;
	if (strncmp(source, folder.data, folder.size) != 0)
		return false;
	after = source[folder.size];
	return after == '/' || after == '.' || after == '\0';
}

bool log_debug_is_on(const char *file)
{
	struct span rest, folder;
	bool more, found = false;

	if (!atomic_load_explicit(&debug_is_on, memory_order_relaxed))
		return false;
	(void)pthread_mutex_lock(&debug_lock);
	rest = span_of(debug_folders);
	do {
		more = span_split(&rest, ',', &folder);
		found = file_is_in(file, span_trim(folder));
	} while (more && !found);
	(void)pthread_mutex_unlock(&debug_lock);
	return found;
}

void log_request_set(const char *request_id)
{
	request = request_id;
}
