import Foundation
import NocturneSystem

/// Lists of inputs as text, one a line: the form of `--list` and of `retry.txt`.
///
/// A line that starts with a quotation mark is a JSON string, so that every name can be listed, also one with a line feed.
/// Empty lines and a byte-order mark are ignored. Names may have the line separators of Unicode: a line ends only with a line feed, a
/// carriage return or both.
///
/// A list with null characters, as of `find -print0`, has them in place of line ends, and paths exactly as they are.
public enum InputList {
    /// The line for a path, without its end.
    public static func line(for path: String) -> String {
        let isPlain =
            !path.isEmpty && !path.hasPrefix("\"") && !path.hasPrefix("#") && path.first?.isWhitespace != true
            && path.last?.isWhitespace != true && !path.contains(where: \.isNewline)
            && !path.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
        return isPlain ? path : (try? StableJSON.text(path)) ?? path
    }

    /// The text of a list, as it was read.
    /// - Parameter name: names the list in messages.
    /// - Throws: ``BatchError`` with the first line that is not UTF-8, as of a list that was saved as UTF-16.
    public static func text(_ bytes: [UInt8], of name: String) throws(BatchError) -> String {
        // As UTF-8, UTF-16 without a byte-order mark would be a list with null characters of one letter each.
        if bytes.count > 3, bytes[1] == 0, bytes[3] == 0 {
            let detail = "\(name) is saved as UTF-16. Save the list as UTF-8"
            throw BatchError(.inputMissing, path: "", detail: detail)
        }
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let number = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
        let detail =
            "line \(number + 1) of \(name) is not valid UTF-8: \(FileSystem.escaped(lines[number].prefix(200))). "
            + "Save the list as UTF-8; a file whose name is not UTF-8 has to be renamed"
        throw BatchError(.inputMissing, path: "", detail: detail)
    }

    /// The paths that a text lists; lines that start with # are comments.
    public static func paths(in text: String) -> [String] {
        let text = text.withoutByteOrderMark
        if text.utf8.contains(0) { return text.split(separator: "\0").map(String.init) }
        return text.split { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }.compactMap { line in
            if line.hasPrefix("\""), let value = try? JSONValue(parsing: Array(line.utf8)), let path = value.text {
                return path
            }
            let path = line.trimmingCharacters(in: .whitespaces)
            return path.isEmpty || path.hasPrefix("#") ? nil : path
        }
    }
}
