/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/trash_room.h"
#include "unit.h"

TEST(a_disk_with_room_lacks_nothing)
{
	const struct trash_lack lack = trash_room_lack(TRASH_ROOM_BYTES, TRASH_ROOM_FILES);

	assert_int_equal(lack.bytes, 0);
	assert_int_equal(lack.files, 0);
	assert_int_equal(trash_room_lack(UINT64_MAX, UINT64_MAX).files, 0);
}

TEST(what_is_missing_is_told_for_bytes_and_files_apart)
{
	assert_int_equal(trash_room_lack(TRASH_ROOM_BYTES - 5, UINT64_MAX).bytes, 5);
	assert_int_equal(trash_room_lack(0, UINT64_MAX).bytes, TRASH_ROOM_BYTES);
	assert_int_equal(trash_room_lack(UINT64_MAX, TRASH_ROOM_FILES - 1).files, 1);
	assert_int_equal(trash_room_lack(UINT64_MAX, TRASH_ROOM_FILES - 1).bytes, 0);
}

int main(void)
{
	return RUN(CASE(a_disk_with_room_lacks_nothing),
	           CASE(what_is_missing_is_told_for_bytes_and_files_apart));
}
