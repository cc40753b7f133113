/* SPDX-License-Identifier: Apache-2.0 */
/* json/json.h — shapes: one table per struct gives the parser, writer, checks and JSON Schema.
 *
 * A shape row maps a JSON member to a struct member; a member of the wrong C type does not compile.
 * The parser refuses unknown members (unless is_open), wrong types, duplicates, values outside the
 * bounds, invalid UTF-8, NUL in text, and depth over 32; the error names the path ("resources.cpu:
 * …"). Strings are in the arena. Only this folder uses the JSON library. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum json_kind {
	JSON_TEXT,      /* const char *; NULL = absent */
	JSON_BYTES,     /* struct span of any bytes, NUL included; written as base64 */
	JSON_WHOLE,     /* int64_t */
	JSON_NUMBER,    /* double */
	JSON_BOOL,      /* bool */
	JSON_CHOICE,    /* int: index into `choices` */
	JSON_TEXT_LIST, /* const char **, NULL-terminated; NULL = absent */
	JSON_TEXT_MAP,  /* struct json_map: {"KEY": "value"} */
	JSON_OBJECT,    /* a nested struct, by value */
	JSON_LIST,      /* struct json_list of nested structs */
	JSON_RAW,       /* struct span of JSON text, passed through; size 0 = absent */
	JSON_TIME,      /* int64_t unix ms <-> RFC 3339 text; 0 = null */
};

enum json_flag {
	JSON_REQUIRED = 1 << 0,   /* parsing fails when it is absent */
	JSON_SECRET = 1 << 1,     /* never logged; marked writeOnly */
	JSON_NULLABLE = 1 << 2,   /* null is accepted and means absent; absent is written as null */
	JSON_OMIT_EMPTY = 1 << 3, /* absent, empty or zero is not written */
	JSON_OPEN_CHOICES = 1 << 4, /* later versions may know more than `choices` */
};

struct json_pair {
	const char *key, *value;
};
struct json_map {
	struct json_pair *pairs;
	size_t count;
	bool present;
};
struct json_list {
	void *items; /* array of the nested struct */
	size_t count;
	bool present;
};

struct json_shape;
struct json_member {
	enum json_kind kind;
	const char *c_name; /* the struct member's name */
	const char *name;   /* the JSON name when it differs from c_name; use json_member_name */
	size_t offset;
	unsigned flags;
	/* Bounds: bytes of text, items of lists and maps, values of numbers. max 0 = no bound
	 * except JSON's own. A number below `min` is refused, so a number that may be negative
	 * needs a `min`. */
	int64_t min, max;
	const char *const *choices;  /* JSON_CHOICE: NULL-terminated; of JSON_TEXT only for the
	                                schema of an answer */
	const struct json_shape *of; /* JSON_OBJECT, JSON_LIST */
	const char *about;           /* one sentence for the reference */
	const char *example;         /* plain text for text members, JSON for other kinds */
};

static inline const char *json_member_name(const struct json_member *m)
{
	return m->name ? m->name : m->c_name;
}

struct json_shape {
	const char *name; /* in the OpenAPI document: "SandboxCreate" */
	const char *about;
	size_t size; /* of the C struct */
	const struct json_member *members;
	size_t member_count;
	/* Offset of a uint64_t whose bit i is set when row i was present (for PATCH and for
	 * defaults other than zero); SIZE_MAX = none. */
	size_t present_offset;
	/* For foreign documents: unknown members are ignored, and null means absent. */
	bool is_open;
};

static inline const struct json_member *json_shape_end(const struct json_shape *shape)
{
	return shape->members + shape->member_count;
}

#define JSON_ROW_(kind_, struct_, member_, ctype_, ...)                                            \
	{                                                                                          \
		.kind = (kind_), .c_name = #member_,                                               \
		.offset = MEMBER_OFFSET(struct_, member_, ctype_), __VA_ARGS__                     \
	}
#define JSON_TEXT_MEMBER(s, m, ...) JSON_ROW_(JSON_TEXT, s, m, const char *, __VA_ARGS__)
#define JSON_BYTES_MEMBER(s, m, ...) JSON_ROW_(JSON_BYTES, s, m, struct span, __VA_ARGS__)
#define JSON_WHOLE_MEMBER(s, m, ...) JSON_ROW_(JSON_WHOLE, s, m, int64_t, __VA_ARGS__)
#define JSON_NUMBER_MEMBER(s, m, ...) JSON_ROW_(JSON_NUMBER, s, m, double, __VA_ARGS__)
#define JSON_BOOL_MEMBER(s, m, ...) JSON_ROW_(JSON_BOOL, s, m, bool, __VA_ARGS__)
#define JSON_CHOICE_MEMBER(s, m, ...) JSON_ROW_(JSON_CHOICE, s, m, int, __VA_ARGS__)
#define JSON_TEXT_LIST_MEMBER(s, m, ...) JSON_ROW_(JSON_TEXT_LIST, s, m, const char **, __VA_ARGS__)
#define JSON_TEXT_MAP_MEMBER(s, m, ...) JSON_ROW_(JSON_TEXT_MAP, s, m, struct json_map, __VA_ARGS__)
#define JSON_OBJECT_MEMBER(s, m, shape, ...)                                                       \
	{                                                                                          \
		.kind = JSON_OBJECT, .c_name = #m, .offset = offsetof(struct s, m), .of = (shape), \
		__VA_ARGS__                                                                        \
	}
#define JSON_LIST_MEMBER(s, m, shape, ...)                                                         \
	JSON_ROW_(JSON_LIST, s, m, struct json_list, .of = (shape), __VA_ARGS__)
#define JSON_RAW_MEMBER(s, m, ...) JSON_ROW_(JSON_RAW, s, m, struct span, __VA_ARGS__)
#define JSON_TIME_MEMBER(s, m, ...) JSON_ROW_(JSON_TIME, s, m, int64_t, __VA_ARGS__)
/* For a JSON name that differs from the C name add .name = "outputLimitBytes". */
/* A shape of the rows variable_members. */
#define JSON_SHAPE_(variable, json_name, struct_, about_, ...)                                     \
	const struct json_shape variable = {.name = (json_name),                                   \
	                                    .about = (about_),                                     \
	                                    .size = sizeof(struct struct_),                        \
	                                    .members = variable##_members,                         \
	                                    .member_count = COUNT_OF(variable##_members),          \
	                                    __VA_ARGS__}
#define JSON_SHAPE(variable, json_name, struct_, about_)                                           \
	JSON_SHAPE_(variable, json_name, struct_, about_, .present_offset = SIZE_MAX)
#define JSON_OPEN_SHAPE(variable, json_name, struct_, about_)                                      \
	JSON_SHAPE_(variable, json_name, struct_, about_, .present_offset = SIZE_MAX,              \
	            .is_open = true)
/* The same for a struct with bits in its member `present`. */
#define JSON_BITS_SHAPE(variable, json_name, struct_, about_)                                      \
	JSON_SHAPE_(variable, json_name, struct_, about_,                                          \
	            .present_offset = offsetof(struct struct_, present))
#define JSON_OPEN_BITS_SHAPE(variable, json_name, struct_, about_)                                 \
	JSON_SHAPE_(variable, json_name, struct_, about_,                                          \
	            .present_offset = offsetof(struct struct_, present), .is_open = true)

/* Zeroes `out` first (shape->size bytes). An empty body counts as {}. A member may be spelled
 * memory_mb or memoryMb; giving both spellings requires equal values. */
MUST_CHECK int json_parse(struct arena *a, struct span text, const struct json_shape *shape,
                          void *out, struct error *err);
/* The first row, here or in a nested shape, whose name spells the name of an earlier row again;
 * NULL when each member has one row. An open shape may have both spellings. */
const struct json_member *json_shape_duplicate(const struct json_shape *shape);
/* Appends the object; fails only by the buffer's overflow. A member is absent when it is empty
 * (NULL, no bytes, not `present`, time 0, choice below 0, an object of such members) and its bit,
 * if the shape has bits, is not set. A plain 0 or false is a value unless the shape has bits. An
 * absent member that is neither nullable nor omitted is written as "", [] or {}. */
void json_write(struct buf *out, const struct json_shape *shape, const void *in);
/* The members that a comma-separated list names, in either spelling: bit i is row i. The shape has
 * at most 64 rows. An unknown name fails with the name that was probably meant. */
MUST_CHECK int json_parse_members(struct arena *a, const char *list, const struct json_shape *shape,
                                  uint64_t *ret, struct error *err);
/* Like json_write, with only these members. */
void json_write_members(struct buf *out, const struct json_shape *shape, const void *in,
                        uint64_t members);
/* Appends "text" with quotes and escapes. Invalid UTF-8 and NUL become U+FFFD, because many JSON
 * parsers refuse NUL. */
void json_write_text(struct buf *out, struct span text);
/* Appends the shortest decimal that reads back as the same double; null for NaN and infinities. */
void json_write_number(struct buf *out, double number);
/* Decodes base64; false when the text is not base64. */
bool json_read_base64(struct arena *a, struct span text, struct span *ret);
/* Appends the JSON Schema of the shape; nested shapes as {"$ref": "#/components/schemas/NAME"}. */
void json_write_schema(struct buf *out, const struct json_shape *shape);
/* Like json_write_schema, but nested shapes are inlined, so the schema needs no other document. */
void json_write_whole_schema(struct buf *out, const struct json_shape *shape);

/* Parses "a=b&c=d" (a URL query), percent-decoded, by a shape of TEXT, WHOLE, NUMBER, BOOL, CHOICE
 * and TEXT_LIST (repeated names) rows. */
MUST_CHECK int json_parse_query(struct arena *a, struct span query, const struct json_shape *shape,
                                void *out, struct error *err);
/* Decodes the percent escapes of a single name or value. */
MUST_CHECK int json_decode_query(struct arena *a, struct span part, struct span *ret,
                                 struct error *err);
/* Parses an RFC 3339 time to unix ms; false when the text is not one. */
bool json_time_parse(struct span text, int64_t *ret_ms);

/* Untyped reading, for foreign documents (OCI manifests, the CLI's output tables). */
struct json_value; /* belongs to the arena */
MUST_CHECK int json_load(struct arena *a, struct span text, const struct json_value **ret,
                         struct error *err);
/* All return NULL or the fallback for a missing member or another type, and accept NULL. */
const struct json_value *json_get(const struct json_value *v, const char *member);
const struct json_value *json_item_at(const struct json_value *v, size_t index);
size_t json_count(const struct json_value *v);
const char *json_text(const struct json_value *v, const char *fallback);
int64_t json_whole(const struct json_value *v, int64_t fallback);
double json_number(const struct json_value *v, double fallback);
/* The texts of a list, NULL-terminated; an item of another type becomes "". */
const char **json_texts(struct arena *a, const struct json_value *v);
bool json_bool(const struct json_value *v, bool fallback);
const char *json_get_text(const struct json_value *v, const char *member, const char *fallback);
int64_t json_get_whole(const struct json_value *v, const char *member, int64_t fallback);
bool json_get_bool(const struct json_value *v, const char *member, bool fallback);
/* The value at `index` of an object; the key is borrowed from the arena. */
const struct json_value *json_member_at(const struct json_value *v, size_t index,
                                        const char **ret_key);
/* Appends the value as JSON text; indent 0 = compact. */
void json_print(struct buf *out, const struct json_value *v, unsigned indent);
