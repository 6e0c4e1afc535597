#include "walk.hpp"

#include "cdicom/frames.hpp"
#include "cdicom/tags.hpp"

#include <algorithm>
#include <cstring>

namespace {

using namespace cdicom;

/// A length or an offset in little endian, the byte order of all fragments.
uint64_t little_endian(const uint8_t *at) {
    return at[0] | at[1] << 8 | at[2] << 16 | static_cast<uint64_t>(at[3]) << 24;
}

/// Finds the fragments of compressed pixels. Missing bytes at the end are reported by their decoder.
void find_fragments(Bytes &bytes, PixelElement &pixels) {
    ElementReader reader(bytes, false);
    uint64_t at = pixels.native.at;
    bool is_first = true, has_ended = false;
    ElementHead head;
    while (reader.head(at, true, head)) {
        at = head.value;
        has_ended = head.tag == tag::SequenceDelimitationItem;
        if (head.tag != tag::Item) break;
        const uint64_t there = std::min<uint64_t>(head.length, bytes.left(at));
        const bool is_truncated = there < head.length;
        if (is_truncated) pixels.notes.push_back("the last fragment of the pixel data is truncated");
        if (is_first) {
            std::vector<uint8_t> table(static_cast<size_t>(std::min<uint64_t>(there, maximum_kept_bytes)));
            if (bytes.copy(at, table.size(), table.data()) && pixels.offsets.empty()) {
                for (size_t entry = 0; entry + 4 <= table.size(); entry += 4) {
                    pixels.offsets.push_back(little_endian(&table[entry]));
                }
            }
        } else {
            pixels.fragments.push_back({at, there});
        }
        is_first = false;
        at += there;
        if (is_truncated) return;
    }
    if (!has_ended) pixels.notes.push_back("the pixel data does not end where it should: its end marker is missing");
}

/// Converts the result of a walk to a code and its text.
cdicom_code report(Walk::Outcome outcome, cdicom_error *error) {
    switch (outcome) {
        case Walk::Outcome::fine: return CDICOM_OK;
        case Walk::Outcome::not_understood:
            return fail(error, CDICOM_NOT_UNDERSTOOD, "the structure of the data set is not understood");
        case Walk::Outcome::too_deep:
            return fail(error, CDICOM_NESTED_TOO_DEEP,
                        "sequences are nested hundreds of levels deep, more than in any real object");
        case Walk::Outcome::too_much:
            return fail(error, CDICOM_NOT_READABLE,
                        "the header holds more items or bytes than that of any real object");
    }
    return CDICOM_INTERNAL;
}

/// Reads the preamble and the file meta information; `at` is then the offset of the data set.
bool read_meta(FileBytes &file, Object &object, uint64_t &at) {
    const uint8_t *start = file.view(0, static_cast<size_t>(std::min<uint64_t>(file.size(), 132)));
    // Without a preamble the transfer syntax must be guessed.
    if (!start || file.size() < 132 || std::memcmp(start + 128, "DICM", 4) != 0) return false;
    at = 132;
    if (!Walk::meta_information(file, at, object.meta)) return false;
    object.syntax_uid = object.meta.text(tag::TransferSyntaxUID);
    object.syntax = find_syntax(object.syntax_uid);
    return object.syntax != nullptr;
}

/// Whether a data set that contradicts its stated syntax may be in the other representation, explicit or implicit.
bool may_be_misstated(const TransferSyntax &syntax) {
    return !syntax.is_big_endian && !syntax.is_deflated && std::strcmp(syntax.uid, general_electric_syntax) != 0;
}

/// Reads a data set in one representation. `outcome` is not_understood for one without any known element.
Walk::Outcome walk_data_set(Object &object, uint64_t at, bool is_explicit, bool with_frames) {
    Walk walk(*object.bytes, is_explicit, object.syntax->is_big_endian, with_frames);
    const Walk::Outcome outcome = walk.data_set(at, object.set, object.pixels);
    const bool is_empty = object.set.values.empty() && object.pixels.kind == PixelElement::none;
    return outcome == Walk::Outcome::fine && is_empty ? Walk::Outcome::not_understood : outcome;
}

/// Reads a data set in the representation that its syntax does not state; nothing has changed when it fails.
bool read_misstated(Object &object, uint64_t at, bool with_frames) {
    Object other;
    other.bytes = std::move(object.bytes);
    other.syntax = object.syntax;
    const Walk::Outcome outcome = walk_data_set(other, at, !object.syntax->is_explicit, with_frames);
    object.bytes = std::move(other.bytes);
    if (outcome != Walk::Outcome::fine) return false;
    object.set = std::move(other.set);
    object.pixels = std::move(other.pixels);
    object.is_misstated = true;
    return true;
}

}  // namespace

cdicom_code cdicom::read_object(const char *path, bool with_frames, Object &object, cdicom_error *error) {
    std::unique_ptr<FileBytes> file(new FileBytes);
    const cdicom_code opened = file->open(path, error);
    if (opened != CDICOM_OK) return opened;
    const cdicom_code recognised = file->recognise(error);
    if (recognised != CDICOM_OK) return recognised;
    object.file_size = static_cast<int64_t>(file->size());
    uint64_t at = 0;
    if (!read_meta(*file, object, at)) return report(Walk::Outcome::not_understood, error);
    InflatedBytes *inflated = nullptr;
    if (object.syntax->is_deflated) {
        static std::mutex one_header;
        if (with_frames) object.turn = std::unique_lock<std::mutex>(one_header);
        inflated = new InflatedBytes(std::move(file), at);
        object.bytes.reset(inflated);
        at = 0;
    } else {
        object.bytes = std::move(file);
    }
    object.start = at;
    Walk::Outcome outcome = walk_data_set(object, at, object.syntax->is_explicit, with_frames);
    if (inflated && inflated->too_large()) {
        return fail(error, CDICOM_NOT_READABLE,
                    "the deflated data set exceeds 256 MiB, more than any single slice");
    }
    if (inflated && inflated->is_truncated()) {
        return fail(error, CDICOM_NOT_READABLE, "the file is cut or damaged: its deflated data set has no end");
    }
    if (outcome == Walk::Outcome::not_understood && may_be_misstated(*object.syntax)
        && read_misstated(object, at, with_frames)) {
        outcome = Walk::Outcome::fine;
    }
    if (outcome != Walk::Outcome::fine) return report(outcome, error);
    if (object.pixels.encapsulated && !with_frames) find_fragments(*object.bytes, object.pixels);
    return CDICOM_OK;
}
