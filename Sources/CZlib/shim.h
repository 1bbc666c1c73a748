#ifndef NEWSWIRE_CZLIB_H
#define NEWSWIRE_CZLIB_H

#include <zlib.h>

/* A macro that Swift does not import; 47 is the largest window, and either header, gzip's or zlib's. */
static inline int czlib_inflate_init(z_stream *stream) { return inflateInit2(stream, 47); }

#endif
