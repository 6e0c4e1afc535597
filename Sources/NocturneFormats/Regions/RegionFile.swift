public import NocturneCore
public import NocturneSystem

/// A file of regions of interest: the JSON of `Samples/Schemas/regions.schema.json`.
///
/// Strict: an unknown key, a missing one, a number out of range or a shape without extent is an error that names the
/// region and the field. Limits: ``maximumBytes``, ``maximumRegionCount``, ``maximumPointCount``.
public struct RegionFile: Hashable, Sendable {
    /// A region, and the items to which it applies.
    public struct Entry: Hashable, Sendable {
        /// What is measured.
        public var region: RegionOfInterest
        /// Shell patterns for names of items, or for paths below the input; nil for every item.
        public var items: [String]?
    }

    /// The largest file that is read.
    public static let maximumBytes = 4 << 20
    /// The most regions in a file.
    public static let maximumRegionCount = 10_000
    /// The most points of a region.
    public static let maximumPointCount = 4096

    /// In the order of the file.
    public let entries: [Entry]

    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - path: for messages.
    /// - Complexity: linear; about 200 bytes of memory per byte of the file.
    public init(_ bytes: [UInt8], path: String) throws(RegionFileError) {
        guard bytes.count <= Self.maximumBytes else {
            throw RegionFileError(path: path, " has \(bytes.count) bytes, more than \(Self.maximumBytes)")
        }
        do throws(JSONFields.Fault) {
            entries = try Self.entries(JSONFields(parsing: bytes))
        } catch {
            guard error.field.isEmpty else { throw RegionFileError(path: path, ": \(error.field) \(error.detail)") }
            let step = "Give a file in the format of Samples/Schemas/regions.schema.json"
            throw RegionFileError(path: path, " \(error.detail). \(step)")
        }
    }

    private static func entries(_ root: JSONFields) throws(JSONFields.Fault) -> [Entry] {
        try root.only(["$schema", "schemaVersion", "space", "regions"])
        guard try root.value("schemaVersion") == .number(1) else { throw root.fault("schemaVersion", "is not 1") }
        let space: RegionOfInterest.Space = try root.choice("space")
        let regions = try root.list("regions")
        guard regions.count <= maximumRegionCount else {
            throw root.fault("regions", "has \(regions.count) regions, more than \(maximumRegionCount)")
        }
        var entries: [Entry] = []
        // Regions of the same items need different names, since results are listed by name. Whether patterns match
        // the same items is not known here.
        var everywhere: Set<String> = []
        for (index, region) in regions.enumerated() {
            let place = "regions[\(index)]"
            let name = try JSONFields(region, place: place).text("name", atMost: 200)
            let fields = try JSONFields(region, place: place, name: name)
            let entry = try fields.entry(name, space)
            if entry.items == nil, !everywhere.insert(name).inserted {
                throw fields.fault("name", "is the name of another region of every item")
            }
            entries.append(entry)
        }
        return entries
    }
}

/// Why a file of regions cannot be used. The description names the file, the region and the field.
public struct RegionFileError: CodedError, Hashable, Sendable, CustomStringConvertible {
    /// For people.
    public let description: String

    fileprivate init(path: String, _ fault: String) { description = path + fault }

    /// A file of regions cannot be read, or breaks its schema.
    public var faultCode: FaultCode { FaultCode("regions", "unusable") }
}
