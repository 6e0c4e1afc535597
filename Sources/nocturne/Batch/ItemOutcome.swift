import NocturneJournal
import NocturneOutput
import NocturneSystem

/// How an item ended, or where it stands, as `status` and `why` print it.
struct ItemOutcome: Encodable {
    let item: String
    let state: ItemState
    /// Null for an input that no model processes.
    @Nullable var model: String?
    /// When the state last changed, UTC; null where no time is recorded.
    @Nullable var changed: String?
    /// Why it did not complete, or from where its result was taken; null for others, as are the next three.
    @Nullable var reason: String?
    @Nullable var code: String?
    @Nullable var stage: String?
    @Nullable var remedy: String?

    /// - Parameter folder: of the batch, for the remedy.
    init(_ item: JournalItem, in folder: OutputFolder) {
        (self.item, state) = (item.name, item.state)
        model = item.model.isEmpty ? nil : item.model
        changed = item.changed
        reason = item.reason?.text
        code = item.reason?.code.rawValue
        stage = item.reason?.stage
        remedy = item.reason.map { $0.code.remedy(in: folder) }
    }
}
