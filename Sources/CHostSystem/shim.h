#ifndef NEWSWIRE_CHOSTSYSTEM_SHIM_H
#define NEWSWIRE_CHOSTSYSTEM_SHIM_H

#include <spawn.h>

/* Swift's Glibc module is built without _GNU_SOURCE and so lacks these two of glibc (2.9 and 2.34). */

int pipe2(int ends[2], int flags);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

/* Of glibc's malloc.h. */
int malloc_trim(size_t pad);

#endif
