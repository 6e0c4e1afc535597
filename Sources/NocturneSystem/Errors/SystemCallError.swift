#if canImport(Glibc)
    internal import Glibc
#endif

/// An error that may have come from the system: full disks, failing reads, too many open files.
public protocol SystemCallError: Error {
    /// The system's number for it (`errno`), where it was the system that refused.
    var systemCode: Int32? { get }
}

extension SystemCallError {
    /// Whether it may go away by itself, so that trying again makes sense.
    public var isTransient: Bool {
        guard let systemCode else { return false }
        return isOutOfRoom
            || [EIO, EAGAIN, EINTR, ENFILE, EMFILE, ESTALE, ETIMEDOUT].contains(systemCode)
    }

    /// Whether the disk, or the share of it that is granted, is full.
    public var isOutOfRoom: Bool { systemCode == ENOSPC || systemCode == EDQUOT }
}
