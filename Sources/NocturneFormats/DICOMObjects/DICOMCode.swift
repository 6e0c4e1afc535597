import NocturneSystem

/// A coded concept: what something is, in the words of a coding scheme.
public struct DICOMCode: Hashable, Sendable {
    /// For instance "SCT" (SNOMED CT) or "DCM".
    public let scheme: String
    public let value: String
    public let meaning: String

    public init(scheme: String, value: String, meaning: String) {
        self.scheme = scheme
        self.value = value
        self.meaning = meaning
    }

    /// The category of organs and their parts (CID 7150).
    public static let anatomicalStructure = DICOMCode(
        scheme: "SCT",
        value: "123037004",
        meaning: "Anatomical Structure"
    )

    /// A concept of the house's own for something that no scheme was asked about.
    ///
    /// Schemes that begin with 99 are private (PS3.3 8.2).
    public static func uncoded(_ name: String) -> DICOMCode {
        DICOMCode(scheme: "99NOCTURNE", value: asciiText(name, limit: 16), meaning: name)
    }
}

/// `text` in the one repertoire that every character set of the standard contains.
///
/// Objects keep the character set of the image they were made of, in which only ASCII is sure to mean the same. Other
/// characters, backslashes and control characters become "_". Never empty.
func asciiText(_ text: String, limit: Int) -> String {
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars.prefix(limit) {
        let isPlain = scalar.value >= 32 && scalar.value < 127 && scalar != "\\"
        bytes.append(isPlain ? UInt8(scalar.value) : UInt8(ascii: "_"))
    }
    while bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
    while bytes.first == UInt8(ascii: " ") { bytes.removeFirst() }
    return bytes.isEmpty ? "_" : String(decoding: bytes, as: UTF8.self)
}
