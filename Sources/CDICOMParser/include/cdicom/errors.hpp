#ifndef CDICOM_ERRORS_HPP
#define CDICOM_ERRORS_HPP

#include "../CDICOMParser.h"

#include <exception>
#include <new>
#include <string>

namespace cdicom {

/// Fills the caller's error, if there is one, and returns the code.
cdicom_code fail(cdicom_error *error, cdicom_code code, const std::string &text);

/// Copies a text in UTF-8 to a field, truncated to its size and without the padding defined by the standard.
void copy_text(char *field, size_t capacity, const std::string &text);
template <size_t capacity>
void copy_text(char (&field)[capacity], const std::string &text) {
    copy_text(field, capacity, text);
}

/// Runs `body` and converts exceptions to codes.
template <typename Body>
cdicom_code guarded(cdicom_error *error, Body body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return fail(error, CDICOM_NO_MEMORY, "no memory");
    } catch (const std::exception &exception) {
        return fail(error, CDICOM_INTERNAL, exception.what());
    } catch (...) {
        return fail(error, CDICOM_INTERNAL, "an unknown exception");
    }
}

}  // namespace cdicom

#endif
