#pragma once
#include <zlib.h>

/* zlib's initialisers are macros, which Swift cannot import. */
static inline int czlib_inflateInit2(z_streamp stream, int windowBits) { return inflateInit2(stream, windowBits); }
static inline int czlib_deflateInit2(z_streamp stream, int level, int windowBits) {
    return deflateInit2(stream, level, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY);
}
