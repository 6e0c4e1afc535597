public import NocturneSystem

extension DICOMObjectOrigin {
    /// How an object was made, as written into the object.
    public struct Maker: Hashable, Sendable {
        /// Name and version of the program.
        public var software: String
        /// Name and version of the model.
        public var algorithm: String
        /// The series description shown in lists of series.
        public var description: String
        /// Whether a person has edited the labels, which are then SEMIAUTOMATIC instead of AUTOMATIC.
        public var isEdited: Bool

        /// 0 to 498, by name and version of the model: part of the series number, so that the objects of two models of one source
        /// are series of different numbers (those of two in 499 pairs of models are the same by chance).
        var number: Int { (Int(ContentDigest.of(algorithm).hex.prefix(8), radix: 16) ?? 0) % 499 }

        /// - Parameters:
        ///   - software: name and version of the program.
        ///   - algorithm: name and version of the model.
        ///   - description: shown in lists of series; at most 64 characters are written.
        ///   - isEdited: whether a person has edited the labels.
        public init(software: String, algorithm: String, description: String, isEdited: Bool = false) {
            self.software = software
            self.algorithm = algorithm
            self.description = description
            self.isEdited = isEdited
        }
    }
}

/// What a written object comes from.
public struct DICOMObjectOrigin: Hashable, Sendable {
    /// The images of the slices, in the order of k of the grid.
    public var sources: [DICOMSlice.Name]
    /// How the labels were made.
    public var maker: Maker
    /// Of source, model and options: the UIDs of the object are derived from it.
    public var fingerprint: ContentDigest

    /// - Parameter sources: one for each slice of the grid.
    public init(sources: [DICOMSlice.Name], maker: Maker, fingerprint: ContentDigest) {
        (self.sources, self.maker, self.fingerprint) = (sources, maker, fingerprint)
    }
}

extension ContentDigest {
    /// A unique identifier of an object, derived from content alone: "2.25." and a 128-bit number (PS3.5 B.2), the SHA-256 of
    /// this digest and the role, formatted as a UUID of version 8, the version for custom methods.
    ///
    /// The same digest gives the same identifiers, so an object that is written again replaces the earlier one.
    func uid(of role: String) -> String {
        let digits = ContentDigest.of("nocturne \(role) \(hex)").hex
        var number = UInt128(digits.prefix(32), radix: 16) ?? 0
        number &= ~(UInt128(0xF) << 76) & ~(UInt128(0b11) << 62)
        number |= UInt128(8) << 76 | UInt128(0b10) << 62
        return "2.25.\(number)"
    }
}
