#ifndef CDICOM_HEADER_HPP
#define CDICOM_HEADER_HPP

#include "cdicom/dataset.hpp"

namespace cdicom {

/// Copies the text of an element to a field; an empty one when it is missing.
template <size_t capacity>
void put_text(const Node &node, uint32_t tag, char (&field)[capacity]) {
    copy_text(field, node.text(tag));
}

/// Fills in the scanner's values of a mosaic: the number of used tiles, and for Siemens the direction of the slices.
void find_mosaic(const Node &set, cdicom_header &header);

}  // namespace cdicom

#endif
