/* SPDX-License-Identifier: Apache-2.0 */
#include "egress/query.h"

#include <string.h>
#include <strings.h>

#define KIND_ANY 255
#define CLASS_IN 1
#define FLAG_ANSWER 0x8000u
#define FLAG_RECURSION_WANTED 0x0100u
#define FLAG_RECURSION_CAN 0x0080u
#define OPCODE_MASK 0x7800u
#define CODE_MASK 0x000fu
#define LABEL_MAX 63
#define POINTER 0xc0
#define POINTER_TO_QUESTION 0xc00cu
#define ADDRESS_SIZE 4
#define ADDRESS6_SIZE 16

static bool take_number(struct span *rest, unsigned size, uint32_t *ret)
{
	uint32_t number = 0;

	if (rest->size < size)
		return false;
	for (unsigned i = 0; i < size; i++)
		number = number << 8 | (unsigned char)rest->data[i];
	span_skip(rest, size);
	*ret = number;
	return true;
}

static bool skip_bytes(struct span *rest, size_t size)
{
	if (rest->size < size)
		return false;
	span_skip(rest, size);
	return true;
}

/* A name in full, without pointers, as questions have it. */
static bool take_name(struct span *rest, char out[SANDBOX_HOST_NAME_MAX + 1])
{
	size_t size = 0;
	uint32_t label;

	for (;;) {
		if (!take_number(rest, 1, &label) || label > LABEL_MAX || rest->size < label ||
		    span_find((struct span){rest->data, label}, '.') >= 0)
			return false;
		if (label == 0)
			break;
		if (size + (size > 0) + label > SANDBOX_HOST_NAME_MAX)
			return false;
		if (size > 0)
			out[size++] = '.';
		memcpy(out + size, rest->data, label);
		size += label;
		(void)skip_bytes(rest, label);
	}
	out[size] = '\0';
	return host_name_is_valid((struct span){out, size});
}

/* The owner of a record does not matter: a client of a resolver trusts its answer. */
static bool skip_name(struct span *rest)
{
	uint32_t label;

	while (take_number(rest, 1, &label)) {
		if ((label & POINTER) == POINTER)
			return skip_bytes(rest, 1);
		if (label > LABEL_MAX)
			return false;
		if (label == 0)
			return true;
		if (!skip_bytes(rest, label))
			return false;
	}
	return false;
}

struct dns_head {
	uint32_t id, flags, questions, answers, others, more;
};

static bool take_head(struct span *rest, struct dns_head *ret)
{
	return take_number(rest, 2, &ret->id) && take_number(rest, 2, &ret->flags) &&
	       take_number(rest, 2, &ret->questions) && take_number(rest, 2, &ret->answers) &&
	       take_number(rest, 2, &ret->others) && take_number(rest, 2, &ret->more);
}

/* Checks the head and the question; sets the position after them. */
static bool take_question(struct span *rest, struct dns_head *head, struct dns_question *ret)
{
	const char *begin;
	uint32_t kind, class;

	if (!take_head(rest, head) || head->questions != 1 || (head->flags & OPCODE_MASK) != 0)
		return false;
	begin = rest->data;
	if (!take_name(rest, ret->name) || !take_number(rest, 2, &kind) ||
	    !take_number(rest, 2, &class) || class != CLASS_IN)
		return false;
	ret->id = (uint16_t)head->id;
	ret->kind = (uint16_t)kind;
	ret->wants_recursion = head->flags & FLAG_RECURSION_WANTED;
	ret->text = (struct span){begin, (size_t)(rest->data - begin)};
	return true;
}

bool dns_question_parse(struct span query, struct dns_question *ret)
{
	struct dns_head head;

	return take_question(&query, &head, ret) && !(head.flags & FLAG_ANSWER);
}

bool dns_question_is_for_address(const struct dns_question *q)
{
	return q->kind == DNS_KIND_A || q->kind == KIND_ANY;
}

static void add_found(struct dns_addresses *ret, uint32_t kind, struct span data)
{
	uint32_t address;

	if (kind == DNS_KIND_A && data.size == ADDRESS_SIZE && ret->count < DNS_ADDRESSES_MAX &&
	    take_number(&data, ADDRESS_SIZE, &address))
		ret->items[ret->count++] = address;
	else if (kind == DNS_KIND_AAAA && data.size == ADDRESS6_SIZE &&
	         ret->count6 < DNS_ADDRESSES_MAX)
		memcpy(&ret->items6[ret->count6++], data.data, ADDRESS6_SIZE);
}

/* Reads a record; adds its address if it is one of this kind. */
static bool take_record(struct span *rest, uint16_t wanted, struct dns_addresses *ret)
{
	size_t before = ret->count + ret->count6;
	uint32_t kind, class, ttl_s, size;
	struct span data;

	if (!skip_name(rest) || !take_number(rest, 2, &kind) || !take_number(rest, 2, &class) ||
	    !take_number(rest, 4, &ttl_s) || !take_number(rest, 2, &size))
		return false;
	data = (struct span){rest->data, size};
	if (!skip_bytes(rest, size))
		return false;
	if (kind != wanted || class != CLASS_IN)
		return true;
	add_found(ret, kind, data);
	if (ret->count + ret->count6 > before)
		ret->ttl_s = before == 0 || ttl_s < ret->ttl_s ? ttl_s : ret->ttl_s;
	return true;
}

bool dns_answer_parse(struct span answer, const struct dns_question *asked, enum dns_code *ret_code,
                      struct dns_addresses *ret)
{
	struct dns_addresses found = {.count = 0};
	struct dns_question question;
	struct dns_head head;

	if (!take_question(&answer, &head, &question) || !(head.flags & FLAG_ANSWER) ||
	    question.id != asked->id || question.kind != asked->kind ||
	    strcasecmp(question.name, asked->name) != 0)
		return false;
	/* A truncated answer has the records that fitted. */
	for (uint32_t i = 0; i < head.answers; i++)
		if (!take_record(&answer, asked->kind, &found))
			break;
	*ret_code = (enum dns_code)(head.flags & CODE_MASK);
	*ret = found;
	return true;
}

static void put_number(struct buf *out, unsigned size, uint32_t number)
{
	while (size-- > 0)
		buf_add_byte(out, (char)(number >> 8 * size & 255));
}

static void put_head(struct buf *out, const struct dns_head *head)
{
	put_number(out, 2, head->id);
	put_number(out, 2, head->flags);
	put_number(out, 2, head->questions);
	put_number(out, 2, head->answers);
	put_number(out, 2, head->others);
	put_number(out, 2, head->more);
}

void dns_answer_write(struct buf *out, const struct dns_question *q, enum dns_code code,
                      const struct dns_addresses *addresses)
{
	const struct dns_head head = {
	        .id = q->id,
	        .flags = FLAG_ANSWER | FLAG_RECURSION_CAN |
	                 (q->wants_recursion ? FLAG_RECURSION_WANTED : 0) | code,
	        .questions = 1,
	        .answers = (uint32_t)addresses->count,
	};

	put_head(out, &head);
	buf_add_span(out, q->text);
	for (size_t i = 0; i < addresses->count; i++) {
		put_number(out, 2, POINTER_TO_QUESTION);
		put_number(out, 2, DNS_KIND_A);
		put_number(out, 2, CLASS_IN);
		put_number(out, 4, addresses->ttl_s);
		put_number(out, 2, ADDRESS_SIZE);
		put_number(out, ADDRESS_SIZE, addresses->items[i]);
	}
}

void dns_query_write(struct buf *out, const struct dns_question *q)
{
	const struct dns_head head = {.id = q->id, .flags = FLAG_RECURSION_WANTED, .questions = 1};
	struct span rest = span_of(q->name), label;

	put_head(out, &head);
	for (bool has_more = true; has_more;) {
		has_more = span_split(&rest, '.', &label);
		put_number(out, 1, (uint32_t)label.size);
		buf_add_span(out, label);
	}
	put_number(out, 1, 0);
	put_number(out, 2, q->kind);
	put_number(out, 2, CLASS_IN);
}
