internal import GRDB
import Glibc
public import NocturneSystem

/// The journal cannot be opened, read or written.
public struct JournalError: SystemCallError, CodedError, Sendable, CustomStringConvertible {
    /// What is wrong, for programs: the second part of the ``FaultCode``.
    public enum Code: String, Sendable {
        /// It cannot be opened, or is not a database.
        case unusable
        /// A newer version of Nocturne has changed its schema.
        case newerSchema
        /// It cannot be read or written.
        case failed
        /// It holds a name or path that leads out of the output folder.
        case damaged
        /// A run on another machine works on the batch now.
        case abandoned
    }

    /// Which kind it is. Whether it may go away by itself is decided by ``systemCode``.
    public let code: Code
    /// The file, the fact and the next step, for people.
    public let detail: String
    /// As in `errno`, also where SQLite has its own code for it; nil for damage and for misuse.
    public let systemCode: Int32?
    /// Whether the file is damaged or not a database: reading it again does not help.
    package let isFileDamaged: Bool

    init(_ code: Code, detail: String, systemCode: Int32? = nil, isFileDamaged: Bool = false) {
        (self.code, self.detail, self.systemCode, self.isFileDamaged) = (code, detail, systemCode, isFileDamaged)
    }

    /// - Parameter path: of the journal, for an error while it is opened; nil for a later one.
    init(_ error: any Error, opening path: String? = nil) {
        if let error = error as? JournalError {
            self = error
            return
        }
        // SQLite's codes as the system's, so that the journal's errors are retried by the same rule as those of
        // files.
        let systemCode: Int32? =
            switch (error as? DatabaseError)?.resultCode {
            case .SQLITE_FULL: ENOSPC
            case .SQLITE_IOERR, .SQLITE_CANTOPEN: EIO
            case .SQLITE_BUSY: EAGAIN
            default: (error as? any SystemCallError)?.systemCode
            }
        // SQLite has one code for both.
        let limit = (error as? DatabaseError)?.resultCode == .SQLITE_IOERR ? FileSystem.sizeLimit : nil
        let fact = limit.map { " (ulimit -f limits files of this process to \(ByteCount($0)))" } ?? ""
        if Self.isDamage(error) {
            self.init(unusable: path, because: "the journal is damaged (\(error))")
        } else if let path {
            let advice =
                "check that this user may write the file and its folder, that the disk has space, and that the disk works"
            self.init(.unusable, detail: "\(path): \(error)\(fact). Next step: \(advice)", systemCode: systemCode)
        } else {
            self.init(.failed, detail: "the journal cannot be written: \(error)\(fact)", systemCode: systemCode)
        }
    }

    /// For a file of a journal that holds nothing readable.
    /// - Parameter file: its path; nil where it is not known.
    init(unusable file: String?, because fact: String) {
        let advice =
            "move the journal away, with the files next to it that begin with its name, and start the batch again with the same "
            + "inputs and options: finished and edited results are recognised and kept; marks of reviewers have to be imported again, and "
            + "items that were removed by `nocturne forget` are processed again"
        let place = file.map { $0 + ": " } ?? ""
        self.init(.unusable, detail: "\(place)\(fact). Next step: \(advice)", isFileDamaged: true)
    }

    /// For an error of the temporary tables.
    init(finding error: any Error) {
        let own = JournalError(error)
        guard own.isOutOfRoom, !(error is JournalError) else {
            self = own
            return
        }
        let advice = "SQLITE_TMPDIR or TMPDIR names a folder with space for it"
        self.init(.failed, detail: "what was found does not fit into a temporary file: \(advice)", systemCode: ENOSPC)
    }

    /// On a full disk SQLite has an input or output error where it makes the files next to a database.
    var mayLackRoom: Bool { isOutOfRoom || systemCode == EIO }

    private static func isDamage(_ error: any Error) -> Bool {
        let code = (error as? DatabaseError)?.resultCode
        return code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB
    }

    /// For a name or path in the journal that leads elsewhere.
    init(damagedBy path: String) {
        let detail =
            "the journal holds the name \"\(path)\", which leads out of its folder: it was damaged or changed by another "
            + "program. Nothing was changed. Start the batch in another output folder"
        self.init(.damaged, detail: detail)
    }

    static let abandoned = JournalError(.abandoned, detail: "the journal belongs to a run on another machine now")

    /// In the domain `journal`.
    public var faultCode: FaultCode { FaultCode("journal", code.rawValue) }
    /// The detail alone: it names the file where that helps.
    public var description: String { detail }
}
