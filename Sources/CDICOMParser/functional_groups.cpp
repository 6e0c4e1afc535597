#include "header.hpp"
#include "reading.hpp"

#include "cdicom/tags.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

using cdicom::Node;
using cdicom::Reader;
namespace tag = cdicom::tag;

void take_values(const Node &groups, cdicom_plane &frame, cdicom_remarks &remarks) {
    const auto note = [&frame](bool is_found, uint32_t bit) {
        if (is_found) frame.present |= bit;
    };
    if (const Node *place = groups.item(tag::PlanePositionSequence)) {
        note(Reader(*place, remarks).numbers(tag::ImagePositionPatient, frame.position, 3), CDICOM_HAS_POSITION);
    }
    if (const Node *plane = groups.item(tag::PlaneOrientationSequence)) {
        Reader read(*plane, remarks);
        note(read.numbers(tag::ImageOrientationPatient, frame.orientation, 6), CDICOM_HAS_ORIENTATION);
    }
    if (const Node *measures = groups.item(tag::PixelMeasuresSequence)) {
        Reader read(*measures, remarks);
        note(read.numbers(tag::PixelSpacing, frame.pixel_spacing, 2), CDICOM_HAS_PIXEL_SPACING);
        note(read.numbers(tag::SliceThickness, &frame.slice_thickness, 1), CDICOM_HAS_SLICE_THICKNESS);
        note(read.numbers(tag::SpacingBetweenSlices, &frame.slice_spacing, 1), CDICOM_HAS_SLICE_SPACING);
    }
    if (const Node *values = groups.item(tag::PixelValueTransformationSequence)) {
        Reader read(*values, remarks);
        note(read.numbers(tag::RescaleSlope, &frame.rescale_slope, 1), CDICOM_HAS_RESCALE_SLOPE);
        note(read.numbers(tag::RescaleIntercept, &frame.rescale_intercept, 1), CDICOM_HAS_RESCALE_INTERCEPT);
        cdicom::put_text(*values, tag::RescaleType, frame.rescale_type);
    }
    if (const Node *window = groups.item(tag::FrameVOILUTSequence)) {
        Reader read(*window, remarks);
        note(read.numbers(tag::WindowCenter, &frame.window_center, 1, true)
                 && read.numbers(tag::WindowWidth, &frame.window_width, 1, true),
             CDICOM_HAS_WINDOW);
    }
    if (const Node *echo = groups.item(tag::MREchoSequence)) {
        note(Reader(*echo, remarks).numbers(tag::EffectiveEchoTime, &frame.echo_time, 1), CDICOM_HAS_ECHO_TIME);
    }
    if (const Node *diffusion = groups.item(tag::MRDiffusionSequence)) {
        note(Reader(*diffusion, remarks).numbers(tag::DiffusionBValue, &frame.b_value, 1), CDICOM_HAS_B_VALUE);
    }
    if (const Node *beat = groups.item(tag::CardiacSynchronizationSequence)) {
        Reader read(*beat, remarks);
        note(read.numbers(tag::NominalCardiacTriggerDelayTime, &frame.trigger_time, 1), CDICOM_HAS_TRIGGER_TIME);
    }
    for (const uint32_t type_tag :
         {tag::MRImageFrameTypeSequence, tag::CTImageFrameTypeSequence, tag::PETFrameAcquisitionSequence}) {
        if (const Node *type = groups.item(type_tag)) {
            cdicom::put_text(*type, tag::FrameType, frame.image_type);
        }
    }
}

/// The index of a frame among the others.
void read_content(const Node &content, cdicom_plane &frame, cdicom_remarks &remarks) {
    Reader read(content, remarks);
    const auto note = [&frame](bool is_found, uint32_t bit) {
        if (is_found) frame.present |= bit;
    };
    cdicom::put_text(content, tag::StackID, frame.stack_id);
    note(read.integer(tag::TemporalPositionIndex, frame.temporal_position), CDICOM_HAS_TEMPORAL_POSITION);
    note(read.integer(tag::FrameAcquisitionNumber, frame.acquisition_number), CDICOM_HAS_ACQUISITION_NUMBER);
    const std::string moment = content.text(tag::FrameAcquisitionDateTime);
    note(moment.size() > 8 && cdicom::seconds_of_day(moment.substr(8), frame.acquisition_time),
         CDICOM_HAS_ACQUISITION_TIME);
    if (const cdicom::Value *dimensions = content.find(tag::DimensionIndexValues)) {
        const std::vector<double> all = dimensions->numbers();
        frame.dimension_count = static_cast<int32_t>(std::min<size_t>(all.size(), CDICOM_MOST_DIMENSIONS));
        for (int32_t index = 0; index < frame.dimension_count; index += 1) {
            const double value = std::min(std::max(all[static_cast<size_t>(index)], 0.0), 4294967295.0);
            frame.dimensions[index] = static_cast<uint32_t>(value);
        }
    }
}

/// Copies the values stated in `groups`, the shared ones or a frame's own. Later calls override earlier ones.
void read_groups(const Node &groups, cdicom_plane &frame, cdicom_remarks &remarks) {
    take_values(groups, frame, remarks);
    if (const Node *content = groups.item(tag::FrameContentSequence)) read_content(*content, frame, remarks);
}

}  // namespace

cdicom_code cdicom::copy_frames(const Node &set, cdicom_header &header, cdicom_plane **frames, size_t *count,
                                cdicom_error *error) {
    cdicom_plane shared;
    std::memset(&shared, 0, sizeof shared);
    if (const Node *groups = set.item(tag::SharedFunctionalGroupsSequence)) {
        read_groups(*groups, shared, header.remarks);
    }
    auto own = set.sequences.find(tag::PerFrameFunctionalGroupsSequence);
    const bool is_grid = own == set.sequences.end() && is_united_imaging(set);
    if (is_grid) own = set.sequences.find(tag::UnitedImagingFrameSequence);
    const size_t found = own == set.sequences.end() ? 0 : own->second.size();
    if (found == 0) return CDICOM_OK;
    if (found > maximum_items) {
        return fail(error, CDICOM_NOT_READABLE,
                    "PerFrameFunctionalGroupsSequence (5200,9230) has more items than supported");
    }
    cdicom_plane *made = static_cast<cdicom_plane *>(std::calloc(found, sizeof(cdicom_plane)));
    if (!made) return fail(error, CDICOM_NO_MEMORY, "no memory");
    for (size_t index = 0; index < found; index += 1) {
        made[index] = shared;
        const Node &item = own->second[index];
        if (!is_grid) {
            read_groups(item, made[index], header.remarks);
        } else if (Reader(item, header.remarks).numbers(tag::ImagePositionPatient, made[index].position, 3)) {
            made[index].present |= CDICOM_HAS_POSITION;
        }
    }
    *frames = made;
    *count = found;
    return CDICOM_OK;
}
