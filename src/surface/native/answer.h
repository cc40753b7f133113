/* SPDX-License-Identifier: Apache-2.0 */
/* surface/native/answer.h — what the bodies and answers of many native routes have in common. */
#pragma once

#include "http/server/http.h"
#include "json/json.h"

/* A list that is answered whole, or one page of a longer list. */
struct list_answer {
	struct json_list items;
	const char *next_page; /* NULL: this is the last page */
};

static inline void reply_page(struct reply *reply, const struct json_shape *shape,
                              struct json_list items, const char *next_page)
{
	reply_json(reply, shape, &(struct list_answer){items, next_page});
}

static inline void reply_list(struct reply *reply, const struct json_shape *shape, void *items,
                              size_t count)
{
	reply_page(reply, shape, (struct json_list){items, count, .present = true}, NULL);
}

/* The store keeps "" where an answer has null. */
static inline const char *text_or_null(const char *text)
{
	return text && *text ? text : NULL;
}

/* -1 stands for a count that the provider does not know, and for one that JSON cannot hold. */
static inline int64_t whole_or_unknown(uint64_t value)
{
	return value > INT64_MAX ? -1 : (int64_t)value;
}

/* `row`: the index of the member in its shape. */
static inline bool row_is_given(uint64_t present, unsigned row)
{
	return present >> row & 1;
}

/* The header Last-Event-ID of a client that resumes a stream: sets both results, or neither. */
static inline int last_event_read(const struct request *rq, bool *ret_given, int64_t *ret,
                                  struct error *err)
{
	const char *id = request_header(rq, "Last-Event-ID");

	if (!id)
		return 0;
	*ret_given = true;
	return span_parse_whole(span_of(id), 0, INT64_MAX, ret, err) < 0
	               ? FAIL_CONTEXT(err, "Last-Event-ID")
	               : 0;
}
