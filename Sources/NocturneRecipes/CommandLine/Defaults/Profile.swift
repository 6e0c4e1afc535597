import ArgumentParser
import Foundation
import NocturneSystem

/// A file with options, one a line: the name, and after a space or an equals sign the value, which ends with the line.
///
/// Quotes, backslashes and variables have no meaning in it. Empty lines and lines that begin with # are skipped.
package struct Profile: Sendable {
    package let options: [DefaultOption]

    /// - Parameters:
    ///   - path: an absolute path.
    ///   - name: names the profile in messages.
    ///   - known: the options of all commands that take a profile.
    /// - Throws: `ValidationError` for a file that cannot be read or understood, with the line.
    package init(path: String, name: String, known: OptionTable) throws {
        let bytes: [UInt8]
        do {
            bytes = try FileSystem.read(path, limit: 1 << 20, acceptsPipes: true)
        } catch {
            throw ValidationError("the profile \(name) cannot be read: \(String(cString: strerror(error.code)))")
        }
        guard let text = String(validating: bytes, as: UTF8.self), !text.contains("\0") else {
            throw ValidationError("the profile \(name) is not a text in UTF-8")
        }
        try self.init(text: text, name: name, known: known)
    }

    /// - Parameter name: names the profile in messages.
    package init(text: String, name: String, known: OptionTable) throws {
        var options: [DefaultOption] = []
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        for (number, line) in zip(1..., lines) {
            let line = line.trimmingCharacters(in: .whitespaces.union(["\u{FEFF}"]))
            if line.isEmpty || line.hasPrefix("#") { continue }
            let origin = "\(name), line \(number)"
            let (key, value) = Self.parts(of: line)
            let option = try DefaultOption(try Self.option(key, known, origin), text: value, origin: origin)
            if !option.option.isRepeatable, let earlier = options.first(where: { $0.option == option.option }) {
                throw ValidationError("\(origin): \(key) has a value already (\(earlier.origin))")
            }
            options.append(option)
        }
        self.options = options
    }

    /// The name without hyphens before it, and the value without blanks around it.
    private static func parts(of line: String) -> (key: String, value: String) {
        let key = line.prefix { !$0.isWhitespace && $0 != "=" }
        var value = line[key.endIndex...].drop(while: \.isWhitespace)
        if value.first == "=" { value = value.dropFirst().drop(while: \.isWhitespace) }
        return (String(key.hasPrefix("--") ? key.dropFirst(2) : key), String(value))
    }

    private static func option(_ key: String, _ known: OptionTable, _ origin: String) throws -> OptionTable.Option {
        if DefaultOption.onlyOnCommandLine.contains(key) {
            throw ValidationError("\(origin): \(key) belongs on the command line, not in a profile")
        }
        if let option = known[key] { return option }
        let nearest = Spelling.nearest(to: key, among: known.names)
        throw ValidationError(
            "\(origin): there is no option \(key)" + (nearest.map { "; did you mean \($0)?" } ?? "")
        )
    }
}
