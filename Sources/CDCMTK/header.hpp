#ifndef CDCMTK_HEADER_HPP
#define CDCMTK_HEADER_HPP

#include "dataset.hpp"

namespace cdcmtk {

/// Fills in what the scanner says of a Siemens mosaic: how many of its tiles are used, and which way they go.
void find_mosaic(const Node &set, cdcmtk_header &header);

}  // namespace cdcmtk

#endif
