#ifndef CDICOM_READING_HPP
#define CDICOM_READING_HPP

#include "cdicom/dataset.hpp"

namespace cdicom {

/// Reads the numbers of a data set or item, and adds a remark for each that is there and is not as the standard has it.
///
/// A value that is there and cannot be used never becomes a default: whoever uses a number that was not found must look at
/// the remarks.
class Reader {
  public:
    Reader(const Node &node, cdicom_remarks &remarks) : node_(node), remarks_(remarks) {}

    /// As Node::numbers. `values` change only when they are found.
    bool numbers(uint32_t tag, double *values, size_t count, bool more_allowed = false);
    bool integer(uint32_t tag, int64_t &value, bool more_allowed = false);
    /// The seconds of the day of a time.
    bool seconds(uint32_t tag, double &value);

  private:
    bool note(uint32_t tag, Reading reading, const double *values, size_t count);

    const Node &node_;
    cdicom_remarks &remarks_;
};

/// A decimal number as the standard writes it, surrounded only by spaces.
bool plain_decimal(const char *start, const char *end, double &value);

/// Converts "HHMMSS.FFFFFF", whose end may be missing, to seconds; older files have colons.
bool seconds_of_day(std::string text, double &value);

}  // namespace cdicom

#endif
