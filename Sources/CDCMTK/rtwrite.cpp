#include "objects.hpp"

#include <charconv>
#include <cmath>

using cdcmtk::put;
using cdcmtk::fail;

namespace {

/// Appends a coordinate rounded to a tenth of a micrometre, without trailing zeros.
bool append_coordinate(std::string &text, double value) {
    char digits[64];
    if (!std::isfinite(value) || std::fabs(value) >= 1e9) return false;
    const auto made = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 4);
    if (made.ec != std::errc()) return false;
    std::string number(digits, made.ptr);
    while (number.back() == '0') number.pop_back();
    if (number.back() == '.') number.pop_back();
    if (number == "-0") number = "0";
    if (!text.empty()) text += '\\';
    text += number;
    return true;
}

}  // namespace

extern "C" cdicom_code cdcmtk_structure_add_region(cdcmtk_object *object, const char *name, const uint8_t color[3],
                                                   const char *const code[3], cdicom_error *error) {
    return cdcmtk::built(error, [=]() -> cdicom_code {
        if (object->sources.empty()) return fail(error, CDICOM_INTERNAL, "a region before its sources");
        DcmDataset &set = object->set();
        object->regions += 1;
        const std::string number = std::to_string(object->regions);
        DcmItem &region = cdcmtk::add_item(set, DCM_StructureSetROISequence);
        put(region, DCM_ROINumber, number);
        put(region, DCM_ReferencedFrameOfReferenceUID, object->frame_uid);
        put(region, DCM_ROIName, name);
        put(region, DCM_ROIGenerationAlgorithm, object->algorithm_type);
        DcmItem &contours = cdcmtk::add_item(set, DCM_ROIContourSequence);
        put(contours, DCM_ROIDisplayColor,
            std::to_string(color[0]) + "\\" + std::to_string(color[1]) + "\\" + std::to_string(color[2]));
        put(contours, DCM_ReferencedROINumber, number);
        DcmItem &observation = cdcmtk::add_item(set, DCM_RTROIObservationsSequence);
        put(observation, DCM_ObservationNumber, number);
        put(observation, DCM_ReferencedROINumber, number);
        cdcmtk::require(observation.insertEmptyElement(DCM_RTROIInterpretedType));
        cdcmtk::require(observation.insertEmptyElement(DCM_ROIInterpreter));
        if (code[0] && code[1] && code[2]) {
            cdcmtk::put_code(observation, DCM_RTROIIdentificationCodeSequence, code[0], code[1], code[2]);
        }
        object->region = &contours;
        return CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_structure_add_contour(cdcmtk_object *object, uint32_t slice, const double *points,
                                                    size_t count, cdicom_error *error) {
    return cdcmtk::built(error, [=]() -> cdicom_code {
        if (!object->region || slice >= object->sources.size() || count < 3) {
            return fail(error, CDICOM_INTERNAL, "a contour without region, slice or area");
        }
        std::string text;
        for (size_t index = 0; index < 3 * count; index += 1) {
            if (!append_coordinate(text, points[index])) {
                return fail(error, CDICOM_INTERNAL, "a coordinate is out of range");
            }
        }
        DcmItem &contour = cdcmtk::add_item(*object->region, DCM_ContourSequence);
        cdcmtk::refer_to(contour, DCM_ContourImageSequence, object->sources[slice], true);
        put(contour, DCM_ContourGeometricType, "CLOSED_PLANAR");
        put(contour, DCM_NumberOfContourPoints, std::to_string(count));
        put(contour, DCM_ContourData, text);
        return CDICOM_OK;
    });
}
