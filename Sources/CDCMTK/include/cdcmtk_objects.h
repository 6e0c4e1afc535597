#ifndef CDCMTK_OBJECTS_H
#define CDCMTK_OBJECTS_H

#include "CDICOMParser.h"

/*
 * Reading and writing of segmentations (SEG) and structure sets (RTSTRUCT).
 *
 * Functions return a code, and fill the caller's error. The patient and study attributes of a written object are
 * copied from the first source file inside this library: none of them passes through this interface. An object or a
 * reader may be used by one thread at a time.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Writing ---- */

typedef struct cdcmtk_object cdcmtk_object;

/* Texts are UTF-8; UIDs are created by the caller. Lengths in mm, LPS+. */
typedef struct {
    const char *series_uid, *instance_uid;
    const char *dimension_uid;           /* of the dimensions of a segmentation */
    const char *frame_of_reference_uid;  /* used if the sources state none */
    const char *model_name, *software, *algorithm, *description;
    /* How the labels were made: AUTOMATIC, SEMIAUTOMATIC or MANUAL. */
    const char *algorithm_type;
    int32_t rows, columns;
    double orientation[6];               /* along a row, down a column */
    double pixel_spacing[2];             /* between rows, between columns */
    double slice_step;
    double tolerance;                    /* maximum distance of a source from its expected position */
    int32_t maker_number;                /* 0 to 498, part of the series number: differs between models */
} cdcmtk_object_plan;

typedef struct {
    const char *label;
    const char *category[3], *type[3];   /* scheme, value, meaning */
    uint16_t lab[3];
} cdcmtk_segment;

cdicom_code cdcmtk_segmentation_begin(const cdcmtk_object_plan *plan, cdcmtk_object **object, cdicom_error *error);
cdicom_code cdcmtk_structure_begin(const cdcmtk_object_plan *plan, cdcmtk_object **object, cdicom_error *error);
void cdcmtk_object_free(cdcmtk_object *object);

/* Adds the next slice of the grid: frame `frame` (from 0) of a file, expected at `position`. */
cdicom_code cdcmtk_object_add_source(cdcmtk_object *object, const char *path, uint32_t frame, const double position[3],
                                     cdicom_error *error);

/* Segments are numbered from 1 in the order in which they are added. */
cdicom_code cdcmtk_segmentation_add_segment(cdcmtk_object *object, const cdcmtk_segment *segment, cdicom_error *error);

/* Adds a frame of segment `segment` (from 1) on slice `slice` (from 0). */
cdicom_code cdcmtk_segmentation_add_frame(cdcmtk_object *object, uint32_t segment, uint32_t slice, cdicom_error *error);

/* After the last frame: returns zeroed memory for the bits of all frames, consecutive without padding, lowest bit
   first. */
cdicom_code cdcmtk_segmentation_pixels(cdcmtk_object *object, uint8_t **bytes, size_t *count, cdicom_error *error);

/* Regions are numbered from 1; `code` is scheme, value, meaning, or three null pointers. */
cdicom_code cdcmtk_structure_add_region(cdcmtk_object *object, const char *name, const uint8_t color[3],
                                        const char *const code[3], cdicom_error *error);

/* Adds a closed contour to the last region: `count` points of three coordinates. */
cdicom_code cdcmtk_structure_add_contour(cdcmtk_object *object, uint32_t slice, const double *points, size_t count,
                                         cdicom_error *error);

/* Writes the file and reads it again as a check. With CDCMTK_NOT_WRITTEN, `condition` is the errno, or 0. */
cdicom_code cdcmtk_object_save(cdcmtk_object *object, const char *path, cdicom_error *error);

/* ---- Reading ---- */

enum { CDCMTK_SEG_BINARY = 0, CDCMTK_SEG_FRACTIONAL = 1, CDCMTK_SEG_LABELMAP = 2 };

typedef struct {
    char scheme[72], value[72], meaning[264];
} cdcmtk_coded_text;

typedef struct {
    char frame_of_reference_uid[72];
    char referenced_series_uid[72];      /* of the first referenced series */
    int32_t kind, rows, columns, bits_allocated, bits_stored, high_bit;
    int32_t maximum_fraction;
    int32_t padding;                     /* PixelPaddingValue, -1 when missing */
    size_t frames, segments, referenced_images;
} cdcmtk_segmentation_facts;

/* An image that an object refers to. */
typedef struct {
    char instance_uid[72];
    int32_t frame;                       /* from 1; 0 for all of the instance */
} cdcmtk_image_reference;

typedef struct {
    int32_t number;
    int32_t has_color;
    uint16_t lab[3];
    char label[264], description[264], algorithm_type[24], algorithm_name[264];
    cdcmtk_coded_text category, type;
} cdcmtk_segment_facts;

typedef struct {
    int32_t segment;                     /* -1 when the frame states none */
    int32_t has_position, has_orientation, has_spacing;
    double position[3], orientation[6], pixel_spacing[2];
    double slice_thickness, slice_spacing;   /* 0 when missing, NaN when not a number */
} cdcmtk_segmentation_frame;

typedef struct cdcmtk_segmentation cdcmtk_segmentation;

cdicom_code cdcmtk_segmentation_open(const char *path, size_t maximum_frames, size_t maximum_segments,
                                     cdcmtk_segmentation **segmentation, cdcmtk_segmentation_facts *facts,
                                     cdicom_error *error);
void cdcmtk_segmentation_close(cdcmtk_segmentation *segmentation);
cdicom_code cdcmtk_segmentation_segment(cdcmtk_segmentation *segmentation, size_t index, cdcmtk_segment_facts *facts,
                                        cdicom_error *error);
cdicom_code cdcmtk_segmentation_frame_facts(cdcmtk_segmentation *segmentation, size_t index,
                                            cdcmtk_segmentation_frame *facts, cdicom_error *error);

cdicom_code cdcmtk_segmentation_image(cdcmtk_segmentation *segmentation, size_t index, cdcmtk_image_reference *image,
                                      cdicom_error *error);

/* The stored values of one frame, row by row; `count` is rows * columns. */
cdicom_code cdcmtk_segmentation_read_frame(cdcmtk_segmentation *segmentation, size_t index, uint16_t *values,
                                           size_t count, cdicom_error *error);

typedef struct {
    char label[72], frame_of_reference_uid[72], referenced_series_uid[72];
    size_t regions, referenced_images;
} cdcmtk_structure_facts;

typedef struct {
    int32_t number;
    int32_t has_color;
    uint8_t color[3];
    char name[264], description[264], frame_of_reference_uid[72], interpreted_type[40];
    cdcmtk_coded_text code;
    size_t contours;
} cdcmtk_region_facts;

typedef struct {
    char geometric_type[40];
    cdcmtk_image_reference image;        /* on which it was drawn; empty where it names none */
    const double *points;                /* x, y, z of each; valid until the next call */
    size_t count;                        /* of numbers */
} cdcmtk_contour_facts;

typedef struct cdcmtk_structure cdcmtk_structure;

/* The largest counts that are read; `numbers` are those of one contour. */
typedef struct {
    size_t regions, contours, numbers;
} cdcmtk_structure_limits;

cdicom_code cdcmtk_structure_open(const char *path, const cdcmtk_structure_limits *limits, cdcmtk_structure **structure,
                                  cdcmtk_structure_facts *facts, cdicom_error *error);
void cdcmtk_structure_close(cdcmtk_structure *structure);
cdicom_code cdcmtk_structure_region(cdcmtk_structure *structure, size_t index, cdcmtk_region_facts *facts,
                                    cdicom_error *error);
cdicom_code cdcmtk_structure_contour(cdcmtk_structure *structure, size_t region, size_t index,
                                     cdcmtk_contour_facts *facts, cdicom_error *error);
/* The images that the set lists, without those that only contours name; an image may be in the list several times. */
cdicom_code cdcmtk_structure_image(cdcmtk_structure *structure, size_t index, cdcmtk_image_reference *image,
                                   cdicom_error *error);

#ifdef __cplusplus
}
#endif

#endif
