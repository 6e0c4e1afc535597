import Foundation
import GRDB
import NocturneJournal
import NocturneTestSupport
import Synchronization
import Testing

@Suite("A journal that another program has locked")
struct JournalLockTests {
    /// Another program's connection, with an open transaction after ``lock()``.
    private struct OtherProgram: Sendable {
        private let queue: DatabaseQueue

        init(_ path: String) throws {
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            queue = try DatabaseQueue(path: path, configuration: configuration)
        }

        func lock() throws { try queue.inDatabase { try $0.execute(sql: "BEGIN IMMEDIATE") } }
        func unlock() throws { try queue.inDatabase { try $0.execute(sql: "ROLLBACK") } }
    }

    @Test("is waited for while the patience lasts, and written then")
    func waited() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            try await Journal(path: path).close()
            let other = try OtherProgram(path)
            let asked = Mutex<[Duration]>([])
            let journal = try await Journal(path: path) { waited in
                asked.withLock { $0.append(waited) }
                if waited == .milliseconds(100) { try? other.unlock() }
                return waited < .seconds(60)
            }
            try other.lock()
            try await journal.set(.reportVersion, to: 1)
            #expect(asked.withLock { $0 } == [.zero, .milliseconds(50), .milliseconds(100)])
            #expect(try await journal.value(of: .reportVersion) == 1)
            await journal.close()
        }
    }

    @Test("is an error that may pass once the patience has ended")
    func impatient() async throws {
        try await TemporaryFolder.with { folder in
            let path = folder("journal.sqlite").path
            let journal = try await Journal(path: path) { _ in false }
            let other = try OtherProgram(path)
            try other.lock()
            await #expect { try await journal.set(.reportVersion, to: 1) } throws: {
                ($0 as? JournalError)?.systemCode == EAGAIN
            }
            try other.unlock()
            try await journal.set(.reportVersion, to: 2)
            await journal.close()
        }
    }
}
