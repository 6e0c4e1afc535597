#if canImport(Glibc)
    internal import Glibc
#endif

extension FaultCode {
    /// The kind of a system's error number (`errno`).
    static func system(_ code: Int32) -> FaultCode {
        switch code {
        case ENOSPC, EDQUOT: .diskFull
        case EIO: .diskError
        case ESTALE, ETIMEDOUT, EHOSTDOWN, ENOTCONN: .notResponding
        case EACCES, EPERM, EROFS: .noPermission
        case ENOENT, ENOTDIR: .noSuchFile
        case ENOMEM: .noMemory
        case EMFILE, ENFILE: .tooManyFiles
        default: .otherSystemError
        }
    }
}
