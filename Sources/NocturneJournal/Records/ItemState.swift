/// How an input ended, or where it stands.
public enum ItemState: String, Sendable, Codable, CaseIterable {
    /// Waiting for its turn; at the end of a run: not reached.
    case pending
    /// Active. Found in the journal at the start of a run, it means that the run before was interrupted.
    case started
    case completed
    case failed
    /// Set aside with a reason: not an input for this model.
    case skipped
    /// Stopped by `nocturne cancel` naming it; stays so until `nocturne retry`.
    case cancelled
    /// The engine crashed twice while this item was active.
    case quarantined
}
