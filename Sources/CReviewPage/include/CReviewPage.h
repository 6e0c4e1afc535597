#ifndef CREVIEWPAGE_H
#define CREVIEWPAGE_H

#include <stddef.h>

/*
 * The files of Sources/NocturneReview/Page, as parts of the program. In C, since the Swift compiler takes 14 seconds for
 * arrays of this size.
 */
typedef struct creviewpage_file {
    /* A file name, without a folder. */
    const char *_Nonnull name;
    const unsigned char *_Nonnull bytes;
    size_t count;
} creviewpage_file;

/* All files, `index.html` first. */
const creviewpage_file *_Nonnull creviewpage_files(size_t *_Nonnull count);

#endif
