import NocturneSystem

extension NIfTIWriter {
    /// A label's value, name and colour, as written to the header of a label map.
    public struct Label: Hashable, Sendable {
        /// The value in the label map.
        public var value: UInt16
        /// The name of the label.
        public var name: String
        /// 0 to 255; the table stores it as 0 to 1.
        public var red: UInt8
        public var green: UInt8
        public var blue: UInt8

        public init(value: UInt16, name: String, red: UInt8, green: UInt8, blue: UInt8) {
            self.value = value
            self.name = name
            self.red = red
            self.green = green
            self.blue = blue
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
        if !labels.contains(where: { $0.value == 0 }) {
            text += #"<Label Key="0" Red="0" Green="0" Blue="0" Alpha="0"><![CDATA[???]]></Label>"# + "\n"
        }
        for label in labels.sorted(by: { $0.value < $1.value }) {
            let parts = [("Red", label.red), ("Green", label.green), ("Blue", label.blue)]
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
}
