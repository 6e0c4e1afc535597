package import NocturneJournal
public import NocturneOutput
import NocturneSystem

/// Decides from discovery and the journal what is to be done: pure decisions, no files, no clock, no database.
public struct WorkPlanner: Sendable {
    /// What to do about one discovered item.
    package struct Decision: Sendable {
        /// With the fingerprint of the edit where a person's label map applies.
        package var item: DiscoveredItem
        /// The folder of the item in the output.
        package let name: String
        /// To be recorded.
        package let state: ItemState
        /// To be recorded; nil where there is nothing to explain.
        package var reason: ItemReason?
        /// A note for the user.
        package var note: String?
        /// How often the engine crashed while the item was active.
        package let crashes: Int
        /// Whether the item is processed in this run.
        package var work: Bool
        /// Active during a crash of the engine: processed first, and alone.
        package var suspect = false
        /// A label map of a person that takes the place of the model's, for the present options.
        package var edit: LabelEdit?
        /// Whether the result has labels of a person, which the model's are to replace.
        package var losesEdit = false
        /// Completed before, files intact: nothing is written for it.
        var isKept = false

        init(_ item: DiscoveredItem, name: String, state: ItemState, reason: ItemReason? = nil, crashes: Int = 0) {
            (self.item, self.name, self.state, self.reason, self.crashes) = (item, name, state, reason, crashes)
            work = state == .pending
        }

        /// What the journal records.
        package var entry: JournalEntry {
            JournalEntry(item, name: name, state: state, reason: reason, crashes: crashes)
        }

        /// Whether the journal has to record it.
        package func changes(_ before: JournalItem?) -> Bool {
            guard !isKept else { return false }
            guard let before else { return true }
            return before.state != state || before.reason != reason || before.crashes != crashes
                || before.fingerprint != item.fingerprint.hex || before.words != item.words
        }
    }

    /// Which failed, cancelled and quarantined items are to be tried again.
    let retries: RetrySelection
    /// How folders are shown that become part of names.
    let identifiers: IdentifierPolicy
    /// Below which folders become part of names.
    let inputs: [String]

    /// - Parameters:
    ///   - retries: which items that ended without a result are tried again.
    ///   - identifiers: how folders are shown that become part of names.
    ///   - inputs: as they were given, for names.
    public init(retries: RetrySelection, identifiers: IdentifierPolicy = .hash, inputs: [String] = []) {
        (self.retries, self.identifiers, self.inputs) = (retries, identifiers, inputs)
    }

    /// Names that cannot be an item's folder: those of the batch's own files, also while they are written, and of the file
    /// that stops a watch.
    static let reservedNames: Set<String> = {
        let files = OutputFolder.reportNames
        return Set(files + files.map { $0 + ".part" } + ["stop", "kept"])
    }()

    /// What is done about one item.
    /// - Parameters:
    ///   - before: the item as the journal has it; nil for a new one.
    ///   - edit: the label map of a person, where there is one for this item.
    ///   - keepsEdit: whether the labels that were edited are those that the model would give today, though other parts of the
    ///     result may differ.
    ///   - name: of a new item, with a remark about it.
    ///   - isIntact: whether a completed item's files exist with their sizes.
    package func decide(
        _ item: DiscoveredItem,
        before: JournalItem?,
        edit: LabelEdit? = nil,
        keepsEdit: () -> Bool = { false },
        name: () throws -> (name: String, note: String?),
        isIntact: () throws -> Bool
    ) rethrows -> Decision {
        let (name, note) = try before.map { ($0.name, nil) } ?? name()
        let applied = edit.flatMap {
            $0.item == name ? $0.applied(to: item.fingerprint, keepsLabels: keepsEdit) : nil
        }
        var item = item
        if let applied { item.fingerprint = applied.fingerprint }
        guard let before else {
            var decision = fresh(item, name: name, note: note)
            decision.edit = applied
            return decision
        }
        var decision = try decide(item, before: before, isIntact: isIntact)
        decision.edit = applied
        guard let edit, decision.work else { return decision }
        if applied == nil {
            decision.losesEdit = edit.isInUse(for: before)
            decision.note =
                "\(before.name): what its labels depend on has changed since \(edit.file) was adopted; "
                + "the edited labels no longer apply"
        } else if applied == edit, before.fingerprint != edit.fingerprint.hex {
            // Only the labels are others: they were adopted for this source, with this model and these options.
            decision.note = nil
        }
        return decision
    }

    private func fresh(_ item: DiscoveredItem, name: String, crashes: Int = 0, note: String? = nil) -> Decision {
        var decision =
            switch item.problem {
            case .refused(let reason): Decision(item, name: name, state: .failed, reason: reason)
            case .setAside(let reason):
                Decision(item, name: name, state: .skipped, reason: reason)
            case nil: Decision(item, name: name, state: .pending, crashes: crashes)
            }
        decision.note = note
        return decision
    }

    private func decide(_ item: DiscoveredItem, before: JournalItem, isIntact: () throws -> Bool) rethrows
        -> Decision
    {
        func keep(_ state: ItemState, _ reason: ItemReason?) -> Decision {
            var decision = Decision(item, name: before.name, state: state, reason: reason, crashes: before.crashes)
            decision.work = false
            decision.isKept = true
            return decision
        }
        // Whatever has changed: the user asks for it.
        if before.state == .cancelled, !retries.contains(before) { return keep(.cancelled, before.reason) }
        let same = item.fingerprint.hex == before.fingerprint
        guard same, item.problem == nil else {
            let note =
                same || item.problem != nil
                ? nil : "\(before.name): the source, the model or the options changed; processed again"
            return fresh(item, name: before.name, note: before.state == .completed ? note : nil)
        }
        switch before.state {
        case .completed:
            if try isIntact() { return keep(.completed, nil) }
            return fresh(
                item,
                name: before.name,
                note: "\(before.name): files are missing or changed in size; processed again"
            )
        case .failed, .cancelled, .quarantined:
            return retries.contains(before) ? fresh(item, name: before.name) : keep(before.state, before.reason)
        // What a run has found out from the voxels holds until the source, the model or the options change.
        case .skipped where before.reason?.code == .expired || before.reason?.code == .labelMap:
            return keep(.skipped, before.reason)
        case .skipped, .pending, .started:
            let crashes = before.crashes
            switch CrashRecoveryStateMachine.itemFound(crashes: before.state == .pending ? crashes : min(crashes, 1)) {
            case .process: return fresh(item, name: before.name, crashes: crashes)
            case .processAlone:
                var decision = fresh(item, name: before.name, crashes: crashes)
                decision.suspect = true
                return decision
            case .quarantine:
                let cause: Sentence = before.reason.map { ": \($0.sentence)" } ?? ""
                let text: Sentence = "the engine crashed twice while this item was active\(cause)"
                var decision = keep(.quarantined, ItemReason(.engineCrashed, text))
                decision.isKept = false
                return decision
            }
        }
    }

    /// A folder name that every file system takes, that no shell reads as an option and no spreadsheet as a formula.
    package static func safeName(_ preferred: String) -> String {
        var name = String(
            preferred.map { character in
                let allowed = character.isLetter || character.isNumber || "._-@+=".contains(character)
                return allowed ? character : "_"
            }
        )
        while let first = name.first, ".-=+@".contains(first) { name.removeFirst() }
        while name.hasSuffix(".") { name.removeLast() }
        // Devices to Windows, whatever comes after the point.
        let stem = name.prefix { $0 != "." }.lowercased()
        if devices.contains(stem) { name = "_" + name }
        // File systems count bytes: 255 at most, with space for a suffix.
        while name.utf8.count > mostNameBytes { name.removeLast() }
        return name.isEmpty ? "item" : name
    }

    static let mostNameBytes = 180

    private static let devices: Set<String> = Set(
        ["con", "prn", "aux", "nul"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] }
    )
}
