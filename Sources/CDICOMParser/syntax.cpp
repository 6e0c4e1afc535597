#include "cdicom/syntax.hpp"

namespace {

using cdicom::Compression;
using cdicom::TransferSyntax;

constexpr TransferSyntax compressed(const char *uid, Compression compression) {
    return {uid, true, false, false, compression};
}

constexpr TransferSyntax syntaxes[] = {
    // Implicit VR Little Endian.
    {"1.2.840.10008.1.2", false, false, false, Compression::none},
    // Explicit VR Little Endian, the same deflated, and Big Endian.
    {"1.2.840.10008.1.2.1", true, false, false, Compression::none},
    {"1.2.840.10008.1.2.1.99", true, false, true, Compression::none},
    {"1.2.840.10008.1.2.2", true, true, false, Compression::none},
    // JPEG Baseline and Extended: processes 1, and 2 and 4.
    compressed("1.2.840.10008.1.2.4.50", Compression::jpeg),
    compressed("1.2.840.10008.1.2.4.51", Compression::jpeg),
    compressed("1.2.840.10008.1.2.4.52", Compression::other),
    // Spectral selection (6 and 8) and full progression (10 and 12).
    compressed("1.2.840.10008.1.2.4.53", Compression::jpeg),
    compressed("1.2.840.10008.1.2.4.54", Compression::other),
    compressed("1.2.840.10008.1.2.4.55", Compression::jpeg),
    compressed("1.2.840.10008.1.2.4.56", Compression::other),
    // Lossless: process 14.
    compressed("1.2.840.10008.1.2.4.57", Compression::jpeg),
    compressed("1.2.840.10008.1.2.4.58", Compression::other),
    // Hierarchical, and retired.
    compressed("1.2.840.10008.1.2.4.59", Compression::other),
    compressed("1.2.840.10008.1.2.4.60", Compression::other),
    compressed("1.2.840.10008.1.2.4.61", Compression::other),
    compressed("1.2.840.10008.1.2.4.62", Compression::other),
    compressed("1.2.840.10008.1.2.4.63", Compression::other),
    compressed("1.2.840.10008.1.2.4.64", Compression::other),
    compressed("1.2.840.10008.1.2.4.65", Compression::other),
    compressed("1.2.840.10008.1.2.4.66", Compression::other),
    // Lossless, first-order prediction.
    compressed("1.2.840.10008.1.2.4.70", Compression::jpeg),
    // JPEG-LS.
    compressed("1.2.840.10008.1.2.4.80", Compression::jpeg_ls),
    compressed("1.2.840.10008.1.2.4.81", Compression::jpeg_ls),
    // JPEG 2000, and its part 2.
    compressed("1.2.840.10008.1.2.4.90", Compression::jpeg2000),
    compressed("1.2.840.10008.1.2.4.91", Compression::jpeg2000),
    compressed("1.2.840.10008.1.2.4.92", Compression::other),
    compressed("1.2.840.10008.1.2.4.93", Compression::other),
    // JPIP: pixels stored elsewhere. The deflated one is left to DCMTK, because its bytes are not directly a data set.
    {"1.2.840.10008.1.2.4.94", true, false, false, Compression::none},
    {"1.2.840.10008.1.2.4.95", true, false, false, Compression::none},
    // Video: MPEG-2, H.264, H.265.
    compressed("1.2.840.10008.1.2.4.100", Compression::other),
    compressed("1.2.840.10008.1.2.4.101", Compression::other),
    compressed("1.2.840.10008.1.2.4.102", Compression::other),
    compressed("1.2.840.10008.1.2.4.103", Compression::other),
    compressed("1.2.840.10008.1.2.4.104", Compression::other),
    compressed("1.2.840.10008.1.2.4.105", Compression::other),
    compressed("1.2.840.10008.1.2.4.106", Compression::other),
    compressed("1.2.840.10008.1.2.4.107", Compression::other),
    compressed("1.2.840.10008.1.2.4.108", Compression::other),
    // RLE Lossless.
    compressed("1.2.840.10008.1.2.5", Compression::rle),
    // The private syntax of General Electric, implicit with big-endian pixels.
    {cdicom::general_electric_syntax, false, false, false, Compression::none},
    // DCMTK treats a missing UID as implicit and big endian. A data set in another syntax is then not understood, and
    // left to DCMTK, which guesses the syntax from the first elements.
    {"", false, true, false, Compression::none},
};

}  // namespace

const cdicom::TransferSyntax *cdicom::find_syntax(const std::string &uid) {
    for (const TransferSyntax &syntax : syntaxes) {
        if (uid == syntax.uid) return &syntax;
    }
    return nullptr;
}
