# SPDX-License-Identifier: Apache-2.0
# ./dev fmt — the C files as .clang-format wants them.

source tools/dev/setup.sh

dev_fmt()
{
	ensure_test_packages
	git ls-files -z --cached --others --exclude-standard 'src/*.[ch]' 'tests/*.[ch]' |
		xargs -0 -P "$(nproc)" -n 40 clang-format -i
}
