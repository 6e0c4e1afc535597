#include "objects.hpp"
#include "validity.hpp"

#include <cerrno>
#include <cmath>
#include <map>
#include <sys/statvfs.h>

namespace {

using cdcmtk::require;
using cdcmtk::put;
using cdcmtk::fail;

std::string joined(const double *values, size_t count) {
    std::string text;
    for (size_t index = 0; index < count; index += 1) {
        text += (index == 0 ? "" : "\\") + cdcmtk::decimal(values[index]);
    }
    return text;
}

/// The position stated for a frame, as numbers and as text; false when none is stated.
bool stated_position(DcmDataset &set, uint32_t frame, double position[3], std::string &text) {
    DcmItem *place = &set;
    const std::string frames = cdcmtk::text_in(set, DCM_NumberOfFrames);
    // In a multi-frame object, a position outside the functional groups can only be that of the first frame.
    if (!set.tagExists(DCM_ImagePositionPatient) || (!frames.empty() && frames != "1")) {
        DcmItem *groups = nullptr;
        if (set.findAndGetSequenceItem(DCM_PerFrameFunctionalGroupsSequence, groups, long(frame)).bad() || !groups) {
            return false;
        }
        place = cdcmtk::first_item(*groups, DCM_PlanePositionSequence);
    }
    if (!place || !cdcmtk::numbers_in(*place, DCM_ImagePositionPatient, position, 3)) return false;
    text = cdcmtk::text_in(*place, DCM_ImagePositionPatient);
    if (!cdcmtk::is_decimal_text(text)) text = joined(position, 3);
    return true;
}

/// The orientation text as written in the source, if it equals the grid's orientation.
std::string orientation_text(DcmDataset &set, const double wanted[6]) {
    double stated[6];
    if (cdcmtk::numbers_in(set, DCM_ImageOrientationPatient, stated, 6)) {
        double most = 0;
        for (int index = 0; index < 6; index += 1) most = std::max(most, std::fabs(stated[index] - wanted[index]));
        const std::string text = cdcmtk::text_in(set, DCM_ImageOrientationPatient);
        if (most < 1e-6 && cdcmtk::is_decimal_text(text)) return text;
    }
    return joined(wanted, 6);
}

void begin_common(const cdcmtk_object_plan &plan, cdcmtk_object &object) {
    DcmDataset &set = object.set();
    object.rows = plan.rows;
    object.columns = plan.columns;
    std::copy(plan.orientation, plan.orientation + 6, object.directions);
    object.tolerance = plan.tolerance;
    object.maker_number = plan.maker_number;
    object.dimension_uid = plan.dimension_uid;
    object.fallback_frame_uid = plan.frame_of_reference_uid;
    object.algorithm = plan.algorithm;
    object.algorithm_type = plan.algorithm_type;
    put(set, DCM_SOPInstanceUID, plan.instance_uid);
    put(set, DCM_SeriesInstanceUID, plan.series_uid);
    put(set, DCM_SeriesDescription, plan.description);
    put(set, DCM_InstanceNumber, "1");
    put(set, DCM_Manufacturer, "Nocturne");
    put(set, DCM_ManufacturerModelName, plan.model_name);
    put(set, DCM_DeviceSerialNumber, "0");
    put(set, DCM_SoftwareVersions, plan.software);
}

/// Writes the pixel measures, which all frames share.
void put_measures(DcmItem &shared, const cdcmtk_object_plan &plan) {
    DcmItem &measures = cdcmtk::add_item(shared, DCM_PixelMeasuresSequence);
    put(measures, DCM_SliceThickness, cdcmtk::decimal(plan.slice_step));
    put(measures, DCM_SpacingBetweenSlices, cdcmtk::decimal(plan.slice_step));
    put(measures, DCM_PixelSpacing, joined(plan.pixel_spacing, 2));
}

}  // namespace

extern "C" cdicom_code cdcmtk_segmentation_begin(const cdcmtk_object_plan *plan, cdcmtk_object **object,
                                                 cdicom_error *error) {
    *object = nullptr;
    return cdcmtk::built(error, [=]() -> cdicom_code {
        const cdicom_code code = cdcmtk::prepare(error);
        if (code != CDICOM_OK) return code;
        std::unique_ptr<cdcmtk_object> made(new cdcmtk_object);
        made->is_segmentation = true;
        begin_common(*plan, *made);
        DcmDataset &set = made->set();
        put(set, DCM_SOPClassUID, UID_SegmentationStorage);
        put(set, DCM_Modality, "SEG");
        put(set, DCM_ImageType, "DERIVED\\PRIMARY");
        put(set, DCM_ContentLabel, "SEGMENTATION");
        put(set, DCM_ContentDescription, plan->description);
        require(set.insertEmptyElement(DCM_ContentCreatorName));
        put(set, DCM_SegmentationType, "BINARY");
        put(set, DCM_SegmentsOverlap, "NO");
        put(set, DCM_BurnedInAnnotation, "NO");
        put(set, DCM_SamplesPerPixel, Uint16(1));
        put(set, DCM_PhotometricInterpretation, "MONOCHROME2");
        put(set, DCM_Rows, Uint16(plan->rows));
        put(set, DCM_Columns, Uint16(plan->columns));
        put(set, DCM_BitsAllocated, Uint16(1));
        put(set, DCM_BitsStored, Uint16(1));
        put(set, DCM_HighBit, Uint16(0));
        put(set, DCM_PixelRepresentation, Uint16(0));
        put(cdcmtk::add_item(set, DCM_DimensionOrganizationSequence), DCM_DimensionOrganizationUID,
            made->dimension_uid);
        const struct {
            DcmTagKey index, group;
            const char *label;
        } dimensions[] = {
            {DCM_ReferencedSegmentNumber, DCM_SegmentIdentificationSequence, "Segment"},
            {DCM_ImagePositionPatient, DCM_PlanePositionSequence, "Position"},
        };
        for (const auto &dimension : dimensions) {
            DcmItem &item = cdcmtk::add_item(set, DCM_DimensionIndexSequence);
            put(item, DCM_DimensionOrganizationUID, made->dimension_uid);
            require(item.putAndInsertTagKey(DCM_DimensionIndexPointer, dimension.index));
            require(item.putAndInsertTagKey(DCM_FunctionalGroupPointer, dimension.group));
            put(item, DCM_DimensionDescriptionLabel, dimension.label);
        }
        put_measures(cdcmtk::add_item(set, DCM_SharedFunctionalGroupsSequence), *plan);
        *object = made.release();
        return CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_structure_begin(const cdcmtk_object_plan *plan, cdcmtk_object **object,
                                              cdicom_error *error) {
    *object = nullptr;
    return cdcmtk::built(error, [=]() -> cdicom_code {
        const cdicom_code code = cdcmtk::prepare(error);
        if (code != CDICOM_OK) return code;
        std::unique_ptr<cdcmtk_object> made(new cdcmtk_object);
        begin_common(*plan, *made);
        DcmDataset &set = made->set();
        put(set, DCM_SOPClassUID, UID_RTStructureSetStorage);
        put(set, DCM_Modality, "RTSTRUCT");
        require(set.insertEmptyElement(DCM_OperatorsName));
        put(set, DCM_StructureSetLabel, "SEGMENTATION");
        put(set, DCM_StructureSetDescription, plan->description);
        put(set, DCM_ApprovalStatus, "UNAPPROVED");
        *object = made.release();
        return CDICOM_OK;
    });
}

extern "C" void cdcmtk_object_free(cdcmtk_object *object) { delete object; }

extern "C" cdicom_code cdcmtk_object_add_source(cdcmtk_object *object, const char *path, uint32_t frame,
                                                const double position[3], cdicom_error *error) {
    return cdcmtk::built(error, [=]() -> cdicom_code {
        if (!object->open_file || object->open_path != path) {
            object->open_file.reset(new DcmFileFormat);
            object->open_path = path;
            const DcmTagKey stop = DCM_PixelData;
            const cdicom_code code = cdcmtk::load(path, *object->open_file, &stop, nullptr, error);
            if (code != CDICOM_OK) return code;
        }
        DcmDataset &set = *object->open_file->getDataset();
        ObjectSource source;
        source.class_uid = cdcmtk::text_in(set, DCM_SOPClassUID);
        source.instance_uid = cdcmtk::text_in(set, DCM_SOPInstanceUID);
        source.series_uid = cdcmtk::text_in(set, DCM_SeriesInstanceUID);
        source.frame = frame;
        source.is_multi_frame = set.tagExists(DCM_NumberOfFrames)
            && (frame > 0 || cdcmtk::text_in(set, DCM_NumberOfFrames) != "1"
                || set.tagExists(DCM_PerFrameFunctionalGroupsSequence));
        const std::string study = cdcmtk::text_in(set, DCM_StudyInstanceUID);
        if (source.class_uid.empty() || source.instance_uid.empty() || source.series_uid.empty() || study.empty()) {
            return fail(error, CDCMTK_MISSING_ELEMENT,
                        "the UID of study, series, class or instance is missing: nothing can refer to this image");
        }
        if (object->sources.empty()) {
            cdcmtk::copy_modules(set, *object);
            object->orientation = orientation_text(set, object->directions);
        } else {
            const std::string frame_uid = cdcmtk::text_in(set, DCM_FrameOfReferenceUID);
            if (study != object->study_uid
                || (frame_uid.empty() ? object->fallback_frame_uid : frame_uid) != object->frame_uid) {
                return fail(error, CDCMTK_SOURCES_DIFFER,
                            "the study or the frame of reference is not that of the first source");
            }
        }
        double stated[3];
        if (stated_position(set, frame, stated, source.position)) {
            double off = 0;
            for (int axis = 0; axis < 3; axis += 1) {
                off += (stated[axis] - position[axis]) * (stated[axis] - position[axis]);
            }
            if (!(std::sqrt(off) <= object->tolerance)) {
                return fail(error, CDCMTK_GRID_DIFFERS,
                            "the slice lies " + cdcmtk::decimal(std::sqrt(off))
                                + " mm away from its position in the grid");
            }
        } else {
            source.position = joined(position, 3);
        }
        const bool is_new = object->sources.empty()
            || object->sources.back().instance_uid != source.instance_uid;
        if (is_new) object->instances.push_back(object->sources.size());
        source.instance = object->instances.size() - 1;
        object->sources.push_back(source);
        return CDICOM_OK;
    });
}

namespace {

/// The instances of each series; series are in the order of their first instance.
std::vector<std::pair<std::string, std::vector<const ObjectSource *>>> by_series(const cdcmtk_object &object) {
    std::vector<std::pair<std::string, std::vector<const ObjectSource *>>> series;
    std::map<std::string, size_t> places;
    for (const size_t place : object.instances) {
        const ObjectSource &source = object.sources[place];
        const auto known = places.emplace(source.series_uid, series.size());
        if (known.second) series.push_back({source.series_uid, {}});
        series[known.first->second].second.push_back(&source);
    }
    return series;
}

void finish_segmentation(cdcmtk_object &object) {
    DcmDataset &set = object.set();
    put(set, DCM_NumberOfFrames, std::to_string(object.frames));
    DcmItem *shared = cdcmtk::first_item(set, DCM_SharedFunctionalGroupsSequence);
    put(cdcmtk::add_item(*shared, DCM_PlaneOrientationSequence), DCM_ImageOrientationPatient, object.orientation);
    for (const auto &series : by_series(object)) {
        DcmItem &item = cdcmtk::add_item(set, DCM_ReferencedSeriesSequence);
        put(item, DCM_SeriesInstanceUID, series.first);
        for (const ObjectSource *source : series.second) {
            cdcmtk::refer_to(item, DCM_ReferencedInstanceSequence, *source, false);
        }
    }
}

bool is_full(const char *path) {
    struct statvfs facts;
    return statvfs(path, &facts) == 0 && facts.f_bavail == 0;
}

void finish_structure(cdcmtk_object &object) {
    DcmDataset &set = object.set();
    DcmItem &frame = cdcmtk::add_item(set, DCM_ReferencedFrameOfReferenceSequence);
    put(frame, DCM_FrameOfReferenceUID, object.frame_uid);
    DcmItem &study = cdcmtk::add_item(frame, DCM_RTReferencedStudySequence);
    // The standard still requires the retired class here.
    put(study, DCM_ReferencedSOPClassUID, UID_RETIRED_DetachedStudyManagementSOPClass);
    put(study, DCM_ReferencedSOPInstanceUID, object.study_uid);
    for (const auto &series : by_series(object)) {
        DcmItem &item = cdcmtk::add_item(study, DCM_RTReferencedSeriesSequence);
        put(item, DCM_SeriesInstanceUID, series.first);
        for (const ObjectSource *source : series.second) {
            cdcmtk::refer_to(item, DCM_ContourImageSequence, *source, false);
        }
    }
}

}  // namespace

extern "C" cdicom_code cdcmtk_object_save(cdcmtk_object *object, const char *path, cdicom_error *error) {
    return cdcmtk::built(error, [=]() -> cdicom_code {
        if (object->sources.empty()) return fail(error, CDCMTK_MISSING_ELEMENT, "no source");
        if (object->is_segmentation ? !object->has_pixels : object->regions == 0) {
            return fail(error, CDCMTK_MISSING_ELEMENT, "nothing to write");
        }
        object->is_segmentation ? finish_segmentation(*object) : finish_structure(*object);
        cdcmtk::unify_characters(*object);
        // Contours can exceed the 64 KiB limit of a decimal string with explicit representations.
        const E_TransferSyntax syntax =
            object->is_segmentation ? EXS_LittleEndianExplicit : EXS_LittleEndianImplicit;
        errno = 0;
        const OFCondition condition =
            object->file.saveFile(OFFilename(path), syntax, EET_UndefinedLength, EGL_recalcGL, EPD_noChange);
        const int system = errno;
        if (condition.good()) {
            // DCMTK ignores the result of closing the file: a full disk shows only as a truncated file.
            DcmFileFormat again;
            cdicom_error ignored;
            if (cdcmtk::load(path, again, nullptr, nullptr, &ignored) == CDICOM_OK
                && again.getDataset()->card() == object->set().card()) {
                return CDICOM_OK;
            }
        }
        fail(error, CDCMTK_NOT_WRITTEN, condition.bad() ? std::string(condition.text()) : "the file ends early");
        if (error) error->condition = static_cast<uint32_t>(system != 0 ? system : is_full(path) ? ENOSPC : 0);
        return CDCMTK_NOT_WRITTEN;
    });
}
