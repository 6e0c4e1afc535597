/// Names a kind of fault for programs: where it arose and what it is, as in `dicom.missingSlices`. A name keeps its meaning in
/// later versions; new ones are added.
public struct FaultCode: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public init(_ domain: String, _ name: String) { rawValue = domain + "." + name }

    /// What stands before the point: the format or the part of the program.
    public var domain: String { String(rawValue.prefix { $0 != "." }) }
    public var description: String { rawValue }

    /// The kind of an error: what the system said where it was the system that refused, else the error's own code.
    public init(of error: any Error) {
        if let code = (error as? any SystemCallError)?.systemCode, code != 0 {
            self = .system(code)
        } else {
            self = (error as? any CodedError)?.faultCode ?? .unexpected
        }
    }
}

/// An error that names its kind for programs.
public protocol CodedError: Error {
    var faultCode: FaultCode { get }
}

extension FaultCode {
    /// An error that no part of the program has foreseen.
    public static let unexpected = FaultCode("internal", "unexpected")
    /// More memory is needed than the budget has.
    public static let overBudget = FaultCode("memory", "overBudget")
    /// What a network computed cannot be used.
    public static let networkOutput = FaultCode("network", "unusableOutput")
    public static let noMemory = FaultCode("memory", "notAvailable")
    public static let diskFull = FaultCode("disk", "full")
    public static let diskError = FaultCode("disk", "readOrWriteFailed")
    public static let notResponding = FaultCode("disk", "notResponding")
    public static let noPermission = FaultCode("file", "noPermission")
    public static let noSuchFile = FaultCode("file", "notFound")
    public static let tooManyFiles = FaultCode("system", "tooManyOpenFiles")
    public static let otherSystemError = FaultCode("system", "other")
}
