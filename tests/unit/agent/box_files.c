/* SPDX-License-Identifier: Apache-2.0 */
#include "box.h"

struct agent_file call(struct box *b, int fd, uint16_t type, const struct agent_path *path)
{
	struct agent_file file;

	say(b, fd, type, agent_path_shape, path);
	HEAR(b, fd, AGENT_FILE, agent_file, &file);
	(void)hear_done(b, fd);
	return file;
}

struct agent_failed call_fails(struct box *b, int fd, uint16_t type, const struct agent_path *path)
{
	say(b, fd, type, agent_path_shape, path);
	return hear_failed(b, fd);
}

void send_bytes(struct box *b, int fd, struct span bytes)
{
	while (bytes.size) {
		struct span piece = {bytes.data,
		                     bytes.size < AGENT_DATA_MAX ? bytes.size : AGENT_DATA_MAX};

		say_raw(b, fd, AGENT_DATA, piece);
		bytes.data += piece.size;
		bytes.size -= piece.size;
	}
	say(b, fd, AGENT_DATA_END, NULL, NULL);
}

void write_file(struct box *b, int fd, const struct agent_path *path, struct span bytes)
{
	struct agent_file file;

	say(b, fd, AGENT_WRITE, agent_path_shape, path);
	HEAR_EMPTY(b, fd, AGENT_READY);
	send_bytes(b, fd, bytes);
	HEAR(b, fd, AGENT_FILE, agent_file, &file);
	assert_int_equal(hear_done(b, fd), file.size);
}

void collect(struct box *b, int fd, struct buf *out)
{
	uint16_t type;

	while ((type = hear_any(b, fd)) == AGENT_DATA)
		buf_add_span(out, buf_span(&b->payload));
	assert_int_equal(type, AGENT_DONE);
}

void read_file(struct box *b, int fd, const struct agent_path *path, struct buf *out)
{
	say(b, fd, AGENT_READ, agent_path_shape, path);
	HEAR(b, fd, AGENT_FILE, agent_file, &(struct agent_file){0});
	collect(b, fd, out);
}

const char *list_files(struct box *b, int fd, uint16_t type, const struct agent_path *path)
{
	AUTO(buf_done) struct buf all = BUF(1 << 20);
	struct agent_file file;
	struct error err;
	uint16_t got;

	say(b, fd, type, agent_path_shape, path);
	while ((got = hear_any(b, fd)) == AGENT_FILE) {
		assert_int_equal(wire_decode(&b->arena, buf_span(&b->payload), agent_file_shape,
		                             &file, sizeof(file), &err),
		                 0);
		buf_addf(&all, "%s%s", all.size ? " " : "", file.path);
	}
	assert_int_equal(got, AGENT_DONE);
	return arena_copy(&b->arena, buf_span(&all));
}

struct agent_path beneath(struct box *b, const char *path)
{
	return (struct agent_path){.root = b->folder, .path = path, .flags = AGENT_PATH_BENEATH};
}
