#ifndef CDICOM_PARSER_H
#define CDICOM_PARSER_H

#include <stddef.h>
#include <stdint.h>

/*
 * The project's own parser of DICOM data sets. It links zlib, and no part of DCMTK.
 *
 * Reasons for a separate parser although DCMTK reads DICOM:
 *
 * - Files are not trusted. Inputs are all files in a folder, including truncated and hostile ones. Every length that a
 *   file states is compared with the size of the file before it is used, so that a stated length alone allocates no
 *   memory. Nesting, the items of a sequence, the stored bytes of a header and the size of an inflated data set have
 *   fixed limits. DCMTK's parser recurses once for every nested sequence, without a limit.
 * - Discovery reads the headers of tens of thousands of files. The parser reads element headers through a window of
 *   16 KiB, skips the values it does not need, and stops at the pixels, in half the time of DCMTK's parser: 10,000
 *   files in 0.28 s on two cores, where dcm2niix needs 0.93 s (Tools/benchmarks/RESULTS.md).
 * - Pixels stay in the file until a frame is requested, and one frame is read at a time. Pixel data with a wrong or
 *   missing offset table, a wrong length or no end marker is still read where that is safe.
 * - Only the elements listed in kept_elements.hpp are stored. Of the elements about the patient these are name, identifier and
 *   birth date, which are compared with the file's path and those of other files and then forgotten, and the weight, for
 *   uptake values of PET.
 *
 * A data set whose representation (explicit or implicit) is not the one that its transfer syntax states is read as it
 * is, if all of it is then understood.
 *
 * Files that the parser does not understand with certainty (no preamble, an unknown transfer syntax, elements out of
 * order) are left to DCMTK: the functions here then return CDICOM_NOT_UNDERSTOOD, and those of the target CDCMTK, which
 * depends on this one, read the file with DCMTK's parser (cdcmtk_read_object, cdcmtk_decoder_open).
 *
 * Every function returns a code and, unless that is CDICOM_OK, fills the caller's error. No exception leaves a
 * function. All functions may be called from several threads at once. They need less than 2 MiB of stack for any file.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Codes of this target and of CDCMTK. */
typedef enum {
    CDICOM_OK = 0,
    CDICOM_NOT_OPENED = 1,           /* the system cannot open or read the file */
    CDICOM_NOT_READABLE = 2,         /* the file can be opened, but its structure is invalid */
    CDICOM_NESTED_TOO_DEEP = 3,      /* sequences are nested more deeply than in any real object */
    CDICOM_NO_DICTIONARY = 4,        /* the data dictionary of DCMTK was not found */
    CDICOM_NO_PIXEL_DATA = 5,
    CDICOM_WRONG_PIXEL_LENGTH = 6,   /* fewer or more bytes than rows and columns require */
    CDICOM_UNSUPPORTED_PIXELS = 7,   /* unsupported bits, samples or transfer syntax */
    CDICOM_DECODER_FAILED = 8,       /* the text is the decoder's message */
    CDICOM_NO_MEMORY = 9,
    CDICOM_INTERNAL = 10,            /* an exception was caught */
    CDICOM_NOT_UNDERSTOOD = 11,      /* a file for DCMTK's parser; never returned by CDCMTK */
    CDICOM_NOT_DICOM = 12,           /* the file does not start like a DICOM object, or is not a regular file */
    /* Of segmentations and structure sets. */
    CDCMTK_MISSING_ELEMENT = 100,    /* an element that the object needs */
    CDCMTK_SOURCES_DIFFER = 101,     /* not all of one study and one frame of reference */
    CDCMTK_GRID_DIFFERS = 102,       /* a slice is not at the position that the grid specifies */
    CDCMTK_NOT_WRITTEN = 103,
    CDCMTK_TOO_MANY = 104,           /* more parts than the caller allows */
    CDCMTK_OTHER_OBJECT = 105        /* a file of another type */
} cdicom_code;

typedef struct {
    uint32_t condition;              /* DCMTK's module << 16 | code; 0 when the error is not DCMTK's */
    char text[256];
} cdicom_error;

/* Numbers of a header that were present and readable, as bits. */
enum {
    CDICOM_HAS_ROWS = 1u << 0,
    CDICOM_HAS_COLUMNS = 1u << 1,
    CDICOM_HAS_BITS_ALLOCATED = 1u << 2,
    CDICOM_HAS_BITS_STORED = 1u << 3,
    CDICOM_HAS_HIGH_BIT = 1u << 4,
    CDICOM_HAS_PIXEL_REPRESENTATION = 1u << 5,
    CDICOM_HAS_SAMPLES = 1u << 6,
    CDICOM_HAS_FRAMES = 1u << 7,
    CDICOM_HAS_POSITION = 1u << 8,
    CDICOM_HAS_ORIENTATION = 1u << 9,
    CDICOM_HAS_PIXEL_SPACING = 1u << 10,
    CDICOM_HAS_SLICE_THICKNESS = 1u << 11,
    CDICOM_HAS_INSTANCE_NUMBER = 1u << 12,
    CDICOM_HAS_RESCALE_SLOPE = 1u << 13,
    CDICOM_HAS_RESCALE_INTERCEPT = 1u << 14,
    CDICOM_HAS_ECHO_NUMBER = 1u << 15,
    CDICOM_HAS_ACQUISITION_NUMBER = 1u << 16,
    CDICOM_HAS_GANTRY_TILT = 1u << 17,
    CDICOM_HAS_WINDOW = 1u << 18,
    CDICOM_HAS_MODALITY_LUT = 1u << 19,
    CDICOM_HAS_SERIES_NUMBER = 1u << 20,
    CDICOM_HAS_ECHO_TIME = 1u << 21,
    CDICOM_HAS_TRIGGER_TIME = 1u << 22,
    CDICOM_HAS_CONTENT_TIME = 1u << 23,
    CDICOM_HAS_ACQUISITION_TIME = 1u << 24,
    CDICOM_HAS_TEMPORAL_POSITION = 1u << 25,
    CDICOM_HAS_B_VALUE = 1u << 26,
    CDICOM_HAS_PADDING = 1u << 27,
    CDICOM_HAS_PADDING_LIMIT = 1u << 28,
    CDICOM_HAS_SLICE_SPACING = 1u << 29,
    CDICOM_HAS_MOSAIC_NORMAL = 1u << 30
};

/* The element that contains the pixels. */
enum {
    CDICOM_PIXELS_NONE = 0,
    CDICOM_PIXELS_CELLS = 1,         /* PixelData: integers */
    CDICOM_PIXELS_FLOAT = 2,         /* FloatPixelData */
    CDICOM_PIXELS_DOUBLE = 3         /* DoubleFloatPixelData */
};

/* The representation of a data set that is not the one its transfer syntax states. */
enum {
    CDICOM_AS_STATED = 0,
    CDICOM_IS_IMPLICIT = 1,
    CDICOM_IS_EXPLICIT = 2
};

/* How the value of an element with numbers was read that is there, and is not as the standard has it. */
enum {
    CDICOM_VALUE_EMPTY = 1,          /* without a character but spaces; the element counts as missing */
    CDICOM_VALUE_REPAIRED = 2,       /* has one meaning, and is read so */
    CDICOM_VALUE_UNUSABLE = 3,       /* not a number, or not as many as the element has */
    CDICOM_VALUE_TWICE = 4           /* the element is there twice, with different values */
};

typedef struct {
    uint32_t tag;
    int32_t kind;                    /* CDICOM_VALUE_… */
    char text[64];                   /* the value as stored; numbers in binary as decimals */
    char read_as[64];                /* of a repaired value: its numbers */
} cdicom_remark;

#define CDICOM_MOST_REMARKS 64

/* At most one remark for each tag, in the order of their reading: of several frames for the one that is worst. */
typedef struct {
    int32_t count;
    cdicom_remark remarks[CDICOM_MOST_REMARKS];
} cdicom_remarks;

#define CDICOM_MOST_DIMENSIONS 16

/*
 * The values stated for a plane: in the data set for the whole object, or in the functional groups of a frame, its own, else the
 * shared ones.
 */
typedef struct {
    uint32_t present;                /* CDICOM_HAS_…; of an object also for the numbers of its header */
    int64_t rows, columns, instance_number, echo_number; /* not of a frame */
    int64_t acquisition_number, temporal_position;
    double position[3];              /* mm, LPS+, centre of the first pixel */
    double orientation[6];
    double pixel_spacing[2];         /* between rows, between columns */
    double slice_thickness, rescale_slope, rescale_intercept;
    double slice_spacing;            /* SpacingBetweenSlices, mm */
    double window_center, window_width;
    double echo_time, trigger_time;  /* ms */
    double content_time, acquisition_time; /* seconds of the day */
    double b_value;                  /* s/mm2 */
    /* Not of a frame; 0 when missing: kV, ms, ms, degrees. */
    double peak_voltage, repetition_time, inversion_time, flip_angle;
    char kernel[64];                 /* ConvolutionKernel; not of a frame */
    char image_type[160];            /* or the frame type; values joined by backslashes */
    char rescale_type[24];           /* of the output values: "HU", "US", …; with a table its type */
    char stack_id[24];
    int32_t dimension_count;
    uint32_t dimensions[CDICOM_MOST_DIMENSIONS];
} cdicom_plane;

/* The values stated in the header of one object. Texts are truncated to their field and end in 0. */
typedef struct {
    char sop_class_uid[72];
    char sop_instance_uid[72];
    char study_uid[72];
    char series_uid[72];
    char frame_of_reference_uid[72];
    char transfer_syntax_uid[72];
    char modality[24];
    char photometric[24];
    char series_description[264];    /* UTF-8, like the other texts for people */
    cdicom_plane plane;
    int64_t file_size;
    int64_t bits_allocated, bits_stored, high_bit, pixel_representation, samples, frames, series_number;
    double gantry_tilt;
    char concatenation_uid[72];
    int64_t concatenation_number, concatenation_total; /* 0 when missing */
    int64_t padding_value, padding_limit;
    int32_t pixel_kind;              /* CDICOM_PIXELS_… */
    int32_t misstated;               /* CDICOM_AS_STATED, or how the data set is encoded instead */
    int32_t mosaic_tiles;            /* slices of a Siemens mosaic or United Imaging grid; 0 when not stated */
    double mosaic_normal[3];         /* the direction in which its slices follow each other, LPS+ */
    char units[24];                  /* of PET */
    int64_t stated_slices;           /* NumberOfSlices of PET; 0 when not stated */
    char manufacturer[264];
    char study_date[24], study_time[24], series_date[24];
    int32_t identity_removed;        /* whether PatientIdentityRemoved is YES */
    /* Only to compare objects, and to find them in the file's path. */
    char patient_name[584];
    char patient_id[264], patient_id_issuer[264];
    char birth_date[24], patient_sex[24];
    char accession_number[72];
    cdicom_remarks remarks;          /* on the numbers of the data set and of its functional groups */
} cdicom_header;

/*
 * What the header of a PET image states about activity. Texts are as stored, empty when missing; numbers are NaN when
 * missing.
 */
typedef struct {
    char units[24];                  /* of the values */
    char suv_type[24];
    char decay_correction[24];
    char corrected_image[160];       /* values joined by backslashes */
    char series_date[24], acquisition_date[24];
    char start_date_time[40];        /* of the injection */
    char ge_scan_date_time[40];      /* the start of the scan, in the private block of GE */
    char time_zone[24];              /* TimezoneOffsetFromUTC, of dates and times that do not state another one */
    double series_time, acquisition_time, start_time; /* seconds of the day; the last one is that of the injection */
    double weight;                   /* kg */
    double total_dose;               /* Bq */
    double half_life;                /* s */
    double philips_suv_factor, philips_activity_factor;
    double frame_reference_time, frame_duration; /* ms */
    int32_t radiopharmaceuticals;    /* the items of the sequence; the values are those of the first one */
    cdicom_remarks remarks;
} cdicom_pet;

/*
 * Returns 1 if the file starts like a DICOM object: "DICM" after the preamble, or without preamble a plausible first
 * element of group 2 or 8. Returns 0 if not, if it is not a regular file, and if it cannot be read. The functions that read an
 * object check the same first, and return CDICOM_NOT_DICOM.
 */
int cdicom_looks_like_dicom(const char *path);

/*
 * Reads the elements before the pixel data, and the functional groups of a multi-frame object. The pixel data itself is
 * never read. `frames` is set to null, or to `count` frames, one for each item of PerFrameFunctionalGroupsSequence
 * (whose number may differ from NumberOfFrames), or for each tile of a United Imaging grid; the caller must pass it to free(). Both pointers may be null.
 */
cdicom_code cdicom_read_object(const char *path, cdicom_header *header, cdicom_plane **frames, size_t *count,
                               cdicom_error *error);

#ifdef __cplusplus
}
#endif

#endif
