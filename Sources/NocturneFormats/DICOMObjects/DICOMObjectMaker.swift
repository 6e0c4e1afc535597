import NocturneSystem

/// A slice of the grid and its source file.
public struct DICOMSourceSlice: Hashable, Sendable {
    public let path: String
    /// Frame index of a multi-frame object, from 0; 0 otherwise.
    public let frame: Int

    public init(path: String, frame: Int = 0) {
        self.path = path
        self.frame = frame
    }
}

/// How an object was made, as written into the object.
public struct DICOMObjectMaker: Hashable, Sendable {
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

    public init(software: String, algorithm: String, description: String, isEdited: Bool = false) {
        self.software = software
        self.algorithm = algorithm
        self.description = description
        self.isEdited = isEdited
    }
}
