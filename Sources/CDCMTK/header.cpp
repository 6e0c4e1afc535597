#include "header.hpp"

#include "dcmtk/dcmdata/dcuid.h"

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace {

using cdcmtk::Node;
using cdcmtk::Object;

void put_text(const Node &node, uint32_t tag, char *field, size_t capacity) {
    cdcmtk::copy_text(field, capacity, node.text(tag));
}

void put_name(const char *uid, char *field, size_t capacity) {
    const char *name = uid[0] ? dcmFindNameOfUID(uid, "") : "";
    cdcmtk::copy_text(field, capacity, name ? name : "");
}

/// "HHMMSS.FFFFFF", of which the end may be missing, in seconds; older files have colons.
bool seconds(std::string text, double &value) {
    text.erase(std::remove(text.begin(), text.end(), ':'), text.end());
    text = text.substr(0, text.find_first_of("\\+-& "));
    size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') digits += 1;
    if (digits < 2 || digits > 6 || digits % 2 != 0) return false;
    value = 0;
    static const double weights[] = {3600, 60, 1};
    for (size_t at = 0; at < digits; at += 2) value += weights[at / 2] * ((text[at] - '0') * 10 + text[at + 1] - '0');
    double weight = 0.1;
    for (size_t at = digits + 1; digits < text.size() && text[digits] == '.' && at < text.size(); at += 1) {
        if (text[at] < '0' || text[at] > '9') break;
        value += weight * (text[at] - '0');
        weight /= 10;
    }
    return true;
}

/// Padding is written in the sign of the pixels, which an implicit syntax does not say.
bool padding(const Node &set, uint32_t tag, const cdcmtk_header &header, int64_t &value) {
    if (!set.integer(tag, value)) return false;
    if ((header.present & CDCMTK_HAS_PIXEL_REPRESENTATION) && header.pixel_representation == 1 && value > 32767) {
        value -= 65536;
    }
    return true;
}

void fill_pixels(const Node &set, cdcmtk_header &header) {
    const auto note = [&header](bool found, uint32_t bit) {
        if (found) header.present |= bit;
    };
    put_text(set, 0x00280004, header.photometric, sizeof header.photometric);
    note(set.integer(0x00280010, header.rows), CDCMTK_HAS_ROWS);
    note(set.integer(0x00280011, header.columns), CDCMTK_HAS_COLUMNS);
    note(set.integer(0x00280100, header.bits_allocated), CDCMTK_HAS_BITS_ALLOCATED);
    note(set.integer(0x00280101, header.bits_stored), CDCMTK_HAS_BITS_STORED);
    note(set.integer(0x00280102, header.high_bit), CDCMTK_HAS_HIGH_BIT);
    note(set.integer(0x00280103, header.pixel_representation), CDCMTK_HAS_PIXEL_REPRESENTATION);
    note(set.integer(0x00280002, header.samples), CDCMTK_HAS_SAMPLES);
    note(set.integer(0x00280008, header.frames), CDCMTK_HAS_FRAMES);
    note(set.numbers(0x00281053, &header.rescale_slope, 1), CDCMTK_HAS_RESCALE_SLOPE);
    note(set.numbers(0x00281052, &header.rescale_intercept, 1), CDCMTK_HAS_RESCALE_INTERCEPT);
    note(set.numbers(0x00281050, &header.window_center, 1, true)
             && set.numbers(0x00281051, &header.window_width, 1, true),
         CDCMTK_HAS_WINDOW);
    note(set.sequences.count(0x00283000) != 0, CDCMTK_HAS_MODALITY_LUT);
    note(padding(set, 0x00280120, header, header.padding_value), CDCMTK_HAS_PADDING);
    note(padding(set, 0x00280121, header, header.padding_limit), CDCMTK_HAS_PADDING_LIMIT);
}

void fill(const Object &object, cdcmtk_header &header) {
    const Node &set = object.set;
    put_text(set, 0x00080016, header.sop_class_uid, sizeof header.sop_class_uid);
    // The directory of a medium states its class here alone.
    if (!header.sop_class_uid[0]) put_text(object.meta, 0x00020002, header.sop_class_uid, sizeof header.sop_class_uid);
    put_name(header.sop_class_uid, header.sop_class_name, sizeof header.sop_class_name);
    put_text(set, 0x00080018, header.sop_instance_uid, sizeof header.sop_instance_uid);
    put_text(set, 0x0020000D, header.study_uid, sizeof header.study_uid);
    put_text(set, 0x0020000E, header.series_uid, sizeof header.series_uid);
    put_text(set, 0x00200052, header.frame_of_reference_uid, sizeof header.frame_of_reference_uid);
    put_text(set, 0x00080060, header.modality, sizeof header.modality);
    put_text(set, 0x00080008, header.image_type, sizeof header.image_type);
    put_text(set, 0x0008103E, header.series_description, sizeof header.series_description);
    put_text(set, 0x00541001, header.units, sizeof header.units);
    put_text(set, 0x00080070, header.manufacturer, sizeof header.manufacturer);

    const auto note = [&header](bool found, uint32_t bit) {
        if (found) header.present |= bit;
    };
    fill_pixels(set, header);
    note(set.integer(0x00200013, header.instance_number), CDCMTK_HAS_INSTANCE_NUMBER);
    note(set.integer(0x00180086, header.echo_number), CDCMTK_HAS_ECHO_NUMBER);
    note(set.integer(0x00200012, header.acquisition_number), CDCMTK_HAS_ACQUISITION_NUMBER);
    note(set.integer(0x00200011, header.series_number), CDCMTK_HAS_SERIES_NUMBER);
    note(set.integer(0x00200100, header.temporal_position), CDCMTK_HAS_TEMPORAL_POSITION);
    note(set.numbers(0x00200032, header.position, 3), CDCMTK_HAS_POSITION);
    note(set.numbers(0x00200037, header.orientation, 6), CDCMTK_HAS_ORIENTATION);
    note(set.numbers(0x00280030, header.pixel_spacing, 2), CDCMTK_HAS_PIXEL_SPACING);
    note(set.numbers(0x00180050, &header.slice_thickness, 1), CDCMTK_HAS_SLICE_THICKNESS);
    note(set.numbers(0x00180088, &header.slice_spacing, 1), CDCMTK_HAS_SLICE_SPACING);
    note(set.numbers(0x00181120, &header.gantry_tilt, 1), CDCMTK_HAS_GANTRY_TILT);
    note(set.numbers(0x00180081, &header.echo_time, 1), CDCMTK_HAS_ECHO_TIME);
    note(set.numbers(0x00181060, &header.trigger_time, 1), CDCMTK_HAS_TRIGGER_TIME);
    note(seconds(set.text(0x00080033), header.content_time), CDCMTK_HAS_CONTENT_TIME);
    note(seconds(set.text(0x00080032), header.acquisition_time), CDCMTK_HAS_ACQUISITION_TIME);
    const bool by_siemens = set.text(0x00190010).compare(0, 7, "SIEMENS") == 0;
    note(set.numbers(0x00189087, &header.b_value, 1)
             || (by_siemens && set.numbers(0x0019100C, &header.b_value, 1)),
         CDCMTK_HAS_B_VALUE);
    double matrix[4] = {};
    if (set.numbers(0x00181310, matrix, 4)) {
        for (size_t index = 0; index < 4; index += 1) {
            header.acquisition_matrix[index] = static_cast<int32_t>(std::min(std::max(matrix[index], 0.0), 65535.0));
        }
    }
    header.pixel_kind = static_cast<int32_t>(object.pixels.kind);
}

/// Takes what `groups`, the shared ones or a frame's own, state. Later calls win.
void take_groups(const Node &groups, cdcmtk_frame &frame) {
    const auto note = [&frame](bool found, uint32_t bit) {
        if (found) frame.present |= bit;
    };
    if (const Node *place = groups.item(0x00209113)) {
        note(place->numbers(0x00200032, frame.position, 3), CDCMTK_HAS_POSITION);
    }
    if (const Node *plane = groups.item(0x00209116)) {
        note(plane->numbers(0x00200037, frame.orientation, 6), CDCMTK_HAS_ORIENTATION);
    }
    if (const Node *measures = groups.item(0x00289110)) {
        note(measures->numbers(0x00280030, frame.pixel_spacing, 2), CDCMTK_HAS_PIXEL_SPACING);
        note(measures->numbers(0x00180050, &frame.slice_thickness, 1), CDCMTK_HAS_SLICE_THICKNESS);
        note(measures->numbers(0x00180088, &frame.slice_spacing, 1), CDCMTK_HAS_SLICE_SPACING);
    }
    if (const Node *values = groups.item(0x00289145)) {
        note(values->numbers(0x00281053, &frame.rescale_slope, 1), CDCMTK_HAS_RESCALE_SLOPE);
        note(values->numbers(0x00281052, &frame.rescale_intercept, 1), CDCMTK_HAS_RESCALE_INTERCEPT);
    }
    if (const Node *window = groups.item(0x00289132)) {
        note(window->numbers(0x00281050, &frame.window_center, 1, true)
                 && window->numbers(0x00281051, &frame.window_width, 1, true),
             CDCMTK_HAS_WINDOW);
    }
    if (const Node *echo = groups.item(0x00189114)) {
        note(echo->numbers(0x00189082, &frame.echo_time, 1), CDCMTK_HAS_ECHO_TIME);
    }
    if (const Node *diffusion = groups.item(0x00189117)) {
        note(diffusion->numbers(0x00189087, &frame.b_value, 1), CDCMTK_HAS_B_VALUE);
    }
    if (const Node *beat = groups.item(0x00189118)) {
        note(beat->numbers(0x00209153, &frame.trigger_time, 1), CDCMTK_HAS_TRIGGER_TIME);
    }
    for (const uint32_t tag : {0x00189226u, 0x00189329u, 0x00189732u}) {
        if (const Node *type = groups.item(tag)) put_text(*type, 0x00089007, frame.frame_type, sizeof frame.frame_type);
    }
    const Node *content = groups.item(0x00209111);
    if (!content) return;
    put_text(*content, 0x00209056, frame.stack_id, sizeof frame.stack_id);
    note(content->integer(0x00209057, frame.in_stack_position), CDCMTK_HAS_IN_STACK_POSITION);
    note(content->integer(0x00209128, frame.temporal_position), CDCMTK_HAS_TEMPORAL_POSITION);
    note(content->integer(0x00209156, frame.acquisition_number), CDCMTK_HAS_ACQUISITION_NUMBER);
    const std::string moment = content->text(0x00189074);
    note(moment.size() > 8 && seconds(moment.substr(8), frame.acquisition_time), CDCMTK_HAS_ACQUISITION_TIME);
    if (const cdcmtk::Value *dimensions = content->find(0x00209157)) {
        const std::vector<double> all = dimensions->numbers();
        frame.dimension_count = static_cast<int32_t>(std::min<size_t>(all.size(), CDCMTK_MOST_DIMENSIONS));
        for (int32_t index = 0; index < frame.dimension_count; index += 1) {
            const double value = std::min(std::max(all[static_cast<size_t>(index)], 0.0), 4294967295.0);
            frame.dimensions[index] = static_cast<uint32_t>(value);
        }
    }
}

cdcmtk_code take_frames(const Node &set, cdcmtk_frame **frames, size_t *count, cdcmtk_error *error) {
    cdcmtk_frame shared;
    std::memset(&shared, 0, sizeof shared);
    if (const Node *groups = set.item(0x52009229)) take_groups(*groups, shared);
    const auto own = set.sequences.find(0x52009230);
    const size_t found = own == set.sequences.end() ? 0 : own->second.size();
    if (found == 0) return CDCMTK_OK;
    if (found > cdcmtk::most_items) {
        return cdcmtk::fail(error, CDCMTK_NOT_READABLE,
                            std::string("PerFrameFunctionalGroupsSequence (5200,9230) has more items than are read"));
    }
    cdcmtk_frame *made = static_cast<cdcmtk_frame *>(std::calloc(found, sizeof(cdcmtk_frame)));
    if (!made) return cdcmtk::fail(error, CDCMTK_NO_MEMORY, std::string("no memory"));
    for (size_t index = 0; index < found; index += 1) {
        made[index] = shared;
        take_groups(own->second[index], made[index]);
    }
    *frames = made;
    *count = found;
    return CDCMTK_OK;
}

}  // namespace

extern "C" cdcmtk_code cdcmtk_read_object(const char *path, cdcmtk_header *header, cdcmtk_frame **frames,
                                          size_t *count, cdcmtk_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdcmtk_code {
        std::memset(header, 0, sizeof *header);
        if (frames) *frames = nullptr;
        if (count) *count = 0;
        cdcmtk_code code = cdcmtk::prepare(error);
        if (code != CDCMTK_OK) return code;
        Object object;
        code = cdcmtk::read_object(path, true, object, error);
        header->file_size = object.file_size;
        if (code != CDCMTK_OK) return code;
        fill(object, *header);
        cdcmtk::find_mosaic(object.set, *header);
        cdcmtk::copy_text(header->transfer_syntax_uid, sizeof header->transfer_syntax_uid, object.syntax_uid);
        if (object.syntax != EXS_Unknown) {
            const char *name = DcmXfer(object.syntax).getXferName();
            cdcmtk::copy_text(header->transfer_syntax_name, sizeof header->transfer_syntax_name, name ? name : "");
        }
        return frames && count ? take_frames(object.set, frames, count, error) : CDCMTK_OK;
    });
}

extern "C" cdcmtk_code cdcmtk_read_header(const char *path, cdcmtk_header *header, cdcmtk_error *error) {
    return cdcmtk_read_object(path, header, nullptr, nullptr, error);
}
