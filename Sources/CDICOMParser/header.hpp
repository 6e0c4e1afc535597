#ifndef CDICOM_HEADER_HPP
#define CDICOM_HEADER_HPP

#include "cdicom/dataset.hpp"

namespace cdicom {

/// Copies the text of an element to a field; an empty one when it is missing.
void put_text(const Node &node, uint32_t tag, char *field, size_t capacity);

/// "HHMMSS.FFFFFF", of which the end may be missing, in seconds; older files have colons.
bool seconds_of_day(std::string text, double &value);

/// Fills in what the scanner states of a Siemens mosaic: how many of its tiles are used, and which way they go.
void find_mosaic(const Node &set, cdicom_header &header);

}  // namespace cdicom

#endif
