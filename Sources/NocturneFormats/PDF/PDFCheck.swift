import NocturneSystem

#if canImport(Glibc)
    internal import Glibc
#endif

/// Whether a file is a whole PDF by its two ends: no page is drawn.
public enum PDFCheck {
    /// What is wrong with it; nil when it begins as a PDF, ends as one, and its end points at a table that is there.
    /// - Complexity: a few hundred bytes are read.
    public static func fault(at path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return "cannot be opened: \(systemMessage())" }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return "is not an ordinary file"
        }
        let size = Int(status.st_size)
        func text(_ count: Int, at offset: Int) -> String {
            var bytes = [UInt8](repeating: 0, count: count)
            let got = pread(descriptor, &bytes, count, off_t(offset))
            return String(decoding: bytes.prefix(max(got, 0)).map { $0 < 128 ? $0 : 63 }, as: UTF8.self)
        }
        guard text(8, at: 0).hasPrefix("%PDF-1.") else { return "does not begin as a PDF" }
        let end = text(256, at: max(size - 256, 0)).split(whereSeparator: \.isWhitespace)
        guard end.last == "%%EOF", end.count >= 3, end[end.count - 3].hasSuffix("startxref"),
            let table = Int(end[end.count - 2])
        else { return "does not end as a PDF: it is cut off" }
        let start = text(32, at: table)
        guard table < size, start.hasPrefix("xref") || start.contains(" obj") else {
            return "has no table of its objects where its end says"
        }
        return nil
    }
}
