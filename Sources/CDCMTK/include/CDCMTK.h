#ifndef CDCMTK_H
#define CDCMTK_H

#include "CDICOMParser.h"

/*
 * What DCMTK is used for, behind a C interface (and OpenJPEG, for JPEG 2000, which DCMTK does not decode):
 *
 * - reading the files that the project's own parser, CDICOMParser, does not understand;
 * - decoding compressed frames;
 * - reading and writing segmentations and structure sets (cdcmtk_objects.h), and reading DICOMDIR.
 *
 * Every function returns a code and, unless that is CDICOM_OK, fills the caller's error. No exception leaves. No
 * patient name, identifier or birth date passes this interface. All functions may be called from several threads at
 * once; a decoder belongs to one thread at a time. Two MiB of free stack suffice for any file, however deep it nests.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* The versions of the libraries behind this, such as 3.6.7 and 2.5.0. */
const char *cdcmtk_version(void);
const char *cdcmtk_openjpeg_version(void);

/* What DCMTK's dictionary calls two UIDs of a header; empty when it does not know them. */
typedef struct {
    char sop_class[96];              /* e.g. CTImageStorage */
    char transfer_syntax[96];
} cdcmtk_names;

/*
 * Reads a header and the functional groups of frames, as cdicom_read_object does; with DCMTK where that does not
 * understand the file. `names` may be null. Needs DCMTK's dictionary for every file.
 */
cdicom_code cdcmtk_read_object(const char *path, cdicom_header *header, cdcmtk_names *names, cdicom_frame **frames,
                               size_t *count, cdicom_error *error);

/*
 * Calls `visit` with each ReferencedFileID (0004,1500) of a DICOMDIR, in the order of its records, components joined by
 * backslashes as stored. The text is the file's own and must not be trusted. A call that returns other than 0 ends the
 * reading. Records are read one after the other, so that offsets that lead in circles do no harm.
 */
cdicom_code cdcmtk_read_directory(const char *path, int (*visit)(void *context, const char *reference), void *context,
                                  cdicom_error *error);

/* How the samples of an object lie in their cells; from the object that is decoded. */
typedef struct {
    int32_t rows, columns, bits_allocated, bits_stored, high_bit, is_signed;
} cdcmtk_pixel_layout;

/* A part of a frame. */
typedef struct {
    int32_t x, y, width, height;
} cdcmtk_rectangle;

typedef struct cdcmtk_decoder cdcmtk_decoder;

/* Opens an object for decoding; to be given to cdcmtk_decoder_close. Pixels stay in the file until asked for. */
cdicom_code cdcmtk_decoder_open(const char *path, cdcmtk_decoder **decoder, cdicom_error *error);

void cdcmtk_decoder_close(cdcmtk_decoder *decoder);

/*
 * Decodes one frame, or a part of it, of a single-sample image of `layout`: the stored bits alone, sign from the high
 * bit, then the modality table if `with_table` is not 0 and the object has one, else slope * value + intercept in
 * double, rounded once to float. Rows follow each other in `pixels`, which holds `count` floats, as many as the part
 * has pixels. `part` may be null. Layouts that contradict the file are an error. The last frame is kept, so that the
 * parts of one are cheap. For float pixels the bits of `layout` are not compared.
 */
cdicom_code cdcmtk_decoder_read_frame(cdcmtk_decoder *decoder, uint32_t frame, const cdcmtk_pixel_layout *layout,
                                      const cdcmtk_rectangle *part, double slope, double intercept, int with_table,
                                      float *pixels, size_t count, cdicom_error *error);

/* Oddities of the pixel data that were overcome so far, one a line; valid until the decoder is used again. */
const char *cdcmtk_decoder_notes(cdcmtk_decoder *decoder);

/* What a picture needs to be known before it is decoded. */
typedef struct {
    int32_t rows, columns, bits, samples, frames;
    int32_t is_palette, is_ybr, is_grey;
} cdcmtk_picture;

cdicom_code cdcmtk_decoder_picture(cdcmtk_decoder *decoder, cdcmtk_picture *picture, cdicom_error *error);

/*
 * Decodes the first frame as 8-bit RGB, 3 bytes a pixel, `count` bytes in all: colour as it is, palettes looked up, YBR
 * converted, grey through the header's window or, without one, from its least to its largest value.
 */
cdicom_code cdcmtk_decoder_read_picture(cdcmtk_decoder *decoder, uint8_t *pixels, size_t count, cdicom_error *error);

#ifdef __cplusplus
}
#endif

/* Objects beside images: segmentations and structure sets. */
#include "cdcmtk_objects.h"

#endif
