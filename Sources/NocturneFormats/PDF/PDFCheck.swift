import NocturneSystem

/// Checks whether a PDF file is complete by its beginning and end: no page is rendered.
public enum PDFCheck {
    /// The problem found; nil when the file starts and ends as a PDF and its end points at an existing cross-reference
    /// table.
    /// - Complexity: a few hundred bytes are read.
    public static func fault(at path: String) -> String? {
        do throws(FileSystemError) {
            let file = try FileDescriptor(reading: path)
            let status = try file.status()
            guard status.kind == .file else { return "is not a regular file" }
            return try fault(in: file, of: status.byteCount)
        } catch {
            return error.detail
        }
    }

    private static func fault(in file: borrowing FileDescriptor, of size: Int) throws(FileSystemError) -> String? {
        func text(_ bytes: [UInt8]) -> String { String(decoding: bytes.map { $0 < 128 ? $0 : 63 }, as: UTF8.self) }
        guard text(try file.read(count: 8, at: 0)).hasPrefix("%PDF-1.") else { return "does not begin as a PDF" }
        let end = text(try file.read(count: 256, at: max(size - 256, 0))).split(whereSeparator: \.isWhitespace)
        guard end.last == "%%EOF", end.count >= 3, end[end.count - 3].hasSuffix("startxref"),
            let table = Int(end[end.count - 2])
        else { return "does not end as a PDF: it is truncated" }
        guard (0..<size).contains(table) else { return noTable }
        let start = text(try file.read(count: 32, at: table))
        return start.hasPrefix("xref") || start.contains(" obj") ? nil : noTable
    }

    private static let noTable = "has no cross-reference table at the stated offset"
}
