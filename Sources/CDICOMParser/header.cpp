#include "header.hpp"
#include "reading.hpp"

#include "cdicom/characters.hpp"
#include "cdicom/tags.hpp"

#include <cstring>

namespace {

using cdicom::Node;
using cdicom::Reader;
namespace tag = cdicom::tag;

/// Padding has the signedness of the pixels, which an implicit syntax does not state.
bool padding(Reader &read, uint32_t tag, const cdicom_header &header, int64_t &value) {
    if (!read.integer(tag, value)) return false;
    if ((header.plane.present & CDICOM_HAS_PIXEL_REPRESENTATION) && header.pixel_representation == 1 && value > 32767) {
        value -= 65536;
    }
    return true;
}

void fill_texts(const cdicom::Object &object, cdicom_header &header) {
    const Node &set = object.set;
    const auto text = [&set](uint32_t tag, auto &field) { cdicom::put_text(set, tag, field); };
    const cdicom::CharacterSets characters(set.text(tag::SpecificCharacterSet));
    const auto words = [&](uint32_t tag, auto &field) {
        cdicom::copy_text(field, characters.utf8(set.text(tag), tag == tag::PatientName));
    };
    text(tag::SOPClassUID, header.sop_class_uid);
    if (!header.sop_class_uid[0]) {
        // A media directory states its class only here.
        cdicom::put_text(object.meta, tag::MediaStorageSOPClassUID, header.sop_class_uid);
    }
    text(tag::SOPInstanceUID, header.sop_instance_uid);
    text(tag::StudyInstanceUID, header.study_uid);
    text(tag::SeriesInstanceUID, header.series_uid);
    text(tag::FrameOfReferenceUID, header.frame_of_reference_uid);
    text(tag::ConcatenationUID, header.concatenation_uid);
    text(tag::Modality, header.modality);
    text(tag::PhotometricInterpretation, header.photometric);
    text(tag::ImageType, header.plane.image_type);
    words(tag::SeriesDescription, header.series_description);
    text(tag::Units, header.units);
    words(tag::Manufacturer, header.manufacturer);
    text(tag::RescaleType, header.plane.rescale_type);
    if (const Node *table = set.item(tag::ModalityLUTSequence)) {
        cdicom::put_text(*table, tag::ModalityLUTType, header.plane.rescale_type);
    }
    cdicom::copy_text(header.transfer_syntax_uid, object.syntax_uid);
    text(tag::StudyDate, header.study_date);
    text(tag::StudyTime, header.study_time);
    text(tag::SeriesDate, header.series_date);
    words(tag::AccessionNumber, header.accession_number);
    header.identity_removed = set.text(tag::PatientIdentityRemoved).compare(0, 3, "YES") == 0;
    words(tag::PatientName, header.patient_name);
    words(tag::PatientID, header.patient_id);
    words(tag::IssuerOfPatientID, header.patient_id_issuer);
    text(tag::PatientBirthDate, header.birth_date);
    text(tag::PatientSex, header.patient_sex);
}

void fill_numbers(const Node &set, cdicom_header &header) {
    cdicom_plane &plane = header.plane;
    Reader read(set, header.remarks);
    const auto note = [&plane](bool is_found, uint32_t bit) {
        if (is_found) plane.present |= bit;
    };
    note(read.integer(tag::Rows, plane.rows), CDICOM_HAS_ROWS);
    note(read.integer(tag::Columns, plane.columns), CDICOM_HAS_COLUMNS);
    note(read.integer(tag::BitsAllocated, header.bits_allocated), CDICOM_HAS_BITS_ALLOCATED);
    note(read.integer(tag::BitsStored, header.bits_stored), CDICOM_HAS_BITS_STORED);
    note(read.integer(tag::HighBit, header.high_bit), CDICOM_HAS_HIGH_BIT);
    note(read.integer(tag::PixelRepresentation, header.pixel_representation), CDICOM_HAS_PIXEL_REPRESENTATION);
    note(read.integer(tag::SamplesPerPixel, header.samples), CDICOM_HAS_SAMPLES);
    note(read.integer(tag::NumberOfFrames, header.frames), CDICOM_HAS_FRAMES);
    note(read.numbers(tag::RescaleSlope, &plane.rescale_slope, 1), CDICOM_HAS_RESCALE_SLOPE);
    note(read.numbers(tag::RescaleIntercept, &plane.rescale_intercept, 1), CDICOM_HAS_RESCALE_INTERCEPT);
    note(read.numbers(tag::WindowCenter, &plane.window_center, 1, true)
             && read.numbers(tag::WindowWidth, &plane.window_width, 1, true),
         CDICOM_HAS_WINDOW);
    note(set.sequences.count(tag::ModalityLUTSequence) != 0, CDICOM_HAS_MODALITY_LUT);
    note(padding(read, tag::PixelPaddingValue, header, header.padding_value), CDICOM_HAS_PADDING);
    note(padding(read, tag::PixelPaddingRangeLimit, header, header.padding_limit), CDICOM_HAS_PADDING_LIMIT);
    // Geometry.
    note(read.numbers(tag::ImagePositionPatient, plane.position, 3), CDICOM_HAS_POSITION);
    note(read.numbers(tag::ImageOrientationPatient, plane.orientation, 6), CDICOM_HAS_ORIENTATION);
    note(read.numbers(tag::PixelSpacing, plane.pixel_spacing, 2), CDICOM_HAS_PIXEL_SPACING);
    note(read.numbers(tag::SliceThickness, &plane.slice_thickness, 1), CDICOM_HAS_SLICE_THICKNESS);
    note(read.numbers(tag::SpacingBetweenSlices, &plane.slice_spacing, 1), CDICOM_HAS_SLICE_SPACING);
    note(read.numbers(tag::GantryDetectorTilt, &header.gantry_tilt, 1), CDICOM_HAS_GANTRY_TILT);
    // What distinguishes the slices of a series from each other.
    note(read.integer(tag::InstanceNumber, plane.instance_number), CDICOM_HAS_INSTANCE_NUMBER);
    note(read.integer(tag::EchoNumbers, plane.echo_number, true), CDICOM_HAS_ECHO_NUMBER);
    note(read.integer(tag::AcquisitionNumber, plane.acquisition_number), CDICOM_HAS_ACQUISITION_NUMBER);
    note(read.integer(tag::SeriesNumber, header.series_number), CDICOM_HAS_SERIES_NUMBER);
    read.integer(tag::InConcatenationNumber, header.concatenation_number);
    read.integer(tag::InConcatenationTotalNumber, header.concatenation_total);
    read.integer(tag::NumberOfSlices, header.stated_slices);
    note(read.integer(tag::TemporalPositionIdentifier, plane.temporal_position), CDICOM_HAS_TEMPORAL_POSITION);
    note(read.numbers(tag::EchoTime, &plane.echo_time, 1), CDICOM_HAS_ECHO_TIME);
    note(read.numbers(tag::TriggerTime, &plane.trigger_time, 1), CDICOM_HAS_TRIGGER_TIME);
    note(read.seconds(tag::ContentTime, plane.content_time), CDICOM_HAS_CONTENT_TIME);
    note(read.seconds(tag::AcquisitionTime, plane.acquisition_time), CDICOM_HAS_ACQUISITION_TIME);
    // Of several values the first; 0 is that of tools that fill missing elements.
    read.numbers(tag::KVP, &plane.peak_voltage, 1, true);
    read.numbers(tag::RepetitionTime, &plane.repetition_time, 1, true);
    read.numbers(tag::InversionTime, &plane.inversion_time, 1, true);
    read.numbers(tag::FlipAngle, &plane.flip_angle, 1, true);
    cdicom::put_text(set, tag::ConvolutionKernel, plane.kernel);
    const bool is_siemens = set.text(tag::PrivateCreator0019).compare(0, 7, "SIEMENS") == 0;
    note(read.numbers(tag::DiffusionBValue, &plane.b_value, 1)
             || (is_siemens && read.numbers(tag::SiemensBValue, &plane.b_value, 1)),
         CDICOM_HAS_B_VALUE);
}

}  // namespace

void cdicom::fill_header(const Object &object, cdicom_header &header) {
    fill_texts(object, header);
    fill_numbers(object.set, header);
    header.pixel_kind = static_cast<int32_t>(object.pixels.kind);
    header.misstated = !object.is_misstated ? 0 : object.syntax->is_explicit ? CDICOM_IS_IMPLICIT : CDICOM_IS_EXPLICIT;
    find_mosaic(object.set, header);
}

extern "C" cdicom_code cdicom_read_object(const char *path, cdicom_header *header, cdicom_plane **frames,
                                          size_t *count, cdicom_error *error) {
    return cdicom::guarded(error, [=]() -> cdicom_code {
        std::memset(header, 0, sizeof *header);
        if (frames) *frames = nullptr;
        if (count) *count = 0;
        cdicom::Object object;
        const cdicom_code code = cdicom::read_object(path, true, object, error);
        header->file_size = object.file_size;
        if (code != CDICOM_OK) return code;
        cdicom::fill_header(object, *header);
        return frames && count ? cdicom::copy_frames(object.set, *header, frames, count, error) : CDICOM_OK;
    });
}
