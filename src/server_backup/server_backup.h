/* SPDX-License-Identifier: Apache-2.0 */
/* server_backup/server_backup.h — the program atoll-backup: a whole server as one file, and back.
 * 'atoll backup' and 'atoll restore' run it, as root, on the server's machine.
 *
 * A backup begins with a copy of the database. What that copy knows is read after it: layers do not
 * change; a sandbox with files of its own gets a snapshot first, so that its files become a layer
 * while its processes are held for milliseconds; what cannot get a snapshot is paused while it is
 * read. At the end these snapshots are removed. docs/operate/backup.md says what is guaranteed. */
#pragma once

/* The whole program; returns the exit status. */
int server_backup_main(int argc, char **argv);
