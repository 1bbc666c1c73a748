#ifndef WEB_FILES_H
#define WEB_FILES_H

#include <stddef.h>

/// A file that is part of the program.
struct web_file {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// How many there are.
size_t web_file_count(void);

/// The file at an index below `web_file_count`.
struct web_file web_file_at(size_t index);

#endif
