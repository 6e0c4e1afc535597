#ifndef CDICOM_SYNTAX_HPP
#define CDICOM_SYNTAX_HPP

#include <string>

namespace cdicom {

/// The compression of the pixels in a transfer syntax, as far as there is a decoder.
enum class Compression { none, rle, jpeg, jpeg_ls, jpeg2000, other };

/// The properties of a transfer syntax (DICOM PS3.5, Annex A; PS3.6, Table A-1).
struct TransferSyntax {
    const char *uid;
    bool is_explicit, is_big_endian, is_deflated;
    Compression compression;

    bool is_encapsulated() const { return compression != Compression::none; }
};

/// The private syntax of General Electric.
inline constexpr char general_electric_syntax[] = "1.2.840.113619.5.2";

/// Null for a UID that is not in the table, which contains those that DCMTK 3.6.7 supports.
const TransferSyntax *find_syntax(const std::string &uid);

}  // namespace cdicom

#endif
