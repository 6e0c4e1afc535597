public import NocturneJournal
import NocturneSystem

extension OutputFolder {
    /// Opens the journal to read it, calls `body` with it, and closes it whatever happens. A run may be active, also on another
    /// machine.
    /// - Throws: ``BatchError`` where the batch's own folders are links, and for a batch of another user; `JournalError`.
    public func reading<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Journal) async throws -> Result
    ) async throws -> Result {
        try checkIsUsable()
        return try await Journal.with(
            path: journal,
            readsCopy: { !FileSystem.isLocal(hidden) || FolderClaim.isHeldByAnotherMachine(self) },
            isolation: isolation,
            body
        )
    }

    /// Opens the journal to change it, calls `body` with it, and closes it whatever happens. No run may begin meanwhile.
    /// - Throws: ``BatchError`` with `outputInUse` while a run is active; `JournalError`.
    public func changing<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: (Journal) async throws -> Result
    ) async throws -> Result {
        let lock = try BatchLock(self)
        defer { withExtendedLifetime(lock) {} }
        return try await Journal.with(path: journal, isolation: isolation, body)
    }
}
