internal import Glibc

/// Names a kind of fault for programs: where it arose and what it is, as in `dicom.missingSlices`. A name keeps its meaning in
/// later versions; new ones are added.
public struct FaultCode: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    /// Domain and name with a point between them.
    public let rawValue: String

    /// A recorded code, which a later version may have written: any text is accepted.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// - Parameters:
    ///   - domain: the format or the part of the program.
    ///   - name: what is wrong, in camel case.
    public init(_ domain: String, _ name: String) { rawValue = domain + "." + name }

    /// What stands before the point: the format or the part of the program.
    public var domain: String { String(rawValue.prefix { $0 != "." }) }
    /// As it is recorded: ``rawValue``.
    public var description: String { rawValue }

    /// The kind of an error: that of the system's error number where a system call failed, else the error's code.
    public init(of error: any Error) {
        // A format's error for a full disk is the disk's fault: the number decides before the error's own code.
        if let code = (error as? any SystemCallError)?.systemCode, code != 0 {
            self = .system(code)
        } else {
            self = (error as? any CodedError)?.faultCode ?? .unexpected
        }
    }
}

/// An error that names its kind for programs.
public protocol CodedError: Error {
    /// Stays the same in later versions, whatever becomes of the error's text.
    var faultCode: FaultCode { get }
}

extension FaultCode {
    /// An error that no part of the program has foreseen.
    public static let unexpected = FaultCode("internal", "unexpected")
    /// More memory is needed than the budget has.
    public static let overBudget = FaultCode("memory", "overBudget")
    /// What a network computed cannot be used.
    public static let networkOutput = FaultCode("network", "unusableOutput")
    /// The system has no memory for a buffer.
    public static let noMemory = FaultCode("memory", "notAvailable")
    /// The disk is full, or a quota is exceeded (ENOSPC, EDQUOT).
    public static let diskFull = FaultCode("disk", "full")
    /// The device failed while reading or writing (EIO).
    public static let diskError = FaultCode("disk", "readOrWriteFailed")
    /// A share does not respond (ESTALE, ETIMEDOUT and similar).
    public static let notResponding = FaultCode("disk", "notResponding")
    /// This user may not read or write the file, or its file system is read-only (EACCES, EPERM, EROFS).
    public static let noPermission = FaultCode("file", "noPermission")
    /// The file or one of its folders does not exist (ENOENT, ENOTDIR).
    public static let noSuchFile = FaultCode("file", "notFound")
    /// The process or the machine has too many open files (EMFILE, ENFILE).
    public static let tooManyFiles = FaultCode("system", "tooManyOpenFiles")
    /// Another error of the system; the reason has its message.
    public static let otherSystemError = FaultCode("system", "other")
}

/// An error after which the same work can be done again with another result, because what failed is no longer used: an
/// item that fails with it is inferred again, once.
public protocol RepeatableFault: CodedError {
    /// The names of items that may have wrong results because of it: they are processed again, too.
    var doubted: [String] { get }
}

extension FaultCode {
    /// The kind of a system's error number (`errno`).
    static func system(_ code: Int32) -> FaultCode {
        switch code {
        case ENOSPC, EDQUOT: .diskFull
        case EIO: .diskError
        // A share that was mounted again, one that is silent, and one whose server is away.
        case ESTALE, ETIMEDOUT, EHOSTDOWN, ENOTCONN: .notResponding
        case EACCES, EPERM, EROFS: .noPermission
        case ENOENT, ENOTDIR: .noSuchFile
        case ENOMEM: .noMemory
        case EMFILE, ENFILE: .tooManyFiles
        default: .otherSystemError
        }
    }
}
