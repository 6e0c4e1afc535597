#include "shim.hpp"

#include "dcmtk/dcmdata/dcuid.h"

#include <cmath>
#include <cstring>

namespace {

std::string text_of(DcmItem &item, const DcmTagKey &tag) {
    OFString value;
    if (item.findAndGetOFStringArray(tag, value).bad()) return "";
    // A zero inside a text would end it for C alone: everything after is dropped for every reader.
    return std::string(value.c_str());
}

void put_text(DcmItem &item, const DcmTagKey &tag, char *field, size_t capacity) {
    std::string text = text_of(item, tag);
    size_t start = text.find_first_not_of(' ');
    cdcmtk::copy_text(field, capacity, start == std::string::npos ? "" : text.substr(start));
}

/// `count` numbers, all of which must be there, be finite and be all there is.
bool numbers(DcmItem &item, const DcmTagKey &tag, double *values, unsigned long count, bool more_allowed = false) {
    DcmElement *element = nullptr;
    if (item.findAndGetElement(tag, element).bad() || !element) return false;
    if (element->getVM() < count || (!more_allowed && element->getVM() > count)) return false;
    for (unsigned long index = 0; index < count; index += 1) {
        OFString text;
        if (element->getOFString(text, index).bad()) return false;
        OFBool success = OFFalse;
        const double value = OFStandard::atof(text.c_str(), &success);
        if (!success || !std::isfinite(value)) return false;
        values[index] = value;
    }
    return true;
}

bool integer(DcmItem &item, const DcmTagKey &tag, int64_t &value) {
    double number = 0;
    if (!numbers(item, tag, &number, 1, true)) return false;
    if (number != std::floor(number) || std::fabs(number) > 4294967296.0) return false;
    value = static_cast<int64_t>(number);
    return true;
}

void put_name(const char *uid, char *field, size_t capacity) {
    const char *name = uid[0] ? dcmFindNameOfUID(uid, "") : "";
    cdcmtk::copy_text(field, capacity, name ? name : "");
}

void fill(DcmItem &set, DcmItem *meta, cdcmtk_header &header) {
    put_text(set, DCM_SOPClassUID, header.sop_class_uid, sizeof header.sop_class_uid);
    if (header.sop_class_uid[0] == 0 && meta) {
        // The directory of a medium states its class here alone.
        put_text(*meta, DCM_MediaStorageSOPClassUID, header.sop_class_uid, sizeof header.sop_class_uid);
    }
    put_name(header.sop_class_uid, header.sop_class_name, sizeof header.sop_class_name);
    put_text(set, DCM_SOPInstanceUID, header.sop_instance_uid, sizeof header.sop_instance_uid);
    put_text(set, DCM_StudyInstanceUID, header.study_uid, sizeof header.study_uid);
    put_text(set, DCM_SeriesInstanceUID, header.series_uid, sizeof header.series_uid);
    put_text(set, DCM_FrameOfReferenceUID, header.frame_of_reference_uid, sizeof header.frame_of_reference_uid);
    put_text(set, DCM_Modality, header.modality, sizeof header.modality);
    put_text(set, DCM_PhotometricInterpretation, header.photometric, sizeof header.photometric);
    put_text(set, DCM_ImageType, header.image_type, sizeof header.image_type);
    put_text(set, DCM_SeriesDescription, header.series_description, sizeof header.series_description);

    const auto note = [&header](bool found, uint32_t bit) {
        if (found) header.present |= bit;
    };
    note(integer(set, DCM_Rows, header.rows), CDCMTK_HAS_ROWS);
    note(integer(set, DCM_Columns, header.columns), CDCMTK_HAS_COLUMNS);
    note(integer(set, DCM_BitsAllocated, header.bits_allocated), CDCMTK_HAS_BITS_ALLOCATED);
    note(integer(set, DCM_BitsStored, header.bits_stored), CDCMTK_HAS_BITS_STORED);
    note(integer(set, DCM_HighBit, header.high_bit), CDCMTK_HAS_HIGH_BIT);
    note(integer(set, DCM_PixelRepresentation, header.pixel_representation), CDCMTK_HAS_PIXEL_REPRESENTATION);
    note(integer(set, DCM_SamplesPerPixel, header.samples), CDCMTK_HAS_SAMPLES);
    note(integer(set, DCM_NumberOfFrames, header.frames), CDCMTK_HAS_FRAMES);
    note(integer(set, DCM_InstanceNumber, header.instance_number), CDCMTK_HAS_INSTANCE_NUMBER);
    note(integer(set, DCM_EchoNumbers, header.echo_number), CDCMTK_HAS_ECHO_NUMBER);
    note(integer(set, DCM_AcquisitionNumber, header.acquisition_number), CDCMTK_HAS_ACQUISITION_NUMBER);
    note(integer(set, DCM_SeriesNumber, header.series_number), CDCMTK_HAS_SERIES_NUMBER);
    note(numbers(set, DCM_ImagePositionPatient, header.position, 3), CDCMTK_HAS_POSITION);
    note(numbers(set, DCM_ImageOrientationPatient, header.orientation, 6), CDCMTK_HAS_ORIENTATION);
    note(numbers(set, DCM_PixelSpacing, header.pixel_spacing, 2), CDCMTK_HAS_PIXEL_SPACING);
    note(numbers(set, DCM_SliceThickness, &header.slice_thickness, 1), CDCMTK_HAS_SLICE_THICKNESS);
    note(numbers(set, DCM_RescaleSlope, &header.rescale_slope, 1), CDCMTK_HAS_RESCALE_SLOPE);
    note(numbers(set, DCM_RescaleIntercept, &header.rescale_intercept, 1), CDCMTK_HAS_RESCALE_INTERCEPT);
    note(numbers(set, DCM_GantryDetectorTilt, &header.gantry_tilt, 1), CDCMTK_HAS_GANTRY_TILT);
    note(numbers(set, DCM_WindowCenter, &header.window_center, 1, true)
             && numbers(set, DCM_WindowWidth, &header.window_width, 1, true),
         CDCMTK_HAS_WINDOW);
    note(set.tagExists(DCM_ModalityLUTSequence), CDCMTK_HAS_MODALITY_LUT);
}

}  // namespace

extern "C" cdcmtk_code cdcmtk_read_header(const char *path, cdcmtk_header *header, cdcmtk_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdcmtk_code {
        std::memset(header, 0, sizeof *header);
        cdcmtk_code code = cdcmtk::prepare(error);
        if (code != CDCMTK_OK) return code;
        DcmFileFormat file;
        const DcmTagKey stop = DCM_PixelData;
        code = cdcmtk::load(path, file, &stop, &header->file_size, error);
        if (code != CDCMTK_OK) return code;
        DcmDataset *set = file.getDataset();
        if (!set || set->card() == 0) return cdcmtk::fail(error, CDCMTK_NOT_READABLE, std::string("no data set"));
        fill(*set, file.getMetaInfo(), *header);
        // What the file states, if it does; otherwise what the parser found by looking at the first elements.
        const std::string stated = file.getMetaInfo() ? text_of(*file.getMetaInfo(), DCM_TransferSyntaxUID) : "";
        const DcmXfer syntax = stated.empty() ? DcmXfer(set->getOriginalXfer()) : DcmXfer(stated.c_str());
        if (syntax.getXfer() == EXS_Unknown) {
            cdcmtk::copy_text(header->transfer_syntax_uid, sizeof header->transfer_syntax_uid, stated);
            return CDCMTK_OK;
        }
        const char *uid = syntax.getXferID();
        cdcmtk::copy_text(header->transfer_syntax_uid, sizeof header->transfer_syntax_uid, uid ? uid : "");
        const char *name = syntax.getXferName();
        cdcmtk::copy_text(header->transfer_syntax_name, sizeof header->transfer_syntax_name, name ? name : "");
        return CDCMTK_OK;
    });
}
