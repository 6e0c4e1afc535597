public import Glibc

/// An error that may have come from the system: full disks, failing reads, too many open files.
public protocol SystemCallError: Error {
    /// The system's number for it (`errno`), where it was the system that refused.
    var systemCode: Int32? { get }
}

extension SystemCallError {
    /// Whether it may go away by itself, so that trying again makes sense.
    public var isTransient: Bool {
        // Without a number the content is at fault, and reading it again gives the same.
        guard let systemCode else { return false }
        return isOutOfRoom
            // EIO may come from a share or a disk that recovers. EACCES and ENOENT stay until a person does something.
            || [EIO, EAGAIN, EINTR, ENFILE, EMFILE, ESTALE, ETIMEDOUT].contains(systemCode)
    }

    /// Whether the disk, or the share of it that is granted, is full.
    public var isOutOfRoom: Bool { systemCode == ENOSPC || systemCode == EDQUOT }
}

/// A file operation failed; with the file and the system's message.
public struct FileSystemError: SystemCallError, SentenceConvertible, Sendable, CustomStringConvertible {
    /// A verb with its object, which follows "cannot", such as `open the file`.
    public let operation: String
    /// The file or folder.
    public let path: String
    /// As in `errno`.
    public let code: Int32

    /// - Parameters:
    ///   - operation: a verb with its object, which follows "cannot".
    ///   - path: of the file or folder, as it was given.
    ///   - code: of `errno`, read directly after the call that failed.
    public init(operation: String, path: String, code: Int32) {
        self.operation = operation
        self.path = path
        self.code = code
    }

    /// Never nil: every error of this type comes from the system.
    public var systemCode: Int32? { code }
    /// "PATH: cannot OPERATION: REASON". The path is marked as the name of a file, so that readers can withhold it.
    public var sentence: Sentence {
        let reason = isNotRegularFile ? "not a regular file" : errnoText(code)
        return "\(file: path): cannot \(operation): \(own: reason)"
    }
    /// With the whole path: for people who may see it.
    public var description: String { sentence.description }
}

/// The system's message for an `errno` value.
public func errnoText(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }

extension FileSystemError {
    /// Whether what lies there is not a regular file, but a folder, pipe or device.
    public var isNotRegularFile: Bool { operation == Operation.open.rawValue && code == ENOTSUP }

    /// An error of one of the usual operations, from whose name ``detail`` makes a sentence.
    public init(_ operation: Operation, path: String, code: Int32) {
        self.init(operation: operation.rawValue, path: path, code: code)
    }

    /// For a file that an option names: the fact, and the next step.
    /// - Parameters:
    ///   - file: what it is, with its path, such as "the list /in/list.txt".
    ///   - option: the one that names it; nil where it is an argument.
    public func unreadable(_ file: String, option: String? = nil) -> String {
        if isNotRegularFile {
            let kind = access(path + "/", F_OK) == 0 ? "a folder" : "a device or pipe"
            return "\(file) is \(kind). Give a file\(option.map { " to \($0)" } ?? "")"
        }
        if code == ENOENT {
            // A batch records paths: a file may have been moved since.
            return "\(file) does not exist. Check the path" + (option.map { ", or give the new one with \($0)" } ?? "")
        }
        let step = code == EACCES ? "Allow this user to read it" : "Check the file and its disk"
        return "\(file) cannot be read: \(errnoText(code)). \(step)"
    }

    /// The error without the path: "cannot be opened: No such file or directory".
    public var detail: String {
        if isNotRegularFile { return "is not a regular file" }
        let participle = Operation(rawValue: operation)?.participle
        return participle.map { "cannot be \($0): \(errnoText(code))" } ?? "cannot \(operation): \(errnoText(code))"
    }
}

/// Why a file of some format could not be read or written. The description names the file and the fact.
///
/// Each format has its own codes and a short name: `typealias PictureError = FileFormatError<PictureErrorCode>`.
public struct FileFormatError<Code: FormatErrorCode>: SystemCallError, CodedError, Hashable, CustomStringConvertible {
    /// What is wrong, for programs.
    public let code: Code
    /// The file.
    public let path: String
    /// The fact in a few words, with figures. Never a patient's data.
    public let detail: String
    /// The system's error number; nil where the content is at fault.
    public let systemCode: Int32?

    /// - Parameter detail: the fact and the next step, with figures, without a patient's data.
    public init(_ code: Code, path: String, _ detail: String, systemCode: Int32? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.systemCode = systemCode
    }

    /// For a file that the system would not open or read, or that is not a regular file: then the system is not at fault.
    public init(_ code: Code, reading error: FileSystemError) {
        self.init(code, path: error.path, error.detail, systemCode: error.isNotRegularFile ? nil : error.code)
    }

    /// For a file that the system would not create or write; names the system's code.
    public init(_ code: Code, writing error: FileSystemError) {
        self.init(code, path: error.path, "\(error.detail) (errno \(error.code))", systemCode: error.code)
    }

    /// The format's domain with the name of ``code``.
    public var faultCode: FaultCode { FaultCode(Code.domain, code.rawValue) }
    /// With the whole path; never with a patient's data, if ``detail`` has none.
    public var description: String { "\(path): \(detail)" }
}

/// The kinds of errors of one format.
public protocol FormatErrorCode: RawRepresentable<String>, Hashable, Sendable {
    /// The format's short name: the first part of the ``FaultCode``.
    static var domain: String { get }
}

extension FileSystemError {
    /// What was asked of the system when a file could not be used.
    public enum Operation: String, Hashable, Sendable {
        case open, examine, read, create, write, flush, close

        /// For "cannot be opened".
        var participle: String {
            switch self {
            case .open: "opened"
            case .examine: "examined"
            case .read: "read"
            case .create: "created"
            case .write: "written"
            case .flush: "flushed"
            case .close: "closed"
            }
        }
    }
}
