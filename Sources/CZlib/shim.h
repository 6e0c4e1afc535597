#pragma once
#include <zlib.h>

/* zlib's initialiser is a macro, which Swift cannot import. */
static inline int czlib_inflateInit2(z_streamp stream, int windowBits) { return inflateInit2(stream, windowBits); }
