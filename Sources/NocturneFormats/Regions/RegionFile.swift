import Foundation
public import NocturneCore
public import NocturneSystem

/// A file of regions of interest: the JSON of `Samples/Schemas/regions.schema.json`.
///
/// Strict: an unknown key, a missing one, a number out of range or a shape without extent is an error that names the
/// region and the field. Limits: ``maximumBytes``, ``maximumRegionCount``, ``maximumPointCount``, ``maximumNesting``.
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
    /// The deepest nesting of JSON values, which are read recursively.
    public static let maximumNesting = 8

    /// In the order of the file.
    public let entries: [Entry]

    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - path: for messages.
    /// - Complexity: linear; about 200 bytes of memory per byte of the file.
    public init(_ bytes: [UInt8], path: String) throws(RegionFileError) {
        guard bytes.count <= Self.maximumBytes else {
            throw RegionFileError(path: path, "has \(bytes.count) bytes, more than \(Self.maximumBytes)")
        }
        // Before the decoder sees it: a decoder calls itself for each level.
        guard Self.nesting(bytes) <= Self.maximumNesting else {
            throw RegionFileError(path: path, "is nested deeper than \(Self.maximumNesting) levels")
        }
        let tree: RegionFields.JSONTree
        do {
            tree = try JSONDecoder().decode(RegionFields.JSONTree.self, from: Data(bytes))
        } catch {
            throw RegionFileError(
                path: path,
                "is not valid JSON\(Self.reason(error)). Give a file in the format of Samples/Schemas/regions.schema.json"
            )
        }
        let root = try RegionFields(tree, path: path, place: "", region: nil)
        try root.only(["$schema", "schemaVersion", "space", "regions"])
        guard try root.whole("schemaVersion") == 1 else { throw root.fault("schemaVersion", "is not 1") }
        let space = try root.choice("space", RegionOfInterest.Space.self)
        let regions = try root.list("regions")
        guard regions.count <= Self.maximumRegionCount else {
            throw root.fault("regions", "has \(regions.count) regions, more than \(Self.maximumRegionCount)")
        }
        var entries: [Entry] = []
        // Regions of the same items need different names, since results are listed by name. Whether patterns match
        // the same items is not known here.
        var everywhere: Set<String> = []
        for (index, tree) in regions.enumerated() {
            let place = "regions[\(index)]"
            let entry = try RegionFields(tree, path: path, place: place, region: nil).entry(space)
            if entry.items == nil, !everywhere.insert(entry.region.name).inserted {
                throw RegionFileError(
                    path: path,
                    field: place + ".name",
                    region: entry.region.name,
                    "is the name of another region of every item"
                )
            }
            entries.append(entry)
        }
        self.entries = entries
    }

    /// The maximum nesting depth of brackets and braces.
    private static func nesting(_ bytes: [UInt8]) -> Int {
        var (depth, deepest) = (0, 0)
        var (isText, isEscaped) = (false, false)
        for byte in bytes {
            // Brackets within strings do not count.
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isText = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isText = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return deepest
    }

    private static func reason(_ error: any Error) -> String {
        guard case DecodingError.dataCorrupted(let context) = error else { return ": \(error)" }
        // Without it, the parser only repeats that it is not JSON.
        let inner = context.underlyingError.map { ($0 as NSError).userInfo["NSDebugDescription"] ?? $0 }
        return inner.map { ": \($0)" } ?? ""
    }
}

extension RegionFields {
    /// A JSON value.
    enum JSONTree: Decodable {
        case null
        case truth(Bool)
        case number(Double)
        case text(String)
        case list([JSONTree])
        case object([String: JSONTree])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            // Numbers are most of a file, and every failed attempt costs an error.
            if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let list = try? container.decode([JSONTree].self) {
                self = .list(list)
            } else if let object = try? container.decode([String: JSONTree].self) {
                self = .object(object)
            } else if container.decodeNil() {
                self = .null
            } else {
                self = .truth(try container.decode(Bool.self))
            }
        }
    }
}

/// Why a file of regions cannot be used. The description names the file, the region and the field.
public struct RegionFileError: CodedError, Hashable, Sendable, CustomStringConvertible {
    /// The file of regions.
    public let path: String
    /// For example `regions[2].radiusMm`; empty for the file as a whole.
    public let field: String
    /// The name of the region, where it has one.
    public let region: String?
    /// What is wrong with the field.
    public let detail: String

    /// - Parameters:
    ///   - path: of the file.
    ///   - field: such as `regions[2].radiusMm`; empty for the file as a whole.
    ///   - region: its name, where it has one.
    ///   - detail: what is wrong with the field.
    public init(path: String, field: String = "", region: String? = nil, _ detail: String) {
        self.path = path
        self.field = field
        self.region = region
        self.detail = detail
    }

    /// A file of regions cannot be read, or breaks its schema.
    public var faultCode: FaultCode { FaultCode("regions", "unusable") }

    /// "PATH: FIELD ("NAME") DETAIL".
    public var description: String {
        let name = region.map { " (\"\($0)\")" } ?? ""
        return field.isEmpty ? "\(path) \(detail)" : "\(path): \(field)\(name) \(detail)"
    }
}
