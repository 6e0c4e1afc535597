/// Reads names from tables that Connectome Workbench, TotalSegmentator and Nocturne write.
///
/// Only `Label` elements are looked at: their `Key`, and their text with CDATA and the five entities of XML.
extension NIfTILabelTable {
    /// By value; empty for a text that is not a table of labels. Labels without a name, "???" and value 0 are left out.
    static func names(in bytes: [UInt8]) -> [UInt16: String] {
        let text = String(decoding: bytes, as: UTF8.self)
        var names: [UInt16: String] = [:]
        var rest = text[...]
        while let start = rest.firstRange(of: "<Label ") {
            rest = rest[start.upperBound...]
            guard let close = rest.firstIndex(of: ">") else { break }
            let attributes = rest[..<close]
            rest = rest[rest.index(after: close)...]
            guard !attributes.hasSuffix("/"), let end = rest.firstRange(of: "</Label>") else { continue }
            let name = plain(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
            guard let value = key(attributes), value > 0, !name.isEmpty, name != "???" else { continue }
            names[value] = name
        }
        return names
    }

    private static func key(_ attributes: Substring) -> UInt16? {
        guard let start = attributes.firstRange(of: "Key=\"") else { return nil }
        let rest = attributes[start.upperBound...]
        return rest.firstIndex(of: "\"").flatMap { UInt16(rest[..<$0]) }
    }

    /// Text without markup, and without spaces at its ends.
    private static func plain(_ text: Substring) -> String {
        var result = ""
        var rest = text
        while let start = rest.firstRange(of: "<![CDATA[") {
            result += unescaped(rest[..<start.lowerBound])
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "]]>") else { break }
            result += rest[..<end.lowerBound]
            rest = rest[end.upperBound...]
        }
        result += unescaped(rest)
        return result.trimmed
    }

    private static func unescaped(_ text: Substring) -> String {
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")]
            .reduce(String(text)) { $0.replacing($1.0, with: $1.1) }
    }
}

extension NIfTILabelTable {
    /// The names of labels in a header's tables, by value; empty without a table.
    static func names(in extensions: [VolumeFileHeader.Extension]) -> [UInt16: String] {
        extensions.filter(\.mayHoldLabels)
            .reduce(into: [:]) { $0.merge(names(in: $1.bytes)) { first, _ in first } }
    }
}

extension VolumeFileHeader.Extension {
    private static let label = Array("<Label".utf8)

    /// Whether it is of the program that defines label tables, or states no program and has one: TotalSegmentator writes those.
    fileprivate var mayHoldLabels: Bool {
        code == NIfTILabelTable.code || code == 0 && bytes.firstRange(of: Self.label) != nil
    }
}
