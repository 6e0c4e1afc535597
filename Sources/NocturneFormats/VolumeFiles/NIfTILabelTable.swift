public import NocturneCore

extension NIfTIWriter {
    /// A label's value, name and colour, as written to the header of a label map.
    public struct Label: Hashable, Sendable {
        /// The value in the label map.
        public var value: UInt16
        /// The name of the label.
        public var name: String
        /// The table stores its components as 0 to 1.
        public var color: LabelColor

        /// - Parameters:
        ///   - value: in the label map.
        ///   - name: of the label.
        ///   - color: of the label.
        public init(value: UInt16, name: String, color: LabelColor) {
            self.value = value
            self.name = name
            self.color = color
        }
    }
}

/// The header extension in which Connectome Workbench stores label names and colours: code 30, XML.
///
/// Source: the `CaretExtension` of Workbench's NIfTI files, which TotalSegmentator writes too. Colours are 0...1.
enum NIfTILabelTable {
    static let code = 30

    static func xml(_ labels: [NIfTIWriter.Label]) -> String {
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <CaretExtension>
            <VolumeInformation Index="0">
            <LabelTable>

            """
        // Workbench expects a label for the background, which it calls "???".
        if !labels.contains(where: { $0.value == 0 }) {
            text += #"<Label Key="0" Red="0" Green="0" Blue="0" Alpha="0"><![CDATA[???]]></Label>"# + "\n"
        }
        for label in labels.sorted(by: { $0.value < $1.value }) {
            let parts = [("Red", label.color.red), ("Green", label.color.green), ("Blue", label.color.blue)]
            let colour = parts.map { "\($0)=\"\(fraction($1))\"" }.joined(separator: " ")
            let alpha = label.value == 0 ? 0 : 1
            text += "<Label Key=\"\(label.value)\" \(colour) Alpha=\"\(alpha)\">"
            text += "<![CDATA[\(escaped(label.name))]]></Label>\n"
        }
        text += """
            </LabelTable>
            <StudyMetaDataLinkSet>
            </StudyMetaDataLinkSet>
            <VolumeType><![CDATA[Label]]></VolumeType>
            </VolumeInformation>
            </CaretExtension>

            """
        return text
    }

    /// Three decimals distinguish all 256 levels.
    private static func fraction(_ value: UInt8) -> String {
        let thousandths = (Int(value) * 1000 + 127) / 255
        let digits = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }

    /// Characters that are invalid in XML 1.0 become spaces; the sequence that ends CDATA is split in two.
    private static func escaped(_ name: String) -> String {
        var clean = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            let forbidden = scalar.value < 32 || (0xfffe...0xffff).contains(scalar.value)
            clean.append(forbidden ? " " : scalar)
        }
        var result = ""
        var brackets = 0
        for scalar in clean {
            if scalar == ">", brackets >= 2 { result += "]]><![CDATA[" }
            brackets = scalar == "]" ? brackets + 1 : 0
            result.unicodeScalars.append(scalar)
        }
        return result
    }

    /// The labels in a header's tables, by value; empty without a table.
    static func labels(in extensions: [VolumeFileHeader.Extension]) -> [UInt16: VolumeFileHeader.Label] {
        extensions.filter(\.mayHoldLabels)
            .reduce(into: [:]) { $0.merge(labels(in: $1.bytes)) { first, _ in first } }
    }

    /// Reads tables that Connectome Workbench, TotalSegmentator and Nocturne write: by value; empty for a text that is not
    /// a table of labels. Only `Label` elements are looked at: their `Key` and colour, and their text with CDATA and the five entities
    /// of XML.
    ///
    /// Labels without a name, "???" and value 0 are left out.
    static func labels(in bytes: [UInt8]) -> [UInt16: VolumeFileHeader.Label] {
        let text = String(decoding: bytes, as: UTF8.self)
        var labels: [UInt16: VolumeFileHeader.Label] = [:]
        var rest = text[...]
        while let start = rest.firstRange(of: "<Label ") {
            rest = rest[start.upperBound...]
            guard let close = rest.firstIndex(of: ">") else { break }
            let attributes = rest[..<close]
            rest = rest[rest.index(after: close)...]
            guard !attributes.hasSuffix("/"), let end = rest.firstRange(of: "</Label>") else { continue }
            let name = plain(rest[..<end.lowerBound])
            rest = rest[end.upperBound...]
            guard let value = attribute("Key", attributes).flatMap({ UInt16($0) }), value > 0, !name.isEmpty,
                name != "???"
            else { continue }
            let color = ["Red", "Green", "Blue"].compactMap { attribute($0, attributes).flatMap { Double($0) } }
            labels[value] = VolumeFileHeader.Label(name: name, color: LabelColor(fractions: color))
        }
        return labels
    }

    private static func attribute(_ name: String, _ attributes: Substring) -> Substring? {
        guard let start = attributes.firstRange(of: name + "=\"") else { return nil }
        let rest = attributes[start.upperBound...]
        return rest.firstIndex(of: "\"").map { rest[..<$0] }
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

extension VolumeFileHeader {
    /// A label that a header names.
    public struct Label: Hashable, Sendable {
        /// Not empty.
        public let name: String
        /// Nil where the header states none.
        public let color: LabelColor?
    }
}

extension LabelColor {
    /// Red, green and blue, each from 0 to 1; nil for other numbers.
    init?(fractions: [Double]) {
        guard fractions.count == 3, fractions.allSatisfy((0...1).contains) else { return nil }
        let levels = fractions.map { UInt8(($0 * 255).rounded()) }
        self.init(red: levels[0], green: levels[1], blue: levels[2])
    }
}

extension VolumeFileHeader.Extension {
    private static let label = Array("<Label".utf8)

    /// Whether it is of the program that defines label tables, or states no program and has one: TotalSegmentator writes those.
    fileprivate var mayHoldLabels: Bool {
        code == NIfTILabelTable.code || code == 0 && bytes.firstRange(of: Self.label) != nil
    }
}
