#include "validity.hpp"

namespace {

/// Whether a text has bytes that no representation allows: a NUL, or control characters other than the escape of
/// character sets and, in `is_long` texts, the ends of lines.
bool has_control_characters(const std::string &text, bool is_long) {
    for (const char character : text) {
        const unsigned char byte = static_cast<unsigned char>(character);
        const bool is_line = byte == '\n' || byte == '\r' || byte == '\f' || byte == '\t';
        if (byte < 32 && byte != 27 && !(is_long && is_line)) return true;
    }
    return false;
}

/// Whether a value, or a group of a name, has more than `most` characters.
///
/// Bytes that continue a character of UTF-8 do not count. Other character sets may have two bytes for a character: with
/// any byte beyond ASCII, or an escape, twice as many are allowed.
bool has_long_component(const std::string &text, size_t most) {
    size_t count = 0;
    bool is_ascii = true;
    for (const char character : text) {
        const unsigned char byte = static_cast<unsigned char>(character);
        if (byte >= 0x80 || byte == 27) is_ascii = false;
    }
    for (const char character : text) {
        if (character == '\\' || character == '=') count = 0;
        else if ((static_cast<unsigned char>(character) & 0xC0) != 0x80) count += 1;
        if (count > (is_ascii ? most : 2 * most)) return true;
    }
    return false;
}

/// The maximum number of characters of a value, or of a group of a name; 0 for representations without one.
size_t most_characters(DcmEVR representation) {
    switch (representation) {
        case EVR_AS: return 4;
        case EVR_IS: return 12;
        case EVR_AE:
        case EVR_CS:
        case EVR_DS:
        case EVR_SH: return 16;
        case EVR_LO:
        case EVR_PN: return 64;
        case EVR_ST: return 1024;
        case EVR_LT: return 10240;
        default: return 0;
    }
}

/// Whether the value of an element is one of those that the standard enumerates for it.
bool is_enumerated(const DcmTagKey &tag, const std::string &text) {
    if (text.empty()) return true;
    if (tag == DCM_PatientSex) return text == "M" || text == "F" || text == "O";
    if (tag == DCM_PatientIdentityRemoved) return text == "YES" || text == "NO";
    return true;
}

/// The bytes of a value without spaces at its end.
std::string value_of(DcmByteString &string) {
    char *bytes = nullptr;
    Uint32 length = 0;
    if (string.getString(bytes, length).bad() || !bytes) return "";
    std::string text(bytes, length);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}

/// Removes NULs at the end of a text, with which some programs pad values of odd length.
void remove_padding(DcmElement &element) {
    DcmByteString *string = dynamic_cast<DcmByteString *>(&element);
    if (!string || element.ident() == EVR_UI) return;
    std::string text = value_of(*string);
    if (text.empty() || text.back() != '\0') return;
    while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
    cdcmtk::require(string->putOFStringArray(OFString(text.data(), text.size())));
}

bool is_valid(DcmElement &element) {
    // The file may state another representation than the dictionary.
    const DcmEVR expected = DcmTag(element.getTag().getXTag()).getEVR();
    if (element.ident() != expected) return expected == EVR_UNKNOWN || expected == EVR_UN;
    DcmByteString *string = dynamic_cast<DcmByteString *>(&element);
    // Other objects of the study have the same UIDs, valid or not.
    if (!string || expected == EVR_UI) return true;
    const std::string text = value_of(*string);
    if (text.empty()) return true;
    const bool is_long = expected == EVR_LT || expected == EVR_ST || expected == EVR_UT;
    if (has_control_characters(text, is_long)) return false;
    const size_t most = most_characters(expected);
    if (most > 0 && has_long_component(text, most)) return false;
    return is_enumerated(element.getTag().getXTag(), text) && string->checkValue("1-n", OFFalse).good();
}

/// Removes the invalid elements of an item and of its sequences.
void remove_invalid(DcmItem &item) {
    for (unsigned long index = item.card(); index > 0; index -= 1) {
        DcmElement *element = item.getElement(index - 1);
        if (!element) continue;
        remove_padding(*element);
        if (DcmSequenceOfItems *sequence = dynamic_cast<DcmSequenceOfItems *>(element)) {
            for (unsigned long place = 0; place < sequence->card(); place += 1) {
                if (DcmItem *member = sequence->getItem(place)) remove_invalid(*member);
            }
        } else if (!is_valid(*element)) {
            delete item.remove(index - 1);
        }
    }
}

}  // namespace

void cdcmtk::copy_valid(DcmItem &source, const DcmTagKey &tag, DcmItem &target) {
    if (!source.tagExists(tag)) return;
    require(source.findAndInsertCopyOfElement(tag, &target));
    DcmElement *copy = nullptr;
    require(target.findAndGetElement(tag, copy));
    remove_padding(*copy);
    if (!is_valid(*copy)) {
        require(target.findAndDeleteElement(tag));
        return;
    }
    DcmSequenceOfItems *sequence = dynamic_cast<DcmSequenceOfItems *>(copy);
    for (unsigned long place = 0; sequence && place < sequence->card(); place += 1) {
        if (DcmItem *member = sequence->getItem(place)) remove_invalid(*member);
    }
}

bool cdcmtk::is_decimal_text(const std::string &text) {
    return !text.empty() && !has_control_characters(text, false) && !has_long_component(text, 16)
        && DcmDecimalString::checkStringValue(OFString(text.data(), text.size()), "1-n").good();
}

bool cdcmtk::is_date_text(const std::string &text) {
    return DcmDate::checkStringValue(OFString(text.data(), text.size()), "1", OFFalse).good();
}

bool cdcmtk::is_time_text(const std::string &text) {
    return DcmTime::checkStringValue(OFString(text.data(), text.size()), "1", OFFalse).good();
}
