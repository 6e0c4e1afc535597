/// What was asked of the system when a file could not be used.
public enum FileOperation: String, Hashable, Sendable {
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

extension FileSystemError {
    public init(_ operation: FileOperation, path: String, code: Int32) {
        self.init(operation: operation.rawValue, path: path, code: code)
    }

    /// The error without the path: "cannot be opened: No such file or directory".
    public var detail: String {
        let participle = FileOperation(rawValue: operation)?.participle
        return participle.map { "cannot be \($0): \(errnoText(code))" } ?? "cannot \(operation): \(errnoText(code))"
    }
}
