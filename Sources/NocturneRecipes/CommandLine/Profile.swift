import ArgumentParser
import Foundation
import NocturneSystem

/// A file with options, one a line: the name, and after a space or an equals sign the value, which ends with the line.
///
/// Its options stand before those of the command line: of an option with one value the later one counts, of one that can be
/// repeated all. Quotes, backslashes and variables have no meaning in it. Empty lines and lines that begin with # are skipped.
package struct Profile: Sendable {
    private struct Line {
        /// Without hyphens.
        let option: String
        let argument: String
        /// "ct.profile, line 3".
        let origin: String
    }

    private let lines: [Line]

    /// - Parameters:
    ///   - path: an absolute path.
    ///   - name: names the profile in messages.
    /// - Throws: `ValidationError` for a file that cannot be read.
    package init(path: String, name: String) throws {
        let bytes: [UInt8]
        do {
            bytes = try FileSystem.read(path, limit: 1 << 20, accepts: .filesAndStreams)
        } catch {
            throw ValidationError(error.unreadable("the profile \(name)", option: "--profile"))
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ValidationError("the profile \(name) is not a text in UTF-8")
        }
        guard !bytes.contains(0) else {
            throw ValidationError("the profile \(name) has null characters. Save it as a text")
        }
        self.init(text: text, name: name)
        let isName = { (option: String) in option.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        }
        if let line = lines.first(where: { !isName($0.option) }) {
            throw ValidationError("\(line.origin): expected an option and its value, such as `memory 8G`")
        }
        if let line = lines.first(where: { $0.option == "profile" }) {
            throw ValidationError("\(line.origin): a profile cannot name another one. Copy its lines")
        }
    }

    /// - Parameter name: names the profile in messages.
    package init(text: String, name: String) {
        let all = text.withoutByteOrderMark.split(omittingEmptySubsequences: false) { $0.isNewline }
        lines = zip(1..., all).compactMap { number, line in
            let line = line.trimmingCharacters(in: .whitespaces)
            guard !line.isEmpty, !line.hasPrefix("#") else { return nil }
            let text = line.hasPrefix("--") ? line.dropFirst(2) : line[...]
            let option = text.prefix { !$0.isWhitespace && $0 != "=" }
            var value = text[option.endIndex...].drop(while: \.isWhitespace)
            if value.first == "=" { value = value.dropFirst().drop(while: \.isWhitespace) }
            return Line(
                option: String(option),
                argument: "--\(option)" + (value.isEmpty ? "" : "=\(value)"),
                origin: "\(name), line \(number)"
            )
        }
    }

    /// As on a command line.
    /// - Parameter continuesBatch: leaves out what an existing batch has recorded.
    package func arguments(continuesBatch: Bool) -> [String] {
        let recorded = continuesBatch ? BatchArguments.recordedOptions : []
        return lines.filter { line in
            !recorded.contains(line.option.hasPrefix("no-") ? String(line.option.dropFirst(3)) : line.option)
        }.map(\.argument)
    }

    /// The lines with options that a message names, such as "ct.profile, line 3 has --memory."
    package func origins(in message: String) -> [String] {
        lines.filter { line in
            message.ranges(of: "--" + line.option).contains { range in
                let next = message[range.upperBound...].first
                return next.map { !$0.isLetter && !$0.isNumber && $0 != "-" } ?? true
            }
        }.map { "\($0.origin) has --\($0.option)." }
    }

    /// Takes `--profile FILE` out of arguments.
    /// - Returns: the file; nil where there is none. An option without a file is left for the parser.
    package static func take(from arguments: inout [String]) -> String? {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        guard let place = arguments[..<end].lastIndex(where: { $0 == "--profile" || $0.hasPrefix("--profile=") })
        else { return nil }
        if arguments[place] != "--profile" {
            let file = String(arguments[place].dropFirst("--profile=".count))
            guard !file.isEmpty else { return nil }
            arguments.remove(at: place)
            return file
        }
        guard place + 1 < end, !arguments[place + 1].hasPrefix("-") else { return nil }
        let file = arguments[place + 1]
        arguments.removeSubrange(place...place + 1)
        return file
    }
}
