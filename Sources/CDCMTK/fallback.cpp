#include "dataset.hpp"

#include "dcmtk/dcmdata/dcpixel.h"
#include "dcmtk/dcmdata/dcpixseq.h"
#include "dcmtk/dcmdata/dcpxitem.h"

#include <cstring>

namespace {

using cdcmtk::Node;
using cdcmtk::Object;
using cdcmtk::PixelElement;
using cdcmtk::Value;

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
    if (element.getLengthField() > (1u << 22)) return;
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
    if (depth > 8) return;
    DcmObject *next = nullptr;
    while ((next = item.nextInContainer(next)) != nullptr) {
        DcmElement *element = dynamic_cast<DcmElement *>(next);
        if (!element) continue;
        const uint32_t tag = static_cast<uint32_t>(element->getGTag()) << 16 | element->getETag();
        const char *kept = cdcmtk::kept_representation(tag);
        if (kept) collect_element(*element, tag, kept, node, budget, depth);
    }
}

/// Copies the pixels, however they lie, into the object's own bytes.
void collect_pixels(DcmDataset &set, Object &object) {
    DcmElement *element = nullptr;
    if (set.findAndGetElement(DCM_PixelData, element).bad() || !element) return;
    DcmPixelData *data = dynamic_cast<DcmPixelData *>(element);
    if (!data) return;
    std::unique_ptr<cdcmtk::MemoryBytes> memory(new cdcmtk::MemoryBytes);
    E_TransferSyntax syntax = EXS_Unknown;
    const DcmRepresentationParameter *parameter = nullptr;
    data->getOriginalRepresentationKey(syntax, parameter);
    PixelElement &pixels = object.pixels;
    pixels.kind = PixelElement::cells;
    if (!DcmXfer(syntax).isEncapsulated()) {
        Uint8 *bytes = nullptr;
        Uint16 *words = nullptr;
        const size_t length = data->getLength();
        // As little endian, whatever it was: DCMTK has turned the words.
        if (data->getUint16Array(words).good() && words) {
            const uint8_t *start = reinterpret_cast<const uint8_t *>(words);
            memory->bytes.assign(start, start + length);
        } else if (data->getUint8Array(bytes).good() && bytes) {
            memory->bytes.assign(bytes, bytes + length);
        }
        Uint16 allocated = 0;
        set.findAndGetUint16(DCM_BitsAllocated, allocated);
        if (allocated == 32 && DcmXfer(syntax).getByteOrder() == EBO_BigEndian) {
            // DCMTK turns the bytes of 16-bit words alone; of a 32-bit cell the words are then the wrong way round.
            for (size_t at = 0; at + 4 <= memory->bytes.size(); at += 4) {
                std::swap(memory->bytes[at], memory->bytes[at + 2]);
                std::swap(memory->bytes[at + 1], memory->bytes[at + 3]);
            }
        }
        pixels.native = {0, memory->bytes.size()};
        object.bytes = std::move(memory);
        return;
    }
    DcmPixelSequence *sequence = nullptr;
    if (data->getEncapsulatedRepresentation(syntax, parameter, sequence).bad() || !sequence) return;
    pixels.encapsulated = true;
    object.syntax = syntax;
    DcmObject *next = nullptr;
    bool first = true;
    while ((next = sequence->nextInContainer(next)) != nullptr) {
        DcmPixelItem *item = dynamic_cast<DcmPixelItem *>(next);
        Uint8 *bytes = nullptr;
        if (!item || item->getUint8Array(bytes).bad()) continue;
        const size_t length = bytes ? item->getLength() : 0;
        if (first) {
            for (size_t at = 0; at + 4 <= length; at += 4) {
                pixels.offsets.push_back(bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16
                                         | static_cast<uint64_t>(bytes[at + 3]) << 24);
            }
        } else {
            pixels.fragments.push_back({memory->bytes.size(), length});
            memory->bytes.insert(memory->bytes.end(), bytes, bytes + length);
        }
        first = false;
    }
    object.bytes = std::move(memory);
}

}  // namespace

cdcmtk_code cdcmtk::read_object_by_dcmtk(const char *path, bool with_pixels, Object &object, cdcmtk_error *error) {
    const cdcmtk_code code = prepare(error);
    if (code != CDCMTK_OK) return code;
    DcmFileFormat file;
    const DcmTagKey stop = DCM_PixelData;
    const cdcmtk_code loaded = load(path, file, with_pixels ? nullptr : &stop, &object.file_size, error);
    if (loaded != CDCMTK_OK) return loaded;
    DcmDataset *set = file.getDataset();
    if (!set || set->card() == 0) return fail(error, CDCMTK_NOT_READABLE, std::string("no data set"));
    size_t budget = size_t(1) << 20;
    collect(*set, object.set, budget, 0);
    if (file.getMetaInfo()) collect(*file.getMetaInfo(), object.meta, budget, 0);
    // What the file states, if it does; otherwise what the parser found by looking at the first elements.
    object.syntax_uid = object.meta.text(0x00020010);
    const DcmXfer syntax =
        object.syntax_uid.empty() ? DcmXfer(set->getOriginalXfer()) : DcmXfer(object.syntax_uid.c_str());
    object.syntax = syntax.getXfer();
    if (object.syntax_uid.empty() && syntax.getXferID()) object.syntax_uid = syntax.getXferID();
    if (with_pixels) collect_pixels(*set, object);
    if (!object.bytes) object.bytes.reset(new MemoryBytes);
    return CDCMTK_OK;
}
