#include "codecs.hpp"

#include "cdicom/tags.hpp"

#include "dcmtk/dcmdata/dcpixel.h"
#include "dcmtk/dcmdata/dcpixseq.h"
#include "dcmtk/dcmdata/dcpxitem.h"

#include <cstring>

namespace {

using cdicom::Node;
using cdicom::Object;
using cdicom::PixelElement;
using cdicom::Value;

/// The maximum number of sequence items that are kept, over all levels.
const size_t maximum_items = size_t(1) << 20;
/// Longer values, in bytes, are omitted.
const Uint32 maximum_value_bytes = 1u << 22;
/// Number of sequence levels that are kept; all values that are read are in the first few.
const int maximum_depth = 8;

void put(Value &value, const char *vr, const void *bytes, size_t count) {
    std::memcpy(value.vr, vr, 2);
    value.big = false;
    value.bytes.assign(static_cast<const char *>(bytes), count);
}

void collect(DcmItem &item, Node &node, size_t &budget, int depth);

void collect_element(DcmElement &element, uint32_t tag, const char *kept, Node &node, size_t &budget, int depth) {
    if (kept[0] == 'S' && kept[1] == 'Q') {
        DcmSequenceOfItems *sequence = dynamic_cast<DcmSequenceOfItems *>(&element);
        if (!sequence) return;
        std::vector<Node> &items = node.sequences[tag];
        DcmObject *next = nullptr;
        while ((next = sequence->nextInContainer(next)) != nullptr && budget > 0) {
            DcmItem *item = dynamic_cast<DcmItem *>(next);
            if (!item) continue;
            budget -= 1;
            items.emplace_back();
            collect(*item, items.back(), budget, depth + 1);
        }
        return;
    }
    Value value;
    Uint16 *words = nullptr;
    Uint8 *bytes = nullptr;
    if (element.getLengthField() > maximum_value_bytes) return;
    if (element.ident() == EVR_OW || element.ident() == EVR_lt) {
        if (element.getUint16Array(words).bad() || !words) return;
        put(value, "OW", words, element.getLength() / 2 * 2);
    } else if (element.ident() == EVR_OB || element.ident() == EVR_UN) {
        if (element.getUint8Array(bytes).bad() || !bytes) return;
        put(value, kept, bytes, element.getLength());
    } else {
        OFString text;
        if (element.getOFStringArray(text).bad()) return;
        put(value, "LO", text.c_str(), text.length());
    }
    node.values.emplace(tag, std::move(value));
}

void collect(DcmItem &item, Node &node, size_t &budget, int depth) {
    if (depth > maximum_depth) return;
    DcmObject *next = nullptr;
    while ((next = item.nextInContainer(next)) != nullptr) {
        DcmElement *element = dynamic_cast<DcmElement *>(next);
        if (!element) continue;
        const uint32_t tag = static_cast<uint32_t>(element->getGTag()) << 16 | element->getETag();
        const char *kept = cdicom::kept_representation(tag);
        if (kept) collect_element(*element, tag, kept, node, budget, depth);
    }
}

/// Copies native pixels as little endian, whatever their order: DCMTK has swapped the bytes of 16-bit words.
void collect_native(DcmPixelData &data, DcmDataset &set, bool is_big_endian, std::vector<uint8_t> &bytes) {
    Uint8 *cells = nullptr;
    Uint16 *words = nullptr;
    const size_t length = data.getLength();
    if (data.getUint16Array(words).good() && words) {
        const uint8_t *start = reinterpret_cast<const uint8_t *>(words);
        bytes.assign(start, start + length);
    } else if (data.getUint8Array(cells).good() && cells) {
        bytes.assign(cells, cells + length);
    }
    Uint16 allocated = 0;
    set.findAndGetUint16(DCM_BitsAllocated, allocated);
    if (allocated == 32 && is_big_endian) {
        // The two words of a 32-bit cell are then in the wrong order.
        for (size_t at = 0; at + 4 <= bytes.size(); at += 4) {
            std::swap(bytes[at], bytes[at + 2]);
            std::swap(bytes[at + 1], bytes[at + 3]);
        }
    }
}

/// Copies the fragments of compressed pixels consecutively, and their offset table.
void collect_fragments(DcmPixelSequence &sequence, PixelElement &pixels, std::vector<uint8_t> &all) {
    DcmObject *next = nullptr;
    bool is_first = true;
    while ((next = sequence.nextInContainer(next)) != nullptr) {
        DcmPixelItem *item = dynamic_cast<DcmPixelItem *>(next);
        Uint8 *bytes = nullptr;
        if (!item || item->getUint8Array(bytes).bad()) continue;
        const size_t length = bytes ? item->getLength() : 0;
        if (is_first) {
            for (size_t at = 0; at + 4 <= length; at += 4) {
                pixels.offsets.push_back(bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16
                                         | static_cast<uint64_t>(bytes[at + 3]) << 24);
            }
        } else {
            pixels.fragments.push_back({all.size(), length});
            all.insert(all.end(), bytes, bytes + length);
        }
        is_first = false;
    }
}

/// The entry of CDICOMParser's table for a syntax of DCMTK; null if either does not know it.
const cdicom::TransferSyntax *syntax_of(const DcmXfer &syntax) {
    if (syntax.getXfer() == EXS_Unknown || !syntax.getXferID()) return nullptr;
    return cdicom::find_syntax(syntax.getXferID());
}

/// Copies the pixels, whatever their encoding, into the object's own bytes.
void collect_pixels(DcmDataset &set, Object &object) {
    DcmElement *element = nullptr;
    if (set.findAndGetElement(DCM_PixelData, element).bad() || !element) return;
    DcmPixelData *data = dynamic_cast<DcmPixelData *>(element);
    if (!data) return;
    std::unique_ptr<cdicom::MemoryBytes> memory(new cdicom::MemoryBytes);
    E_TransferSyntax syntax = EXS_Unknown;
    const DcmRepresentationParameter *parameter = nullptr;
    data->getOriginalRepresentationKey(syntax, parameter);
    PixelElement &pixels = object.pixels;
    pixels.kind = PixelElement::cells;
    if (!DcmXfer(syntax).isEncapsulated()) {
        collect_native(*data, set, DcmXfer(syntax).getByteOrder() == EBO_BigEndian, memory->bytes);
        pixels.native = {0, memory->bytes.size()};
    } else {
        DcmPixelSequence *sequence = nullptr;
        if (data->getEncapsulatedRepresentation(syntax, parameter, sequence).bad() || !sequence) return;
        pixels.encapsulated = true;
        object.syntax = syntax_of(DcmXfer(syntax));
        collect_fragments(*sequence, pixels, memory->bytes);
    }
    object.bytes = std::move(memory);
}

}  // namespace

cdicom_code cdcmtk::read_object_with_dcmtk(const char *path, bool with_pixels, Object &object, cdicom_error *error) {
    const cdicom_code code = prepare(error);
    if (code != CDICOM_OK) return code;
    DcmFileFormat file;
    const DcmTagKey stop = DCM_PixelData;
    const cdicom_code loaded = load(path, file, with_pixels ? nullptr : &stop, &object.file_size, error);
    if (loaded != CDICOM_OK) return loaded;
    DcmDataset *set = file.getDataset();
    if (!set || set->card() == 0) return fail(error, CDICOM_NOT_READABLE, "no data set");
    size_t budget = maximum_items;
    collect(*set, object.set, budget, 0);
    if (file.getMetaInfo()) collect(*file.getMetaInfo(), object.meta, budget, 0);
    // The syntax stated in the file, or else the one that DCMTK's parser detected from the first elements.
    object.syntax_uid = object.meta.text(cdicom::tag::TransferSyntaxUID);
    const DcmXfer syntax =
        object.syntax_uid.empty() ? DcmXfer(set->getOriginalXfer()) : DcmXfer(object.syntax_uid.c_str());
    object.syntax = syntax_of(syntax);
    if (object.syntax_uid.empty() && syntax.getXferID()) object.syntax_uid = syntax.getXferID();
    if (with_pixels) collect_pixels(*set, object);
    if (!object.bytes) object.bytes.reset(new cdicom::MemoryBytes);
    return CDICOM_OK;
}
