#include "cdicom/errors.hpp"

#include <algorithm>
#include <cstring>

namespace cdicom {

cdicom_code fail(cdicom_error *error, cdicom_code code, const std::string &text) {
    if (error) {
        error->condition = 0;
        copy_text(error->text, text);
    }
    return code;
}

void copy_text(char *field, size_t capacity, const std::string &text) {
    size_t length = std::min(text.size(), capacity - 1);
    // Not within a character of UTF-8.
    while (length > 0 && length < text.size() && (text[length] & 0xC0) == 0x80) length -= 1;
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\0')) length -= 1;
    std::memcpy(field, text.data(), length);
    field[length] = 0;
}

}  // namespace cdicom
