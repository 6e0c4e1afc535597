#include "objects.hpp"

using cdcmtk::require;
using cdcmtk::put;
using cdcmtk::fail;

extern "C" cdicom_code cdcmtk_segmentation_add_segment(cdcmtk_object *object, const cdcmtk_segment *segment,
                                                       cdicom_error *error) {
    return cdcmtk::built(error, [=]() -> cdicom_code {
        if (object->segments >= 65535) return fail(error, CDCMTK_TOO_MANY, "more than 65535 segments");
        DcmItem &item = cdcmtk::add_item(object->set(), DCM_SegmentSequence);
        object->segments += 1;
        put(item, DCM_SegmentNumber, Uint16(object->segments));
        put(item, DCM_SegmentLabel, segment->label);
        put(item, DCM_SegmentAlgorithmType, object->algorithm_type);
        put(item, DCM_SegmentAlgorithmName, object->algorithm);
        cdcmtk::put_code(item, DCM_SegmentedPropertyCategoryCodeSequence, segment->category[0], segment->category[1],
                         segment->category[2]);
        cdcmtk::put_code(item, DCM_SegmentedPropertyTypeCodeSequence, segment->type[0], segment->type[1],
                         segment->type[2]);
        require(item.putAndInsertUint16Array(DCM_RecommendedDisplayCIELabValue, segment->lab, 3));
        return CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_segmentation_add_frame(cdcmtk_object *object, uint32_t segment, uint32_t slice,
                                                     cdicom_error *error) {
    return cdcmtk::built(error, [=]() -> cdicom_code {
        if (segment == 0 || segment > object->segments || slice >= object->sources.size()) {
            return fail(error, CDICOM_INTERNAL, "a frame without segment or slice");
        }
        const ObjectSource &source = object->sources[slice];
        DcmItem &groups = cdcmtk::add_item(object->set(), DCM_PerFrameFunctionalGroupsSequence);
        const Uint32 indices[2] = {segment, slice + 1};
        DcmItem &content = cdcmtk::add_item(groups, DCM_FrameContentSequence);
        std::unique_ptr<DcmUnsignedLong> values(new DcmUnsignedLong(DCM_DimensionIndexValues));
        require(values->putUint32Array(indices, 2));
        require(content.insert(values.get(), OFTrue));
        values.release();
        put(cdcmtk::add_item(groups, DCM_PlanePositionSequence), DCM_ImagePositionPatient, source.position);
        put(cdcmtk::add_item(groups, DCM_SegmentIdentificationSequence), DCM_ReferencedSegmentNumber,
            Uint16(segment));
        DcmItem &derivation = cdcmtk::add_item(groups, DCM_DerivationImageSequence);
        cdcmtk::put_code(derivation, DCM_DerivationCodeSequence, "DCM", "113076", "Segmentation");
        cdcmtk::refer_to(derivation, DCM_SourceImageSequence, source, true);
        DcmItem &image = *cdcmtk::first_item(derivation, DCM_SourceImageSequence);
        put(image, DCM_SpatialLocationsPreserved, "YES");
        cdcmtk::put_code(image, DCM_PurposeOfReferenceCodeSequence, "DCM", "121322",
                         "Source image for image processing operation");
        object->frames += 1;
        return CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_segmentation_pixels(cdcmtk_object *object, uint8_t **bytes, size_t *count,
                                                  cdicom_error *error) {
    *bytes = nullptr;
    *count = 0;
    return cdcmtk::built(error, [=]() -> cdicom_code {
        const unsigned __int128 bits =
            static_cast<unsigned __int128>(object->frames) * object->rows * object->columns;
        // The length of an element is even and below 2³² - 1.
        if (bits == 0 || bits > (static_cast<unsigned __int128>(0xFFFFFFF0u) << 3) || object->frames > 0x7FFFFFFF) {
            return fail(error, CDCMTK_TOO_MANY,
                        bits == 0 ? "no frames" : "the frames of all segments are larger than one object may be");
        }
        const size_t used = static_cast<size_t>((bits + 7) / 8);
        const size_t length = used + used % 2;
        std::unique_ptr<DcmPixelData> data(new DcmPixelData(DCM_PixelData));
        data->setVR(EVR_OB);
        Uint8 *place = nullptr;
        require(data->createUint8Array(static_cast<Uint32>(length), place));
        std::fill(place, place + length, Uint8(0));
        require(object->set().insert(data.get(), OFTrue));
        data.release();
        object->has_pixels = true;
        *bytes = place;
        *count = used;
        return CDICOM_OK;
    });
}
