import NocturneSystem

/// A coded concept: the meaning of something, as a code of a coding scheme.
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

    /// The category of organs and parts of organs (CID 7150).
    public static let anatomicalStructure = DICOMCode(
        scheme: "SCT",
        value: "123037004",
        meaning: "Anatomical Structure"
    )

    /// A private concept for something that has no code from a coding scheme.
    ///
    /// Coding schemes whose names begin with 99 are private (PS3.3 8.2).
    public static func uncoded(_ name: String) -> DICOMCode {
        DICOMCode(scheme: "99NOCTURNE", value: asciiText(name, limit: 16), meaning: name)
    }
}

/// Converts `text` to ASCII, the set that every character set of the standard contains.
///
/// Objects keep the character set of their source image, in which only ASCII is certain to have the same meaning. Other
/// characters, backslashes and control characters become "_". The result is never empty.
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
