import Foundation

/// Fields of tables of comma-separated values.
package enum CSVField {
    /// The fewest digits that read back to the same number; whole numbers without a point.
    package static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
    }

    /// A text, quoted where it must be (RFC 4180).
    ///
    /// Names of regions and segments come from other people's files, and spreadsheets run what begins like a formula: such
    /// a name gets an apostrophe in front.
    package static func text(_ name: String) -> String {
        let isFormula = name.unicodeScalars.first.map { "=+-@\t\r".unicodeScalars.contains($0) } ?? false
        let field = isFormula ? "'" + name : name
        // Bytes, not characters: CR LF is one character.
        guard field.utf8.contains(where: { $0 == 0x2C || $0 == 0x22 || $0 == 0x0A || $0 == 0x0D }) else { return field }
        return "\"" + field.replacing("\"", with: "\"\"") + "\""
    }
}
