/* SPDX-License-Identifier: Apache-2.0 */
#include "server_backup/server_backup.h"

int main(int argc, char **argv)
{
	return server_backup_main(argc, argv);
}
