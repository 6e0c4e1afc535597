import Foundation
internal import GRDB
public import NocturneCore

/// The journal would not be written.
public struct JournalFault: SystemFault, CustomStringConvertible {
    public let systemCode: Int32?
    private let words: String

    init(_ error: any Error) {
        words = "\(error)"
        systemCode =
            switch (error as? DatabaseError)?.resultCode {
            case .SQLITE_FULL: ENOSPC
            case .SQLITE_IOERR, .SQLITE_CANTOPEN: EIO
            case .SQLITE_BUSY: EAGAIN
            default: (error as? any SystemFault)?.systemCode
            }
    }

    public var description: String { "the journal cannot be written: \(words)" }
}
