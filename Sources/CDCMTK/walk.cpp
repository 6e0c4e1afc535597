#include "dataset.hpp"

#include <cstring>

namespace {

using cdcmtk::Bytes;
using cdcmtk::fail;
using cdcmtk::Node;
using cdcmtk::Object;
using cdcmtk::PixelElement;
using cdcmtk::Value;

const uint32_t undefined_length = 0xFFFFFFFF;
const uint32_t item_tag = 0xFFFEE000, item_end = 0xFFFEE00D, sequence_end = 0xFFFEE0DD;

/// Sequences in sequences; real objects have fewer than twenty.
const int deepest = 200;
/// The most items and bytes that are kept of one header: an object of a quarter million frames has fewer.
const size_t most_nodes = size_t(1) << 22;
const size_t most_kept = size_t(1) << 27;
const size_t longest_value = size_t(1) << 18;
const size_t longest_private_value = size_t(1) << 22;

struct Head {
    uint32_t tag = 0, length = 0;
    char vr[2] = {0, 0};
    uint64_t value = 0;
};

enum class Outcome { fine, odd, too_deep, too_much };

/// Goes from element to element. `odd` is whatever this code does not understand for certain.
class Walk {
  public:
    Walk(Bytes &bytes, bool is_explicit, bool big, bool with_frames)
        : bytes_(bytes), explicit_(is_explicit), big_(big), with_frames_(with_frames) {}

    Outcome data_set(uint64_t at, Node &node, PixelElement &pixels) {
        pixels_ = &pixels;
        top_ = &node;
        return elements(at, UINT64_MAX, false, 0, !explicit_, &node);
    }

    /// The file's meta group from `at`, which is then behind it.
    static bool meta_group(Bytes &bytes, uint64_t &at, Node &meta) {
        Walk walk(bytes, true, false, false);
        for (;;) {
            const uint8_t *start = bytes.view(at, 8);
            if (!start || start[0] != 2 || start[1] != 0) return start != nullptr;
            Head head;
            if (!walk.head(at, false, head) || head.length == undefined_length) return false;
            if (!bytes.has(head.value, head.length)) return false;
            if (cdcmtk::kept_representation(head.tag) && !walk.keep(head, meta)) return false;
            at = head.value + head.length;
        }
    }

    static bool known_representation(const uint8_t *vr, bool &is_long) {
        static const char long_ones[] = "OBOWOFODOLOVSQUNUTUCURSVUV";
        static const char short_ones[] = "AEASATCSDADSDTFLFDISLOLTPNSHSLSSSTTMUIULUS";
        for (const char *at = long_ones; *at; at += 2) {
            if (vr[0] == at[0] && vr[1] == at[1]) return is_long = true;
        }
        is_long = false;
        for (const char *at = short_ones; *at; at += 2) {
            if (vr[0] == at[0] && vr[1] == at[1]) return true;
        }
        return false;
    }

  private:
    uint16_t u16(const uint8_t *at) const {
        return static_cast<uint16_t>(big_ ? at[0] << 8 | at[1] : at[1] << 8 | at[0]);
    }
    uint32_t u32(const uint8_t *at) const {
        return big_ ? static_cast<uint32_t>(u16(at)) << 16 | u16(at + 2)
                    : static_cast<uint32_t>(u16(at + 2)) << 16 | u16(at);
    }

    bool head(uint64_t at, bool implicit, Head &head) {
        const uint8_t *start = bytes_.view(at, 8);
        if (!start) return false;
        head.tag = static_cast<uint32_t>(u16(start)) << 16 | u16(start + 2);
        head.value = at + 8;
        if (implicit || head.tag >> 16 == 0xFFFE) {
            head.length = u32(start + 4);
            const char *vr = head.tag >> 16 == 0xFFFE ? nullptr : cdcmtk::kept_representation(head.tag);
            std::memcpy(head.vr, vr ? vr : "UN", 2);
            return true;
        }
        bool is_long = false;
        if (!known_representation(start + 4, is_long)) return false;
        std::memcpy(head.vr, start + 4, 2);
        if (!is_long) {
            head.length = u16(start + 6);
            return true;
        }
        const uint8_t *length = bytes_.view(at + 8, 4);
        if (!length) return false;
        head.length = u32(length);
        head.value = at + 12;
        return true;
    }

    bool keep(const Head &head, Node &node) {
        const bool own = (head.tag >> 16) % 2 == 1;
        if (head.length > (own ? longest_private_value : longest_value)) return true;
        if (kept_ + head.length > most_kept) return false;
        kept_ += head.length;
        Value value;
        // A file may call a known number unknown; the dictionary then knows better.
        const bool unknown = head.vr[0] == 'U' && head.vr[1] == 'N';
        std::memcpy(value.vr, unknown ? cdcmtk::kept_representation(head.tag) : head.vr, 2);
        value.big = big_;
        value.bytes.resize(head.length);
        if (!bytes_.copy(head.value, head.length, &value.bytes[0])) return false;
        node.values.emplace(head.tag, std::move(value));
        return true;
    }

    bool wanted(const Head &head, const Node &node) const {
        if (head.tag == 0x52009229 || head.tag == 0x52009230) return with_frames_;
        if (head.tag >= 0x00291010 && head.tag <= 0x00291210) {
            // The scanner's own header, large, is of use for a mosaic alone.
            return with_frames_ && node.text(0x00080008).find("MOSAIC") != std::string::npos;
        }
        if (head.tag >= 0x00281201 && head.tag <= 0x00281203) return !with_frames_;
        return true;
    }

    Outcome elements(uint64_t &at, uint64_t end, bool delimited, int depth, bool implicit, Node *node) {
        uint32_t previous = 0;
        for (;;) {
            if (!delimited && at >= end) return at == end ? Outcome::fine : Outcome::odd;
            if (depth == 0 && !bytes_.has(at, 1)) return Outcome::fine;
            Head element;
            if (!head(at, implicit, element)) return Outcome::odd;
            if (element.tag == item_end && delimited) {
                at = element.value;
                return Outcome::fine;
            }
            if (element.tag >> 16 == 0xFFFE || (depth == 0 && element.tag <= previous && previous != 0)) {
                return Outcome::odd;
            }
            previous = element.tag;
            if (depth == 0 && element.tag >> 16 == 0x7FE0) {
                bool last = false;
                const Outcome outcome = pixel_element(element, last);
                if (outcome != Outcome::fine || last) return outcome;
                at = element.value + element.length;
                continue;
            }
            const Outcome outcome = one(at, element, end, depth, implicit, node);
            if (outcome != Outcome::fine) return outcome;
        }
    }

    Outcome one(uint64_t &at, const Head &element, uint64_t end, int depth, bool implicit, Node *node) {
        const char *kept = node ? cdcmtk::kept_representation(element.tag) : nullptr;
        if (kept && !wanted(element, *node)) kept = nullptr;
        const bool is_kept_sequence = kept && kept[0] == 'S' && kept[1] == 'Q';
        const bool is_named_sequence = element.vr[0] == 'S' && element.vr[1] == 'Q';
        const bool is_unknown = element.vr[0] == 'U' && element.vr[1] == 'N';
        if (element.length == undefined_length || (is_kept_sequence && (is_named_sequence || is_unknown))) {
            // Compressed pixels inside an item (an icon) have fragments; a private sequence of unknown kind is implicit.
            const bool fragments = !implicit && !is_named_sequence && !is_unknown;
            uint64_t stop = UINT64_MAX;
            if (element.length != undefined_length) {
                stop = element.value + element.length;
                if (stop > end || !bytes_.has(element.value, element.length)) return Outcome::odd;
            }
            at = element.value;
            std::vector<Node> *items = is_kept_sequence ? &node->sequences[element.tag] : nullptr;
            return sequence(at, stop, depth + 1, implicit || (is_unknown && explicit_), fragments, items);
        }
        if (is_kept_sequence || !bytes_.has(element.value, element.length)) return Outcome::odd;
        if (end != UINT64_MAX && element.length > end - std::min(end, element.value)) return Outcome::odd;
        if (kept && !is_named_sequence && !keep(element, *node)) return Outcome::too_much;
        at = element.value + element.length;
        return Outcome::fine;
    }

    Outcome sequence(uint64_t &at, uint64_t stop, int depth, bool implicit, bool fragments, std::vector<Node> *items) {
        if (depth > deepest) return Outcome::too_deep;
        // Not even private sequences of implicit syntax are big endian.
        for (;;) {
            if (at >= stop) return at == stop ? Outcome::fine : Outcome::odd;
            Head item;
            if (!head(at, true, item)) return Outcome::odd;
            at = item.value;
            if (item.tag == sequence_end) return stop == UINT64_MAX || at == stop ? Outcome::fine : Outcome::odd;
            if (item.tag != item_tag) return Outcome::odd;
            Node *node = nullptr;
            if (items && !fragments) {
                if (++nodes_ > most_nodes || items->size() >= cdcmtk::most_items) return Outcome::too_much;
                items->emplace_back();
                node = &items->back();
            }
            const bool delimited = item.length == undefined_length;
            if (!delimited && !bytes_.has(at, item.length)) return Outcome::odd;
            if (!delimited && (!node || fragments)) {
                at += item.length;
                continue;
            }
            if (fragments) return Outcome::odd;
            const uint64_t end = delimited ? stop : at + item.length;
            if (end > stop) return Outcome::odd;
            const Outcome outcome = elements(at, end, delimited, depth, implicit, node);
            if (outcome != Outcome::fine) return outcome;
        }
    }

    Outcome pixel_element(const Head &element, bool &last) {
        const uint32_t number = element.tag & 0xFFFF;
        if (number == 1 && element.length != undefined_length) {
            // The extended offset table.
            const size_t length = std::min<uint64_t>(element.length, bytes_.left(element.value)) / 8 * 8;
            if (length != element.length || length > most_kept) return Outcome::odd;
            std::vector<uint8_t> table(length);
            if (!bytes_.copy(element.value, length, table.data())) return Outcome::odd;
            for (size_t entry = 0; entry < length; entry += 8) {
                pixels_->offsets.push_back(u32(&table[entry]) | static_cast<uint64_t>(u32(&table[entry + 4])) << 32);
            }
            return Outcome::fine;
        }
        last = number == 8 || number == 9 || number == 0x10;
        if (!last) return bytes_.has(element.value, element.length) ? Outcome::fine : Outcome::odd;
        pixels_->kind = number == 8    ? PixelElement::floats
                        : number == 9 ? PixelElement::doubles
                                      : PixelElement::cells;
        pixels_->big = big_;
        pixels_->in_words = element.vr[0] == 'O' && element.vr[1] == 'W';
        pixels_->native = {element.value, element.length};
        pixels_->encapsulated = element.length == undefined_length;
        return Outcome::fine;
    }

    Bytes &bytes_;
    const bool explicit_, big_, with_frames_;
    Node *top_ = nullptr;
    PixelElement *pixels_ = nullptr;
    size_t nodes_ = 0, kept_ = 0;
};

/// Finds the fragments of compressed pixels. What is missing at the end is left to their decoder.
void find_fragments(Bytes &bytes, PixelElement &pixels) {
    uint64_t at = pixels.native.at;
    bool first = true, ended = false;
    while (const uint8_t *start = bytes.view(at, 8)) {
        const uint32_t tag = static_cast<uint32_t>(start[1] << 8 | start[0]) << 16 | (start[3] << 8 | start[2]);
        const uint64_t length = start[4] | start[5] << 8 | start[6] << 16 | static_cast<uint64_t>(start[7]) << 24;
        at += 8;
        if (tag == sequence_end) {
            ended = true;
            break;
        }
        if (tag != item_tag) break;
        const uint64_t there = std::min(length, bytes.left(at));
        if (there < length) pixels.notes.push_back("the last fragment of the pixel data is cut short");
        if (first) {
            std::vector<uint8_t> table(static_cast<size_t>(std::min<uint64_t>(there, most_kept)));
            if (bytes.copy(at, table.size(), table.data()) && pixels.offsets.empty()) {
                for (size_t entry = 0; entry + 4 <= table.size(); entry += 4) {
                    pixels.offsets.push_back(table[entry] | table[entry + 1] << 8 | table[entry + 2] << 16
                                             | static_cast<uint64_t>(table[entry + 3]) << 24);
                }
            }
        } else {
            pixels.fragments.push_back({at, there});
        }
        first = false;
        at += there;
        if (there < length) return;
    }
    if (!ended) pixels.notes.push_back("the pixel data does not end where it should: its end marker is missing");
}

}  // namespace

cdcmtk_code cdcmtk::read_object(const char *path, bool with_frames, Object &object, cdcmtk_error *error) {
    std::unique_ptr<FileBytes> file(new FileBytes);
    const cdcmtk_code opened = file->open(path, error);
    if (opened != CDCMTK_OK) return opened;
    object.file_size = static_cast<int64_t>(file->size());
    const auto by_dcmtk = [&]() {
        object.meta = Node();
        object.set = Node();
        object.pixels = PixelElement();
        return read_object_by_dcmtk(path, !with_frames, object, error);
    };
    const uint8_t *start = file->view(0, static_cast<size_t>(std::min<uint64_t>(file->size(), 132)));
    const bool has_preamble = start && file->size() >= 132 && std::memcmp(start + 128, "DICM", 4) == 0;
    if (!has_preamble) return by_dcmtk();  // its syntax has to be guessed
    uint64_t at = 132;
    if (!Walk::meta_group(*file, at, object.meta)) return by_dcmtk();
    object.syntax_uid = object.meta.text(0x00020010);
    const DcmXfer syntax(object.syntax_uid.c_str());
    object.syntax = syntax.getXfer();
    if (object.syntax == EXS_Unknown) return by_dcmtk();
    const bool deflated = object.syntax == EXS_DeflatedLittleEndianExplicit;
    const bool big = syntax.getByteOrder() == EBO_BigEndian;
    InflatedBytes *inflated = nullptr;
    if (deflated) {
        inflated = new InflatedBytes(path, at);
        object.bytes.reset(inflated);
        at = 0;
    } else {
        object.bytes = std::move(file);
    }
    Walk walk(*object.bytes, syntax.isExplicitVR(), big, with_frames);
    const Outcome outcome = walk.data_set(at, object.set, object.pixels);
    if (inflated && inflated->too_large()) {
        return fail(error, CDCMTK_NOT_READABLE,
                    std::string("the deflated data set swells beyond 256 MiB, which no single slice does"));
    }
    switch (outcome) {
        case Outcome::fine: break;
        case Outcome::odd: return by_dcmtk();
        case Outcome::too_deep:
            return fail(error, CDCMTK_NESTED_TOO_DEEP,
                        std::string("sequences are nested hundreds of levels deep, which no real object does"));
        case Outcome::too_much:
            return fail(error, CDCMTK_NOT_READABLE,
                        std::string("the header holds more items or bytes than that of any real object"));
    }
    if (object.set.values.empty() && object.pixels.kind == PixelElement::none) return by_dcmtk();
    if (object.pixels.encapsulated && !with_frames) find_fragments(*object.bytes, object.pixels);
    return CDCMTK_OK;
}
