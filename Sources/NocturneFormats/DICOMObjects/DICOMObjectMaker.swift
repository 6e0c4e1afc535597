/// A slice of the grid in its file.
public struct DICOMSourceSlice: Hashable, Sendable {
    public let path: String
    /// Of a multi-frame object, from 0; 0 otherwise.
    public let frame: Int

    public init(path: String, frame: Int = 0) {
        self.path = path
        self.frame = frame
    }
}

/// What an object says of how it was made.
public struct DICOMObjectMaker: Hashable, Sendable {
    /// Name and version of the program.
    public var software: String
    /// Name and version of the model.
    public var algorithm: String
    /// What the list of series shows.
    public var description: String

    public init(software: String, algorithm: String, description: String) {
        self.software = software
        self.algorithm = algorithm
        self.description = description
    }
}
