#ifndef CDCMTK_H
#define CDCMTK_H

#include <stddef.h>
#include <stdint.h>

/*
 * A narrow C face of DCMTK (and of OpenJPEG for JPEG 2000).
 *
 * Every function returns a code and, unless that is CDCMTK_OK, fills the caller's error. Nothing throws across this
 * edge. No patient name, identifier or birth date passes it. All functions may be called from several threads at once;
 * a decoder belongs to one thread at a time. Two MiB of free stack suffice for any file, however deep it nests.
 */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    CDCMTK_OK = 0,
    CDCMTK_NOT_OPENED = 1,           /* the system does not open or read the file */
    CDCMTK_NOT_READABLE = 2,         /* the file opens, but its structure is broken */
    CDCMTK_NESTED_TOO_DEEP = 3,      /* sequences inside sequences beyond any real object */
    CDCMTK_NO_DICTIONARY = 4,        /* the data dictionary of DCMTK was not found */
    CDCMTK_NO_PIXEL_DATA = 5,
    CDCMTK_WRONG_PIXEL_LENGTH = 6,   /* fewer or more bytes than rows and columns need */
    CDCMTK_UNSUPPORTED_PIXELS = 7,   /* bits, samples or transfer syntax which are not decoded */
    CDCMTK_DECODER_FAILED = 8,       /* the decoder's words are in the text */
    CDCMTK_NO_MEMORY = 9,
    CDCMTK_INTERNAL = 10             /* an exception reached the edge */
} cdcmtk_code;

typedef struct {
    uint32_t condition;              /* DCMTK's own module << 16 | code, 0 when it did not speak */
    char text[256];
} cdcmtk_error;

/* Which numbers of a header were present and readable. */
enum {
    CDCMTK_HAS_ROWS = 1u << 0,
    CDCMTK_HAS_COLUMNS = 1u << 1,
    CDCMTK_HAS_BITS_ALLOCATED = 1u << 2,
    CDCMTK_HAS_BITS_STORED = 1u << 3,
    CDCMTK_HAS_HIGH_BIT = 1u << 4,
    CDCMTK_HAS_PIXEL_REPRESENTATION = 1u << 5,
    CDCMTK_HAS_SAMPLES = 1u << 6,
    CDCMTK_HAS_FRAMES = 1u << 7,
    CDCMTK_HAS_POSITION = 1u << 8,
    CDCMTK_HAS_ORIENTATION = 1u << 9,
    CDCMTK_HAS_PIXEL_SPACING = 1u << 10,
    CDCMTK_HAS_SLICE_THICKNESS = 1u << 11,
    CDCMTK_HAS_INSTANCE_NUMBER = 1u << 12,
    CDCMTK_HAS_RESCALE_SLOPE = 1u << 13,
    CDCMTK_HAS_RESCALE_INTERCEPT = 1u << 14,
    CDCMTK_HAS_ECHO_NUMBER = 1u << 15,
    CDCMTK_HAS_ACQUISITION_NUMBER = 1u << 16,
    CDCMTK_HAS_GANTRY_TILT = 1u << 17,
    CDCMTK_HAS_WINDOW = 1u << 18,
    CDCMTK_HAS_MODALITY_LUT = 1u << 19,
    CDCMTK_HAS_SERIES_NUMBER = 1u << 20
};

/* The header facts of one object. Texts are cut to their field and end in 0. */
typedef struct {
    char sop_class_uid[72];
    char sop_class_name[96];         /* DCMTK's name of that class, e.g. CTImageStorage; empty when unknown */
    char sop_instance_uid[72];
    char study_uid[72];
    char series_uid[72];
    char frame_of_reference_uid[72];
    char transfer_syntax_uid[72];
    char transfer_syntax_name[96];
    char modality[24];
    char photometric[24];
    char image_type[160];            /* values joined by backslashes */
    char series_description[136];    /* bytes as stored */
    uint32_t present;                /* CDCMTK_HAS_… */
    int64_t file_size;
    int64_t rows, columns, bits_allocated, bits_stored, high_bit, pixel_representation, samples, frames;
    int64_t instance_number, echo_number, acquisition_number, series_number;
    double position[3];              /* mm, LPS+, centre of the first pixel */
    double orientation[6];
    double pixel_spacing[2];         /* between rows, between columns */
    double slice_thickness, rescale_slope, rescale_intercept, gantry_tilt;
    double window_center, window_width;
} cdcmtk_header;

/* How the samples of an object lie in their cells; from the object that is decoded. */
typedef struct {
    int32_t rows, columns, bits_allocated, bits_stored, high_bit, is_signed;
} cdcmtk_pixel_layout;

typedef struct cdcmtk_decoder cdcmtk_decoder;

/*
 * 1 when the file begins like a DICOM object: "DICM" after the preamble, or without preamble a plausible first element
 * of group 2 or 8. 0 when not, or when it is no regular file. -1 when it cannot be read (text says why).
 */
int cdcmtk_looks_like_dicom(const char *path, cdcmtk_error *error);

/* Reads the elements before the pixel data. The pixel data itself is never touched. */
cdcmtk_code cdcmtk_read_header(const char *path, cdcmtk_header *header, cdcmtk_error *error);

/* Opens an object for decoding; to be given to cdcmtk_decoder_close. Large values stay in the file until asked for. */
cdcmtk_code cdcmtk_decoder_open(const char *path, cdcmtk_decoder **decoder, cdcmtk_error *error);

void cdcmtk_decoder_close(cdcmtk_decoder *decoder);

/*
 * Decodes one frame of a single-sample image of `layout`: the stored bits alone, sign from the high bit, then
 * slope * value + intercept in double, rounded once to float. Rows follow each other in `pixels`, which holds `count`
 * floats and must be rows * columns of them. Layouts that contradict the file are an error.
 */
cdcmtk_code cdcmtk_decoder_read_frame(cdcmtk_decoder *decoder, uint32_t frame, const cdcmtk_pixel_layout *layout,
                                      double slope, double intercept, float *pixels, size_t count,
                                      cdcmtk_error *error);

#ifdef __cplusplus
}
#endif

/* Objects beside images: segmentations and structure sets. */
#include "cdcmtk_objects.h"

#endif
