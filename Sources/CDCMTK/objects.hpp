#ifndef CDCMTK_OBJECTS_HPP
#define CDCMTK_OBJECTS_HPP

#include "cdcmtk_objects.h"
#include "shim.hpp"

#include <memory>

// DCMTK's own dcmseg and dcmrt are not used: dcmseg of 3.6.7 does not support label maps, needs all frames in memory
// and writes the current date; dcmrt checks every element before it returns the few that are needed. Plain data sets
// need less code.

namespace cdcmtk {

/// A number as a decimal string of at most 16 characters.
std::string decimal(double value);

/// The SpecificCharacterSet of an item, or else of the items around it.
std::string stated_characters(DcmItem &item);

/// The text of an element in UTF-8, including its backslashes, "" when missing.
std::string text_in(DcmItem &item, const DcmTagKey &tag);

/// Reads `count` finite numbers of an element that contains exactly these.
bool numbers_in(DcmItem &item, const DcmTagKey &tag, double *values, unsigned long count);

/// The first item of a sequence, or null.
DcmItem *first_item(DcmItem &item, const DcmTagKey &sequence);

/// Copies the text of an element to a field; an empty one when it is missing.
template <size_t capacity>
void copy(DcmItem &item, const DcmTagKey &tag, char (&field)[capacity]) {
    cdicom::copy_text(field, text_in(item, tag));
}

/// The code in the first item of a sequence; unchanged when there is none.
void code_in(DcmItem &item, const DcmTagKey &sequence, cdcmtk_coded_text &code);

/// Calls `body` with each item of a sequence, in order, until it returns false. Linear in their number.
template <typename Body>
void for_each_item(DcmItem &item, const DcmTagKey &tag, Body body) {
    DcmSequenceOfItems *sequence = nullptr;
    if (item.findAndGetSequence(tag, sequence).bad() || !sequence) return;
    DcmObject *object = nullptr;
    while ((object = sequence->nextInContainer(object)) != nullptr) {
        DcmItem *member = dynamic_cast<DcmItem *>(object);
        if (member && !body(*member)) return;
    }
}

/// The images that an object refers to, as far as they are listed.
class ImageReferences {
public:
    /// Adds the images that the items of a sequence refer to: one for each ReferencedFrameNumber, or one for all frames.
    void add(DcmItem &item, const DcmTagKey &sequence);
    size_t count() const { return images.size(); }
    cdicom_code get(size_t index, cdcmtk_image_reference *image, cdicom_error *error) const;

private:
    static constexpr size_t most = 1 << 20;
    std::vector<cdcmtk_image_reference> images;
};

void put(DcmItem &item, const DcmTagKey &tag, const std::string &text);
void put(DcmItem &item, const DcmTagKey &tag, Uint16 value);

/// Adds an item at the end of a sequence, which is created if necessary.
DcmItem &add_item(DcmItem &item, const DcmTagKey &sequence);

void put_code(DcmItem &item, const DcmTagKey &sequence, const char *scheme, const char *value, const char *meaning);

}  // namespace cdcmtk

/// A slice of the grid and its source file.
struct ObjectSource {
    std::string class_uid, instance_uid, series_uid, position;
    uint32_t frame = 0;
    bool is_multi_frame = false;
    /// The index of the instance among all referenced ones.
    size_t instance = 0;
};

/// An object under construction.
struct cdcmtk_object {
    bool is_segmentation = false;
    int maker_number = 0;
    std::string dimension_uid, fallback_frame_uid, frame_uid, study_uid, orientation, algorithm, algorithm_type;
    int rows = 0, columns = 0;
    double directions[6] = {}, tolerance = 0;

    std::vector<ObjectSource> sources;
    /// The indices in `sources` at which an instance occurs for the first time.
    std::vector<size_t> instances;

    /// The file read last; the slices of a multi-frame object are in one file.
    std::string open_path;
    std::unique_ptr<DcmFileFormat> open_file;

    DcmFileFormat file;
    size_t segments = 0, frames = 0, regions = 0;
    DcmItem *region = nullptr;
    bool has_pixels = false;

    DcmDataset &set() { return *file.getDataset(); }
};

namespace cdcmtk {

/// Copies what every written object takes from its first source: patient, study, frame of reference, dates.
void copy_modules(DcmDataset &source, cdcmtk_object &object);

/// Converts what was copied from the source to UTF-8 if the texts of the object itself are not all ASCII: they are UTF-8, and an object has
/// one character set. An object with ASCII texts keeps the set and the bytes of its source.
void unify_characters(cdcmtk_object &object);

/// Adds a reference to a source to an item's sequence.
void refer_to(DcmItem &parent, const DcmTagKey &sequence, const ObjectSource &source, bool with_frame);

/// Like ``guarded``, also for ``ConditionError``.
template <typename Body>
cdicom_code built(cdicom_error *error, Body body) noexcept {
    return guarded(error, [&]() -> cdicom_code {
        try {
            return body();
        } catch (const ConditionError &fault) {
            return fail(error, CDICOM_INTERNAL, fault.condition);
        }
    });
}

}  // namespace cdcmtk

#endif
