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
    CDCMTK_HAS_SERIES_NUMBER = 1u << 20,
    CDCMTK_HAS_ECHO_TIME = 1u << 21,
    CDCMTK_HAS_TRIGGER_TIME = 1u << 22,
    CDCMTK_HAS_CONTENT_TIME = 1u << 23,
    CDCMTK_HAS_ACQUISITION_TIME = 1u << 24,
    CDCMTK_HAS_TEMPORAL_POSITION = 1u << 25,
    CDCMTK_HAS_B_VALUE = 1u << 26,
    CDCMTK_HAS_PADDING = 1u << 27,
    CDCMTK_HAS_PADDING_LIMIT = 1u << 28,
    CDCMTK_HAS_SLICE_SPACING = 1u << 29,
    CDCMTK_HAS_MOSAIC_NORMAL = 1u << 30,
    CDCMTK_HAS_IN_STACK_POSITION = 1u << 31
};

/* The element that holds the pixels. */
enum {
    CDCMTK_PIXELS_NONE = 0,
    CDCMTK_PIXELS_CELLS = 1,         /* PixelData */
    CDCMTK_PIXELS_FLOAT = 2,         /* FloatPixelData */
    CDCMTK_PIXELS_DOUBLE = 3         /* DoubleFloatPixelData */
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
    double echo_time, trigger_time;  /* ms */
    double content_time, acquisition_time; /* seconds of the day */
    double b_value;                  /* s/mm2 */
    double slice_spacing;            /* SpacingBetweenSlices, mm */
    int64_t temporal_position;
    int64_t padding_value, padding_limit;
    int32_t pixel_kind;              /* CDCMTK_PIXELS_… */
    int32_t mosaic_tiles;            /* of a Siemens mosaic; 0 when not stated */
    double mosaic_normal[3];         /* the direction in which its slices follow each other, LPS+ */
    int32_t acquisition_matrix[4];   /* frequency rows and columns, phase rows and columns; 0 when not stated */
    char units[24];                  /* of PET */
    char manufacturer[72];
} cdcmtk_header;

#define CDCMTK_MOST_DIMENSIONS 16

/* What a frame's functional groups state, its own before those of all. Numbers as in the header. */
typedef struct {
    uint32_t present;
    double position[3], orientation[6], pixel_spacing[2];
    double slice_thickness, slice_spacing, rescale_slope, rescale_intercept, window_center, window_width;
    double echo_time, trigger_time, content_time, acquisition_time, b_value;
    int64_t temporal_position, acquisition_number, in_stack_position;
    int32_t dimension_count;
    uint32_t dimensions[CDCMTK_MOST_DIMENSIONS];
    char stack_id[24];
    char frame_type[96];             /* values joined by backslashes */
} cdcmtk_frame;

/* How the samples of an object lie in their cells; from the object that is decoded. */
typedef struct {
    int32_t rows, columns, bits_allocated, bits_stored, high_bit, is_signed;
} cdcmtk_pixel_layout;

/* A part of a frame. */
typedef struct {
    int32_t x, y, width, height;
} cdcmtk_rectangle;

typedef struct cdcmtk_decoder cdcmtk_decoder;

/* The versions of the libraries behind this, such as 3.6.7 and 2.5.0. */
const char *cdcmtk_version(void);
const char *cdcmtk_openjpeg_version(void);

/*
 * 1 when the file begins like a DICOM object: "DICM" after the preamble, or without preamble a plausible first element
 * of group 2 or 8. 0 when not, or when it is no regular file. -1 when it cannot be read (text says why).
 */
int cdcmtk_looks_like_dicom(const char *path, cdcmtk_error *error);

/* Reads the elements before the pixel data. The pixel data itself is never touched. */
cdcmtk_code cdcmtk_read_header(const char *path, cdcmtk_header *header, cdcmtk_error *error);

/*
 * The same, with the functional groups of a multi-frame object: `frames` is null, or `count` of them, one for each item
 * of PerFrameFunctionalGroupsSequence (which a hostile file may let differ from NumberOfFrames); to be given to free().
 */
cdcmtk_code cdcmtk_read_object(const char *path, cdcmtk_header *header, cdcmtk_frame **frames, size_t *count,
                               cdcmtk_error *error);

/* Opens an object for decoding; to be given to cdcmtk_decoder_close. Pixels stay in the file until asked for. */
cdcmtk_code cdcmtk_decoder_open(const char *path, cdcmtk_decoder **decoder, cdcmtk_error *error);

void cdcmtk_decoder_close(cdcmtk_decoder *decoder);

/*
 * Decodes one frame, or a part of it, of a single-sample image of `layout`: the stored bits alone, sign from the high
 * bit, then the modality table if `with_table` is not 0 and the object has one, else slope * value + intercept in
 * double, rounded once to float. Rows follow each other in `pixels`, which holds `count` floats, as many as the part
 * has pixels. `part` may be null. Layouts that contradict the file are an error. The last frame is kept, so that the
 * parts of one are cheap. For float pixels the bits of `layout` are not looked at.
 */
cdcmtk_code cdcmtk_decoder_read_frame(cdcmtk_decoder *decoder, uint32_t frame, const cdcmtk_pixel_layout *layout,
                                      const cdcmtk_rectangle *part, double slope, double intercept, int with_table,
                                      float *pixels, size_t count, cdcmtk_error *error);

/* Oddities of the pixel data that were overcome so far, one a line; valid until the decoder is used again. */
const char *cdcmtk_decoder_notes(cdcmtk_decoder *decoder);

/* What a picture needs to be known before it is decoded. */
typedef struct {
    int32_t rows, columns, bits, samples, frames;
    int32_t is_palette, is_ybr, is_grey;
} cdcmtk_picture;

cdcmtk_code cdcmtk_decoder_picture(cdcmtk_decoder *decoder, cdcmtk_picture *picture, cdcmtk_error *error);

/*
 * Decodes the first frame as 8-bit RGB, 3 bytes a pixel, `count` bytes in all: colour as it is, palettes looked up, YBR
 * converted, grey through the header's window or, without one, from its least to its largest value.
 */
cdcmtk_code cdcmtk_decoder_read_picture(cdcmtk_decoder *decoder, uint8_t *pixels, size_t count, cdcmtk_error *error);

#ifdef __cplusplus
}
#endif

#include "CDCMTKDirectory.h"
/* Objects beside images: segmentations and structure sets. */
#include "cdcmtk_objects.h"

#endif
