#ifndef CDCMTK_H
#define CDCMTK_H

#include "CDICOMParser.h"

/*
 * A C interface to the functions of DCMTK that are used (and to OpenJPEG, for JPEG 2000, which DCMTK does not decode):
 *
 * - reading the files that the project's own parser, CDICOMParser, does not understand;
 * - decoding compressed frames;
 * - reading and writing segmentations and structure sets (cdcmtk_objects.h), and reading DICOMDIR.
 *
 * Every function returns a code and, unless that is CDICOM_OK, fills the caller's error. No exception leaves a
 * function. No patient name, identifier or birth date passes through this interface. All functions may be called from
 * several threads at once; a decoder may be used by one thread at a time. Two MiB of free stack suffice for any file,
 * whatever its nesting depth.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* The versions of the underlying libraries, such as 3.6.7 and 2.5.0. */
const char *cdcmtk_version(void);
const char *cdcmtk_openjpeg_version(void);

/* The names of two UIDs of a header in DCMTK's dictionary; empty if it does not contain them. */
typedef struct {
    char sop_class[96];              /* e.g. CTImageStorage */
    char transfer_syntax[96];
} cdcmtk_names;

/*
 * Reads a header and the functional groups of frames, as cdicom_read_object does, or with DCMTK if that function does
 * not understand the file. `names` may be null. Needs DCMTK's dictionary for every file.
 */
cdicom_code cdcmtk_read_object(const char *path, cdicom_header *header, cdcmtk_names *names, cdicom_plane **frames,
                               size_t *count, cdicom_error *error);

/* Reads what the header of a PET image states about activity, in the same way. */
cdicom_code cdcmtk_read_pet(const char *path, cdicom_pet *pet, cdicom_error *error);

/*
 * Calls `visit` with each ReferencedFileID (0004,1500) of a DICOMDIR, in the order of its records, components joined by
 * backslashes as stored. The text comes from the file and must not be trusted. A call that returns a nonzero value
 * stops the reading. Records are read sequentially, so that circular offsets do no harm.
 */
cdicom_code cdcmtk_read_directory(const char *path, int (*visit)(void *context, const char *reference), void *context,
                                  cdicom_error *error);

/* The layout of the samples in their cells; from the object that is decoded. */
typedef struct {
    int32_t rows, columns, bits_allocated, bits_stored, high_bit, is_signed;
} cdcmtk_pixel_layout;

/* A part of a frame. */
typedef struct {
    int32_t x, y, width, height;
} cdcmtk_rectangle;

/* What is read of a single-sample image, and how: the modality table if `with_table` is not 0 and the object has one,
   otherwise slope * value + intercept in double, rounded once to float. */
typedef struct {
    uint32_t frame;
    cdcmtk_pixel_layout layout;
    cdcmtk_rectangle part;
    double slope, intercept;
    int32_t with_table;
} cdcmtk_slice;

typedef struct cdcmtk_decoder cdcmtk_decoder;

/* Opens an object for decoding; must be closed with cdcmtk_decoder_close. Pixels stay in the file until they are
   requested. */
cdicom_code cdcmtk_decoder_open(const char *path, cdcmtk_decoder **decoder, cdicom_error *error);

void cdcmtk_decoder_close(cdcmtk_decoder *decoder);

/*
 * Decodes a part of a frame: only the stored bits, with the high bit as sign. Rows are consecutive in `pixels`, which
 * holds `count` floats, the number of pixels of the part. Layouts that contradict the file are an error. The last frame
 * is cached, so that reading several parts of one frame is cheap. For float pixels the bits of the layout are not
 * compared.
 */
cdicom_code cdcmtk_decoder_read(cdcmtk_decoder *decoder, const cdcmtk_slice *slice, float *pixels, size_t count,
                                cdicom_error *error);

/* Irregularities of the pixel data that could be handled so far, one per line; valid until the decoder is used
   again. */
const char *cdcmtk_decoder_notes(cdcmtk_decoder *decoder);

/* The properties of a picture that must be known before it is decoded. */
typedef struct {
    int32_t rows, columns, bits, samples, frames;
    int32_t is_palette, is_ybr, is_grey;
    int32_t is_stretched;            /* grey, drawn from the smallest to the largest value */
} cdcmtk_picture;

cdicom_code cdcmtk_decoder_picture(cdcmtk_decoder *decoder, cdcmtk_picture *picture, cdicom_error *error);

/*
 * Decodes the first frame as 8-bit RGB, 3 bytes per pixel, `count` bytes in total: colour unchanged, palettes looked
 * up, YBR converted, grey through the header's window or table. Without both, grey photos (Visible Light) and grey of at
 * most 8 bits cover all values that their bits can have; the rest goes from its smallest to its largest value.
 */
cdicom_code cdcmtk_decoder_read_picture(cdcmtk_decoder *decoder, uint8_t *pixels, size_t count, cdicom_error *error);

/* What the header of a JPEG stream states. */
typedef struct {
    int32_t marker;                  /* of the frame: 0xC3 for lossless JPEG */
    int32_t rows, columns, components, bits;
} cdcmtk_jpeg_frame;

/* Reads the header of a JPEG stream; 0 if its beginning has none. */
int cdcmtk_read_jpeg_frame(const uint8_t *stream, size_t length, cdcmtk_jpeg_frame *frame);

/*
 * Decodes a stream of lossless JPEG that is not part of a DICOM object: the first `count` bytes of its samples, those of a pixel
 * adjacent, one byte each for up to 8 bits, else two in the machine's order.
 */
cdicom_code cdcmtk_decode_lossless_jpeg(const uint8_t *stream, size_t length, void *samples, size_t count,
                                        cdicom_error *error);

#ifdef __cplusplus
}
#endif

/* Objects other than images: segmentations and structure sets. */
#include "cdcmtk_objects.h"

#endif
