import Foundation
internal import GRDB
import NocturneCore
public import NocturneSystem

/// The journal would not be written.
public struct JournalError: SystemCallError, CustomStringConvertible {
    public let systemCode: Int32?
    private let words: String

    init(_ error: any Error) {
        words = "\(error)"
        systemCode =
            switch (error as? DatabaseError)?.resultCode {
            case .SQLITE_FULL: ENOSPC
            case .SQLITE_IOERR, .SQLITE_CANTOPEN: EIO
            case .SQLITE_BUSY: EAGAIN
            default: (error as? any SystemCallError)?.systemCode
            }
    }

    public var description: String { "the journal cannot be written: \(words)" }
}
