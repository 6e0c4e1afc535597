#include "objects.hpp"
#include "segframes.hpp"

#include <cmath>
#include <cstring>

using cdcmtk::copy;
using cdcmtk::fail;
using cdcmtk::text_in;

namespace {

int32_t unsigned_in(DcmItem &item, const DcmTagKey &tag, int32_t otherwise) {
    Uint16 value = 0;
    return item.findAndGetUint16(tag, value).good() ? int32_t(value) : otherwise;
}

/// A value that is there and is not a number becomes NaN.
void take_distance(DcmItem &item, const DcmTagKey &tag, double &distance) {
    double number = 0;
    if (cdcmtk::numbers_in(item, tag, &number, 1)) distance = number;
    else if (!text_in(item, tag).empty()) distance = std::nan("");
}

void fill_frame(DcmItem &groups, cdcmtk_segmentation_frame &frame, cdcmtk::ImageReferences &images) {
    if (DcmItem *item = cdcmtk::first_item(groups, DCM_PlanePositionSequence)) {
        if (cdcmtk::numbers_in(*item, DCM_ImagePositionPatient, frame.position, 3)) frame.has_position = 1;
    }
    if (DcmItem *item = cdcmtk::first_item(groups, DCM_PlaneOrientationSequence)) {
        if (cdcmtk::numbers_in(*item, DCM_ImageOrientationPatient, frame.orientation, 6)) frame.has_orientation = 1;
    }
    if (DcmItem *item = cdcmtk::first_item(groups, DCM_PixelMeasuresSequence)) {
        if (cdcmtk::numbers_in(*item, DCM_PixelSpacing, frame.pixel_spacing, 2)) frame.has_spacing = 1;
        take_distance(*item, DCM_SliceThickness, frame.slice_thickness);
        take_distance(*item, DCM_SpacingBetweenSlices, frame.slice_spacing);
    }
    if (DcmItem *item = cdcmtk::first_item(groups, DCM_SegmentIdentificationSequence)) {
        frame.segment = unsigned_in(*item, DCM_ReferencedSegmentNumber, frame.segment);
    }
    cdcmtk::for_each_item(groups, DCM_DerivationImageSequence, [&](DcmItem &derivation) {
        images.add(derivation, DCM_SourceImageSequence);
        return true;
    });
}

/// Whether the frames are tiles of a microscopic image of a slide, whose plane is not one of a patient's body.
bool is_of_slide(DcmDataset &set) {
    if (set.tagExists(DCM_TotalPixelMatrixColumns) || set.tagExists(DCM_TotalPixelMatrixOriginSequence)) return true;
    return text_in(set, DCM_DimensionOrganizationType).compare(0, 5, "TILED") == 0;
}

cdicom_code fill_facts(cdcmtk_segmentation &made, size_t maximum_frames, cdcmtk_segmentation_facts &facts,
                       cdicom_error *error) {
    DcmDataset &set = *made.file.getDataset();
    std::memset(&facts, 0, sizeof facts);
    const std::string kind = text_in(set, DCM_SegmentationType);
    if (kind == "BINARY") facts.kind = CDCMTK_SEG_BINARY;
    else if (kind == "FRACTIONAL") facts.kind = CDCMTK_SEG_FRACTIONAL;
    else if (kind == "LABELMAP") facts.kind = CDCMTK_SEG_LABELMAP;
    else return fail(error, CDCMTK_OTHER_OBJECT, "no segmentation: SegmentationType (0062,0001) is neither BINARY, "
                                                 "FRACTIONAL nor LABELMAP");
    if (is_of_slide(set)) {
        return fail(error, CDCMTK_OTHER_OBJECT,
                    "a segmentation of a microscopic slide, whose frames are tiles of one image: not of a volume");
    }
    copy(set, DCM_FrameOfReferenceUID, facts.frame_of_reference_uid);
    cdcmtk::for_each_item(set, DCM_ReferencedSeriesSequence, [&](DcmItem &series) {
        if (facts.referenced_series_uid[0] == 0) copy(series, DCM_SeriesInstanceUID, facts.referenced_series_uid);
        made.images.add(series, DCM_ReferencedInstanceSequence);
        return true;
    });
    facts.rows = unsigned_in(set, DCM_Rows, 0);
    facts.columns = unsigned_in(set, DCM_Columns, 0);
    facts.bits_allocated = unsigned_in(set, DCM_BitsAllocated, 0);
    facts.bits_stored = unsigned_in(set, DCM_BitsStored, facts.bits_allocated);
    facts.high_bit = unsigned_in(set, DCM_HighBit, facts.bits_stored - 1);
    facts.maximum_fraction = unsigned_in(set, DCM_MaximumFractionalValue, 255);
    facts.padding = unsigned_in(set, DCM_PixelPaddingValue, -1);
    const int32_t bits = facts.bits_allocated;
    const bool fits = facts.kind == CDCMTK_SEG_BINARY ? bits == 1 || bits == 8
        : facts.kind == CDCMTK_SEG_FRACTIONAL        ? bits == 8
                                                     : bits == 8 || bits == 16;
    if (!fits || facts.rows == 0 || facts.columns == 0 || unsigned_in(set, DCM_SamplesPerPixel, 1) != 1
        || facts.bits_stored < 1 || facts.bits_stored > bits || facts.high_bit != facts.bits_stored - 1) {
        return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                    std::to_string(facts.columns) + "×" + std::to_string(facts.rows) + " pixels of "
                        + std::to_string(bits) + " bits are not those of a " + kind + " segmentation");
    }
    Sint32 stated = 0;
    if (set.findAndGetSint32(DCM_NumberOfFrames, stated).bad() || stated < 1) {
        return fail(error, CDCMTK_MISSING_ELEMENT, "NumberOfFrames (0028,0008) is missing or not positive");
    }
    if (uint64_t(stated) > maximum_frames) {
        return fail(error, CDCMTK_TOO_MANY, std::to_string(stated) + " frames, more than supported");
    }
    facts.frames = size_t(stated);
    return CDICOM_OK;
}

/// Reads the functional groups of every frame, in one pass; a frame without a group uses the shared one.
cdicom_code fill_frames(cdcmtk_segmentation &made, const cdcmtk_segmentation_facts &facts, cdicom_error *error) {
    DcmDataset &set = *made.file.getDataset();
    cdcmtk_segmentation_frame shared;
    std::memset(&shared, 0, sizeof shared);
    shared.segment = -1;
    if (DcmItem *groups = cdcmtk::first_item(set, DCM_SharedFunctionalGroupsSequence)) {
        fill_frame(*groups, shared, made.images);
    }
    cdcmtk::for_each_item(set, DCM_PerFrameFunctionalGroupsSequence, [&](DcmItem &groups) {
        if (made.frames.size() == facts.frames) return false;
        made.frames.push_back(shared);
        fill_frame(groups, made.frames.back(), made.images);
        return true;
    });
    if (made.frames.size() != facts.frames) {
        return fail(error, CDCMTK_MISSING_ELEMENT,
                    "PerFrameFunctionalGroupsSequence (5200,9230) has " + std::to_string(made.frames.size())
                        + " frames, NumberOfFrames (0028,0008) is " + std::to_string(facts.frames));
    }
    return CDICOM_OK;
}

}  // namespace

extern "C" cdicom_code cdcmtk_segmentation_open(const char *path, size_t maximum_frames, size_t maximum_segments,
                                                cdcmtk_segmentation **segmentation, cdcmtk_segmentation_facts *facts,
                                                cdicom_error *error) {
    *segmentation = nullptr;
    return cdcmtk::guarded(error, [=]() -> cdicom_code {
        cdicom_code code = cdcmtk::prepare(error);
        if (code != CDICOM_OK) return code;
        std::unique_ptr<cdcmtk_segmentation> made(new cdcmtk_segmentation);
        code = cdcmtk::load(path, made->file, nullptr, nullptr, error);
        if (code != CDICOM_OK) return code;
        code = fill_facts(*made, maximum_frames, *facts, error);
        if (code == CDICOM_OK) code = fill_frames(*made, *facts, error);
        if (code != CDICOM_OK) return code;
        bool is_too_many = false;
        cdcmtk::for_each_item(*made->file.getDataset(), DCM_SegmentSequence, [&](DcmItem &item) {
            is_too_many = made->segments.size() >= maximum_segments;
            if (!is_too_many) made->segments.push_back(&item);
            return !is_too_many;
        });
        if (is_too_many) return fail(error, CDCMTK_TOO_MANY, "more segments than supported");
        facts->segments = made->segments.size();
        facts->referenced_images = made->images.count();
        made->facts = *facts;
        code = cdcmtk::find_frames(*made, error);
        if (code == CDICOM_OK) *segmentation = made.release();
        return code;
    });
}

extern "C" void cdcmtk_segmentation_close(cdcmtk_segmentation *segmentation) { delete segmentation; }

extern "C" cdicom_code cdcmtk_segmentation_segment(cdcmtk_segmentation *segmentation, size_t index,
                                                   cdcmtk_segment_facts *facts, cdicom_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdicom_code {
        if (index >= segmentation->segments.size()) return fail(error, CDICOM_INTERNAL, "no such segment");
        DcmItem &item = *segmentation->segments[index];
        std::memset(facts, 0, sizeof *facts);
        facts->number = unsigned_in(item, DCM_SegmentNumber, -1);
        if (facts->number < 0) return fail(error, CDCMTK_MISSING_ELEMENT, "SegmentNumber (0062,0004) is missing");
        copy(item, DCM_SegmentLabel, facts->label);
        copy(item, DCM_SegmentDescription, facts->description);
        copy(item, DCM_SegmentAlgorithmType, facts->algorithm_type);
        copy(item, DCM_SegmentAlgorithmName, facts->algorithm_name);
        cdcmtk::code_in(item, DCM_SegmentedPropertyCategoryCodeSequence, facts->category);
        cdcmtk::code_in(item, DCM_SegmentedPropertyTypeCodeSequence, facts->type);
        facts->has_color = 1;
        for (unsigned long axis = 0; axis < 3; axis += 1) {
            if (item.findAndGetUint16(DCM_RecommendedDisplayCIELabValue, facts->lab[axis], axis).bad()) {
                facts->has_color = 0;
            }
        }
        return CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_segmentation_image(cdcmtk_segmentation *segmentation, size_t index,
                                                 cdcmtk_image_reference *image, cdicom_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdicom_code { return segmentation->images.get(index, image, error); });
}

extern "C" cdicom_code cdcmtk_segmentation_frame_facts(cdcmtk_segmentation *segmentation, size_t index,
                                                       cdcmtk_segmentation_frame *facts, cdicom_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdicom_code {
        if (index >= segmentation->frames.size()) return fail(error, CDICOM_INTERNAL, "no such frame");
        *facts = segmentation->frames[index];
        return CDICOM_OK;
    });
}
