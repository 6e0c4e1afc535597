#include "objects.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

using cdcmtk::copy;
using cdcmtk::fail;
using cdcmtk::text_in;

/// An open structure set.
struct cdcmtk_structure {
    struct Region {
        cdcmtk_region_facts facts;
        std::vector<DcmItem *> contours;
    };

    DcmFileFormat file;
    std::vector<Region> regions;
    cdcmtk::ImageReferences images;
    std::vector<double> points;
    size_t maximum_numbers = 0, numbers_read = 0;
};

namespace {

int32_t integer_in(DcmItem &item, const DcmTagKey &tag, int32_t otherwise) {
    Sint32 value = 0;
    return item.findAndGetSint32(tag, value).good() ? value : otherwise;
}

/// Numbers separated by backslashes. False for anything else.
bool parse_numbers(const char *text, size_t length, size_t most, std::vector<double> &numbers) {
    const char *at = text, *end = text + length;
    while (at < end) {
        while (at < end && (*at == ' ' || *at == '+')) at += 1;
        double value = 0;
        const auto read = std::from_chars(at, end, value);
        if (read.ec != std::errc() || !std::isfinite(value) || numbers.size() >= most) return false;
        numbers.push_back(value);
        at = read.ptr;
        while (at < end && (*at == ' ' || *at == '\0')) at += 1;
        if (at < end && *at != '\\') return false;
        at += 1;
    }
    return true;
}

void read_references(DcmDataset &set, cdcmtk_structure &made, cdcmtk_structure_facts &facts) {
    cdcmtk::for_each_item(set, DCM_ReferencedFrameOfReferenceSequence, [&](DcmItem &frame) {
        if (facts.frame_of_reference_uid[0] == 0) {
            copy(frame, DCM_FrameOfReferenceUID, facts.frame_of_reference_uid);
        }
        cdcmtk::for_each_item(frame, DCM_RTReferencedStudySequence, [&](DcmItem &study) {
            cdcmtk::for_each_item(study, DCM_RTReferencedSeriesSequence, [&](DcmItem &series) {
                if (facts.referenced_series_uid[0] == 0) {
                    copy(series, DCM_SeriesInstanceUID, facts.referenced_series_uid);
                }
                made.images.add(series, DCM_ContourImageSequence);
                return true;
            });
            return true;
        });
        return true;
    });
}

/// Combines the three sequences that describe regions, by their numbers.
bool read_regions(DcmDataset &set, cdcmtk_structure &made, size_t maximum_regions, size_t maximum_contours) {
    std::map<int32_t, size_t> places;
    bool is_too_many = false;
    cdcmtk::for_each_item(set, DCM_StructureSetROISequence, [&](DcmItem &item) {
        is_too_many = made.regions.size() >= maximum_regions;
        if (is_too_many) return false;
        cdcmtk_structure::Region region;
        std::memset(&region.facts, 0, sizeof region.facts);
        region.facts.number = integer_in(item, DCM_ROINumber, -1);
        copy(item, DCM_ROIName, region.facts.name);
        copy(item, DCM_ROIDescription, region.facts.description);
        copy(item, DCM_ReferencedFrameOfReferenceUID, region.facts.frame_of_reference_uid);
        places.emplace(region.facts.number, made.regions.size());
        made.regions.push_back(region);
        return true;
    });
    size_t contours = 0;
    cdcmtk::for_each_item(set, DCM_ROIContourSequence, [&](DcmItem &item) {
        const auto place = places.find(integer_in(item, DCM_ReferencedROINumber, -1));
        if (place == places.end()) return true;
        cdcmtk_structure::Region &region = made.regions[place->second];
        double color[3];
        if (cdcmtk::numbers_in(item, DCM_ROIDisplayColor, color, 3)) {
            region.facts.has_color = 1;
            for (int part = 0; part < 3; part += 1) {
                region.facts.color[part] = static_cast<uint8_t>(std::min(std::max(color[part], 0.0), 255.0));
            }
        }
        cdcmtk::for_each_item(item, DCM_ContourSequence, [&](DcmItem &contour) {
            is_too_many = contours >= maximum_contours;
            if (is_too_many) return false;
            contours += 1;
            region.contours.push_back(&contour);
            return true;
        });
        region.facts.contours = region.contours.size();
        return !is_too_many;
    });
    cdcmtk::for_each_item(set, DCM_RTROIObservationsSequence, [&](DcmItem &item) {
        const auto place = places.find(integer_in(item, DCM_ReferencedROINumber, -1));
        if (place == places.end()) return true;
        cdcmtk_region_facts &facts = made.regions[place->second].facts;
        copy(item, DCM_RTROIInterpretedType, facts.interpreted_type);
        cdcmtk::code_in(item, DCM_RTROIIdentificationCodeSequence, facts.code);
        return true;
    });
    return !is_too_many;
}

}  // namespace

extern "C" cdicom_code cdcmtk_structure_open(const char *path, const cdcmtk_structure_limits *limits,
                                             cdcmtk_structure **structure, cdcmtk_structure_facts *facts,
                                             cdicom_error *error) {
    *structure = nullptr;
    return cdcmtk::guarded(error, [=]() -> cdicom_code {
        cdicom_code code = cdcmtk::prepare(error);
        if (code != CDICOM_OK) return code;
        std::unique_ptr<cdcmtk_structure> made(new cdcmtk_structure);
        code = cdcmtk::load(path, made->file, nullptr, nullptr, error);
        if (code != CDICOM_OK) return code;
        DcmDataset &set = *made->file.getDataset();
        if (text_in(set, DCM_SOPClassUID) != UID_RTStructureSetStorage && text_in(set, DCM_Modality) != "RTSTRUCT") {
            return fail(error, CDCMTK_OTHER_OBJECT, "no structure set: SOPClassUID (0008,0016) is of another class");
        }
        std::memset(facts, 0, sizeof *facts);
        copy(set, DCM_StructureSetLabel, facts->label);
        made->maximum_numbers = limits->numbers;
        read_references(set, *made, *facts);
        if (!read_regions(set, *made, limits->regions, limits->contours)) {
            return fail(error, CDCMTK_TOO_MANY, "more regions or contours than supported");
        }
        facts->regions = made->regions.size();
        facts->referenced_images = made->images.count();
        *structure = made.release();
        return CDICOM_OK;
    });
}

extern "C" void cdcmtk_structure_close(cdcmtk_structure *structure) { delete structure; }

extern "C" cdicom_code cdcmtk_structure_region(cdcmtk_structure *structure, size_t index, cdcmtk_region_facts *facts,
                                               cdicom_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdicom_code {
        if (index >= structure->regions.size()) return fail(error, CDICOM_INTERNAL, "no such region");
        *facts = structure->regions[index].facts;
        return CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_structure_contour(cdcmtk_structure *structure, size_t region, size_t index,
                                                cdcmtk_contour_facts *facts, cdicom_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdicom_code {
        if (region >= structure->regions.size() || index >= structure->regions[region].contours.size()) {
            return fail(error, CDICOM_INTERNAL, "no such contour");
        }
        DcmItem &item = *structure->regions[region].contours[index];
        std::memset(facts, 0, sizeof *facts);
        copy(item, DCM_ContourGeometricType, facts->geometric_type);
        cdcmtk::ImageReferences images;
        images.add(item, DCM_ContourImageSequence);
        if (images.count() > 0) images.get(0, &facts->image, error);
        structure->points.clear();
        DcmElement *element = nullptr;
        if (item.findAndGetElement(DCM_ContourData, element).bad() || !element) return CDICOM_OK;
        // In explicit objects, contours above 64 KiB must have the representation UN.
        const char *text = nullptr;
        size_t length = element->getLength();
        Uint8 *bytes = nullptr;
        char *characters = nullptr;
        if (element->ident() == EVR_DS) {
            if (element->getString(characters).good() && characters) {
                text = characters;
                length = std::strlen(characters);
            }
        } else if (element->getUint8Array(bytes).good() && bytes) {
            text = reinterpret_cast<const char *>(bytes);
        }
        if (!text) return CDICOM_OK;
        const size_t left = structure->maximum_numbers - structure->numbers_read;
        // Each number has at least a digit and a separator.
        if (length / 2 > left + 1 && length / 17 > left) {
            return fail(error, CDCMTK_TOO_MANY, "more coordinates than supported");
        }
        if (!parse_numbers(text, length, left, structure->points)) {
            return fail(error, structure->points.size() >= left ? CDCMTK_TOO_MANY : CDICOM_NOT_READABLE,
                        "ContourData (3006,0050) is not a list of numbers, or too long");
        }
        structure->numbers_read += structure->points.size();
        facts->points = structure->points.data();
        facts->count = structure->points.size();
        return CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_structure_image(cdcmtk_structure *structure, size_t index, cdcmtk_image_reference *image,
                                              cdicom_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdicom_code { return structure->images.get(index, image, error); });
}
