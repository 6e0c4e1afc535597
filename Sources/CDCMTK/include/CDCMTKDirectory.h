#ifndef CDCMTK_DIRECTORY_H
#define CDCMTK_DIRECTORY_H

#include "CDCMTK.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls `visit` with each ReferencedFileID (0004,1500) of a DICOMDIR, in the order of its records, components joined by
 * backslashes as stored. The text is the file's own and must not be trusted. A call that returns other than 0 ends the
 * walk. Records are read one after the other, so that offsets that lead in circles do no harm.
 */
cdcmtk_code cdcmtk_read_directory(const char *path, int (*visit)(void *context, const char *reference), void *context,
                                  cdcmtk_error *error);

#ifdef __cplusplus
}
#endif

#endif
