/* SPDX-License-Identifier: Apache-2.0 */
/* base/log.h — logs one event per line on stderr: logfmt, `time level program: event key=value …`
 * (no time when journald reads it), or a JSON object with the members time, level, program, event
 * and the fields. Values are quoted and their control characters escaped.
 *
 * error = an operator must act; warning = degraded, but working; info = a life-cycle change; debug
 * = off unless the folder is enabled. Only edges log failures, once. Never pass a secret. Lines of
 * a request carry request=ID, set per thread. Safe from any thread; each line is one write(2). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

enum log_field_kind { LOG_FIELD_END, LOG_FIELD_TEXT, LOG_FIELD_NUMBER, LOG_FIELD_FAILURE };
struct log_field {
	enum log_field_kind kind;
	const char *key;
	const char *text;
	int64_t number;
	const struct error *failure; /* written as error=, where=, errno= */
};

#define TEXT(key_, value)                                                                          \
	((struct log_field){.kind = LOG_FIELD_TEXT, .key = (key_), .text = (value)})
#define NUMBER(key_, value)                                                                        \
	((struct log_field){.kind = LOG_FIELD_NUMBER, .key = (key_), .number = (int64_t)(value)})
#define FAILURE(err) ((struct log_field){.kind = LOG_FIELD_FAILURE, .failure = (err)})

void log_event(enum log_level level, const char *file, const char *event,
               const struct log_field *fields);
#define LOG_(level, event, ...)                                                                    \
	log_event((level), __FILE__, (event),                                                      \
	          (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){.kind = LOG_FIELD_END}})
#define log_error(event, ...) LOG_(LOG_ERROR, event, __VA_ARGS__)
#define log_warning(event, ...) LOG_(LOG_WARNING, event, __VA_ARGS__)
#define log_info(event, ...) LOG_(LOG_INFO, event, __VA_ARGS__)
#define log_debug(event, ...)                                                                      \
	do {                                                                                       \
		if (log_debug_is_on(__FILE__))                                                     \
			LOG_(LOG_DEBUG, event, __VA_ARGS__);                                       \
	} while (0)

/* The same failure for a person at a terminal: "PROGRAM: TEXT" and, on a line of its own, the
 * hint. */
void log_tell(const struct error *failure);

/* The form is that of the environment variable LOG_FORMAT_VARIABLE: "json", else logfmt. */
#define LOG_FORMAT_VARIABLE "ATOLL_LOG_FORMAT"
void log_open(const char *program, enum log_level level);
void log_format_set(const char *format);
/* Comma-separated folders ("provider,http") or "all"; "" turns debug off. */
void log_debug_set(const char *folders);
bool log_debug_is_on(const char *file);
/* The request id that this thread's lines carry; NULL for none. Borrowed. */
void log_request_set(const char *request_id);
