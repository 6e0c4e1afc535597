public import NocturneSystem

/// Why a PDF file could not be written.
public typealias PDFError = FileFormatError<PDFErrorCode>

/// The kind of a ``PDFError``, with a description.
public enum PDFErrorCode: String, FormatErrorCode, CaseIterable {
    /// Of errors while a document is drawn and written.
    public static let domain = "pdf"

    /// The library could not draw, for instance for lack of memory.
    case cannotDraw
    /// The system could not open or write the file.
    case cannotWrite
}

extension PDFPage {
    /// Checks whether a PDF file is complete by its beginning and end: no page is rendered.
    /// - Returns: the problem found; nil when the file starts and ends as a PDF and its end points at an existing cross-reference
    /// table.
    /// - Complexity: a few hundred bytes are read.
    public static func fault(at path: String) -> String? {
        do throws(FileSystemError) {
            let file = try FileDescriptor(reading: path)
            return try fault(in: file, of: file.status().byteCount)
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

    /// What cairo has written so far; cairo may access it until the surface is destroyed.
    final class Output {
        var bytes: [UInt8] = []
        /// How many bytes were written before.
        private(set) var flushedByteCount = 0
        /// Takes the bytes at the end of each page.
        var file: FileDescriptor
        let path: String

        init(path: String) throws(FileSystemError) {
            self.path = path
            file = try FileDescriptor(creating: path)
        }

        func flush() throws(FileSystemError) {
            try file.write(bytes)
            flushedByteCount += bytes.count
            bytes.removeAll(keepingCapacity: true)
        }
    }
}
