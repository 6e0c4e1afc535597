#ifndef CDCMTK_VALIDITY_HPP
#define CDCMTK_VALIDITY_HPP

#include "shim.hpp"

namespace cdcmtk {

/// Copies an element, unless its value breaks its representation. Invalid elements of a sequence's items are left out.
void copy_valid(DcmItem &source, const DcmTagKey &tag, DcmItem &target);

/// Whether a text is a valid value of DS, DA, TM.
bool is_decimal_text(const std::string &text);
bool is_date_text(const std::string &text);
bool is_time_text(const std::string &text);

}  // namespace cdcmtk

#endif
