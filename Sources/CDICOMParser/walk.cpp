#include "walk.hpp"

#include "cdicom/tags.hpp"

#include <algorithm>
#include <cstring>

namespace {

/// Maximum depth of nested sequences; real objects have fewer than twenty.
const int maximum_depth = 200;
/// The maximum number of items kept of one header.
const size_t maximum_nodes = size_t(1) << 22;
const size_t maximum_value_bytes = size_t(1) << 18;
const size_t maximum_private_value_bytes = size_t(1) << 22;

}  // namespace

namespace cdicom {

Walk::Outcome Walk::data_set(uint64_t at, Node &node, PixelElement &pixels) {
    pixels_ = &pixels;
    return elements(at, {UINT64_MAX, false, 0, !is_explicit_}, &node);
}

bool Walk::meta_information(Bytes &bytes, uint64_t &at, Node &meta) {
    Walk walk(bytes, true, false, false);
    for (;;) {
        const uint8_t *start = bytes.view(at, 8);
        if (!start || start[0] != 2 || start[1] != 0) return start != nullptr;
        ElementHead head;
        if (!walk.reader_.head(at, false, head) || head.length == undefined_length) return false;
        if (!bytes.has(head.value, head.length)) return false;
        if (kept_representation(head.tag) && !walk.keep(head, meta)) return false;
        at = head.value + head.length;
    }
}

/// False when too much has been stored. Values that are longer than any real one are omitted.
bool Walk::keep(const ElementHead &head, Node &node) {
    const bool is_private = tag::group_of(head.tag) % 2 == 1;
    if (head.length > (is_private ? maximum_private_value_bytes : maximum_value_bytes)) return true;
    if (kept_ + head.length > maximum_kept_bytes) return false;
    kept_ += head.length;
    Value value;
    // A file may give a known number the representation "unknown"; the one of the dictionary is then used.
    std::memcpy(value.vr, head.is("UN") ? kept_representation(head.tag) : head.vr, 2);
    value.big = reader_.is_big_endian();
    value.bytes.resize(head.length);
    if (!reader_.bytes().copy(head.value, head.length, &value.bytes[0])) return false;
    const auto known = node.values.find(head.tag);
    if (known == node.values.end()) {
        node.values.emplace(head.tag, std::move(value));
    } else if (known->second.bytes != value.bytes) {
        known->second.is_twice = true;
    }
    return true;
}

bool Walk::is_wanted(const ElementHead &head, const Node &node) const {
    switch (head.tag) {
        case tag::SharedFunctionalGroupsSequence:
        case tag::PerFrameFunctionalGroupsSequence: return with_frames_;
        case tag::CSAImageHeaderInfoFirst:
        case tag::CSAImageHeaderInfoSecond:
        case tag::CSAImageHeaderInfoThird:
            // Large, and only needed for a mosaic.
            return with_frames_ && node.text(tag::ImageType).find("MOSAIC") != std::string::npos;
        case tag::UnitedImagingFrameSequence: return with_frames_ && is_united_imaging(node);
        case tag::RedPaletteColorLookupTableData:
        case tag::GreenPaletteColorLookupTableData:
        case tag::BluePaletteColorLookupTableData: return !with_frames_;
        default: return true;
    }
}

Walk::Outcome Walk::elements(uint64_t &at, const Scope &scope, Node *node) {
    uint32_t previous = 0;
    for (;;) {
        if (!scope.is_delimited && at >= scope.end) return at == scope.end ? Outcome::fine : Outcome::not_understood;
        if (scope.depth == 0 && !reader_.bytes().has(at, 1)) return Outcome::fine;
        ElementHead head;
        if (!reader_.head(at, scope.is_implicit, head)) return Outcome::not_understood;
        if (head.tag == tag::ItemDelimitationItem && scope.is_delimited) {
            at = head.value;
            return Outcome::fine;
        }
        const uint32_t group = tag::group_of(head.tag);
        if (group == tag::item_group || (scope.depth == 0 && head.tag < previous)) {
            return Outcome::not_understood;
        }
        previous = head.tag;
        if (scope.depth == 0 && group == tag::pixel_group) {
            bool is_last = false;
            const Outcome outcome = pixel_element(head, is_last);
            if (outcome != Outcome::fine || is_last) return outcome;
            at = head.value + head.length;
            continue;
        }
        const Outcome outcome = element(at, head, scope, node);
        if (outcome != Outcome::fine) return outcome;
    }
}

/// Reads any element except those of the pixels; `at` is then behind it. Without a node nothing is stored.
Walk::Outcome Walk::element(uint64_t &at, const ElementHead &head, const Scope &scope, Node *node) {
    Bytes &bytes = reader_.bytes();
    const char *kept = node ? kept_representation(head.tag) : nullptr;
    if (kept && !is_wanted(head, *node)) kept = nullptr;
    const bool is_kept_sequence = kept && kept[0] == 'S' && kept[1] == 'Q';
    const bool is_named_sequence = head.is("SQ");
    const bool is_unknown = head.is("UN");
    if (head.length == undefined_length || (is_kept_sequence && (is_named_sequence || is_unknown))) {
        // Compressed pixels inside an item (an icon) have fragments; a private sequence of unknown type is implicit.
        const bool has_fragments = !scope.is_implicit && !is_named_sequence && !is_unknown;
        uint64_t stop = UINT64_MAX;
        if (head.length != undefined_length) {
            stop = head.value + head.length;
            if (stop > scope.end || !bytes.has(head.value, head.length)) return Outcome::not_understood;
        }
        at = head.value;
        std::vector<Node> *items = is_kept_sequence ? &node->sequences[head.tag] : nullptr;
        const bool is_implicit = scope.is_implicit || (is_unknown && is_explicit_);
        return sequence(at, {stop, false, scope.depth + 1, is_implicit}, has_fragments, items);
    }
    if (is_kept_sequence || !bytes.has(head.value, head.length)) return Outcome::not_understood;
    if (scope.end != UINT64_MAX && head.length > scope.end - std::min(scope.end, head.value)) {
        return Outcome::not_understood;
    }
    if (kept && !is_named_sequence && !keep(head, *node)) return Outcome::too_much;
    at = head.value + head.length;
    return Outcome::fine;
}

/// Reads the items of a sequence, or skips fragments. An end marker may be present even if the length is stated.
Walk::Outcome Walk::sequence(uint64_t &at, const Scope &scope, bool has_fragments, std::vector<Node> *items) {
    if (scope.depth > maximum_depth) return Outcome::too_deep;
    for (;;) {
        if (at >= scope.end) return at == scope.end ? Outcome::fine : Outcome::not_understood;
        ElementHead head;
        if (!reader_.head(at, true, head)) return Outcome::not_understood;
        at = head.value;
        if (head.tag == tag::SequenceDelimitationItem) {
            return scope.end == UINT64_MAX || at == scope.end ? Outcome::fine : Outcome::not_understood;
        }
        if (head.tag != tag::Item) return Outcome::not_understood;
        Node *node = nullptr;
        if (items && !has_fragments) {
            if (++nodes_ > maximum_nodes || items->size() >= maximum_items) return Outcome::too_much;
            items->emplace_back();
            node = &items->back();
        }
        const bool is_delimited = head.length == undefined_length;
        if (!is_delimited && !reader_.bytes().has(at, head.length)) return Outcome::not_understood;
        if (!is_delimited && (!node || has_fragments)) {
            at += head.length;
            continue;
        }
        if (has_fragments) return Outcome::not_understood;
        const Outcome outcome = item(at, head, scope, node);
        if (outcome != Outcome::fine) return outcome;
    }
}

/// Reads the elements of one item of the sequence `scope`.
Walk::Outcome Walk::item(uint64_t &at, const ElementHead &head, const Scope &scope, Node *node) {
    const bool is_delimited = head.length == undefined_length;
    const uint64_t end = is_delimited ? scope.end : at + head.length;
    if (end > scope.end) return Outcome::not_understood;
    return elements(at, {end, is_delimited, scope.depth, scope.is_implicit}, node);
}

/// Reads an element of group 7FE0 of the data set itself; `is_last` is set when it contains the pixels.
Walk::Outcome Walk::pixel_element(const ElementHead &head, bool &is_last) {
    if (head.tag == tag::ExtendedOffsetTable && head.length != undefined_length) return extended_offsets(head);
    is_last = head.tag == tag::FloatPixelData || head.tag == tag::DoubleFloatPixelData || head.tag == tag::PixelData;
    if (!is_last) {
        return reader_.bytes().has(head.value, head.length) ? Outcome::fine : Outcome::not_understood;
    }
    pixels_->kind = head.tag == tag::FloatPixelData        ? PixelElement::floats
                    : head.tag == tag::DoubleFloatPixelData ? PixelElement::doubles
                                                            : PixelElement::cells;
    pixels_->big = reader_.is_big_endian();
    pixels_->in_words = head.is("OW");
    pixels_->native = {head.value, head.length};
    pixels_->encapsulated = head.length == undefined_length;
    return Outcome::fine;
}

Walk::Outcome Walk::extended_offsets(const ElementHead &head) {
    Bytes &bytes = reader_.bytes();
    const size_t length = std::min<uint64_t>(head.length, bytes.left(head.value)) / 8 * 8;
    if (length != head.length || length > maximum_kept_bytes) return Outcome::not_understood;
    std::vector<uint8_t> table(length);
    if (!bytes.copy(head.value, length, table.data())) return Outcome::not_understood;
    for (size_t entry = 0; entry < length; entry += 8) {
        const uint64_t high = reader_.u32(&table[entry + 4]);
        pixels_->offsets.push_back(reader_.u32(&table[entry]) | high << 32);
    }
    return Outcome::fine;
}

}  // namespace cdicom
