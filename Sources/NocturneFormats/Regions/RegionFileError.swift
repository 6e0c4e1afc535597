public import NocturneSystem

/// Why a file of regions cannot be used. The description names the file, the region and the field.
public struct RegionFileError: CodedError, Hashable, Sendable, CustomStringConvertible {
    public let path: String
    /// For example `regions[2].radiusMm`; empty for the file as a whole.
    public let field: String
    /// The name of the region, where it has one.
    public let region: String?
    public let detail: String

    public init(path: String, field: String = "", region: String? = nil, _ detail: String) {
        self.path = path
        self.field = field
        self.region = region
        self.detail = detail
    }

    public var faultCode: FaultCode { FaultCode("regions", "unusable") }

    public var description: String {
        let name = region.map { " (\"\($0)\")" } ?? ""
        return field.isEmpty ? "\(path): \(detail)" : "\(path): \(field)\(name): \(detail)"
    }
}
