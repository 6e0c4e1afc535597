import NocturneCore
package import NocturneJournal
package import NocturneSystem

/// An item that is to be processed. The journal has the rest of it, since there may be a hundred thousand of them.
package struct PendingItem: Sendable {
    package let id: Int64
    /// The index of its recipe among the batch's.
    package let recipe: Int
    /// The id of its model.
    package let model: String
    package let name: String
    package let inputs: PackedStamps
    /// Active during a crash of the engine: processed first, and alone.
    package let suspect: Bool
    /// A label map of a person that takes the place of the model's.
    package var edit: SharedValue<LabelEdit>?
    /// Whether the output folder has an earlier result of the item.
    package var hasEarlierResult = false

    package init(
        id: Int64,
        recipe: Int = 0,
        model: String = "",
        name: String,
        inputs: PackedStamps = PackedStamps([]),
        suspect: Bool = false,
        edit: SharedValue<LabelEdit>? = nil
    ) {
        self.id = id
        self.recipe = recipe
        self.model = model
        self.name = name
        self.inputs = inputs
        self.suspect = suspect
        self.edit = edit
    }
}

/// Decides from discovery and the journal what is to be done: pure decisions, no files, no clock.
public struct WorkPlanner: Sendable {
    /// What to do about one discovered item.
    package struct Decision: Sendable {
        package var item: DiscoveredItem
        /// The folder of the item in the output.
        package let name: String
        package let state: ItemState
        /// Few have any of these, and there may be a million decisions.
        fileprivate var remarks: SharedValue<Remarks>?
        /// How often the engine crashed while the item was active.
        package let crashes: Int
        package var work: Bool
        package var suspect = false
        package var edit: SharedValue<LabelEdit>?
        /// Completed before, files intact: nothing is written for it.
        var reused = false

        init(_ item: DiscoveredItem, name: String, state: ItemState, reason: ItemReason? = nil, crashes: Int = 0) {
            self.item = item
            self.name = name
            self.state = state
            self.crashes = crashes
            remarks = reason.map { SharedValue(wrappedValue: Remarks(reason: $0)) }
            work = state == .pending
        }

        fileprivate struct Remarks {
            var reason: ItemReason?
            var note: String?
        }

        package var reason: ItemReason? { remarks?.wrappedValue.reason }

        /// Something to tell the user.
        package var note: String? {
            get { remarks?.wrappedValue.note }
            set {
                guard newValue != nil || remarks != nil else { return }
                remarks = SharedValue(wrappedValue: Remarks(reason: reason, note: newValue))
            }
        }

        /// What the journal records.
        package var entry: JournalEntry {
            JournalEntry(
                key: item.key,
                name: name,
                model: item.model,
                source: item.source,
                path: item.path,
                fingerprint: item.fingerprint.hex,
                state: state,
                reason: reason,
                crashes: crashes,
                words: item.words
            )
        }
    }

    /// Which failed, cancelled and quarantined items are to be tried again.
    let retries: RetrySelection
    /// How folders are shown that become part of names.
    let identifiers: IdentifierPolicy

    public init(retries: RetrySelection, identifiers: IdentifierPolicy = .hash) {
        self.retries = retries
        self.identifiers = identifiers
    }

    /// Names that cannot be an item's folder: those of the batch's own files, also while they are written, and of the file
    /// that stops a watch.
    static let reservedNames: Set<String> = {
        let files = OutputFolder.reportNames
        return Set(files + files.map { $0 + ".part" } + ["stop", "kept"])
    }()

    /// One decision for every discovered item, in order.
    /// - Parameters:
    ///   - foreign: names in the output folder that are not results of this batch and stay as they are.
    ///   - edits: label maps of people, by the names of the items.
    ///   - isIntact: whether a completed item's files exist with their sizes.
    package func decide(
        _ discovered: FileBackedList<DiscoveredItem>,
        known: KnownItems,
        foreign: Set<String>,
        edits: [String: LabelEdit] = [:],
        isIntact: (JournalItem) throws -> Bool
    ) rethrows -> FileBackedList<Decision> {
        // The items of a shard are all known, and so are those of most later runs.
        let isNew = discovered.contains { known[$0.key] == nil }
        var names = isNew ? GivenNames(discovered, known, foreign, identifiers) : nil
        var decisions = FileBackedList<Decision>()
        for (place, item) in discovered.enumerated() {
            if let before = known[item.key] {
                decisions.append(try decide(item, before: before, edits[before.name], isIntact: isIntact))
            } else {
                let (name, note) = names?.name(of: item, at: place) ?? (item.name, nil)
                decisions.append(fresh(item, name: name, note: note))
            }
        }
        return decisions
    }

    private func decide(
        _ item: DiscoveredItem,
        before: JournalItem,
        _ edit: LabelEdit?,
        isIntact: (JournalItem) throws -> Bool
    ) rethrows -> Decision {
        var item = item
        // The same text may come in another Unicode form, and the journal tells those apart.
        if !item.key.utf8.elementsEqual(before.key.utf8) { item.key = before.key }
        guard let edit else { return try decide(item, before: before, isIntact: isIntact) }
        return try decide(item, before: before, edited: edit, isIntact: isIntact)
    }

    private func fresh(_ item: DiscoveredItem, name: String, crashes: Int = 0, note: String? = nil) -> Decision {
        var decision =
            switch item.problem {
            case .refused(let reason): Decision(item, name: name, state: .failed, reason: reason)
            case .setAside(let reason), .unknown(let reason):
                Decision(item, name: name, state: .skipped, reason: reason)
            case nil: Decision(item, name: name, state: .pending, crashes: crashes)
            }
        decision.note = note
        return decision
    }

    /// The fingerprint of an edited item is that of the edit, as long as what was edited is what would be made today.
    private func decide(
        _ item: DiscoveredItem,
        before: JournalItem,
        edited edit: LabelEdit,
        isIntact: (JournalItem) throws -> Bool
    ) rethrows -> Decision {
        guard item.fingerprint.hex == edit.baseFingerprint else {
            var decision = try decide(item, before: before, isIntact: isIntact)
            if decision.work {
                decision.note =
                    "\(before.name): the source, the model or the options changed since \(edit.file) was adopted; "
                    + "the edited labels do not apply any more"
            }
            return decision
        }
        var item = item
        item.fingerprint = edit.fingerprint
        var decision = try decide(item, before: before, isIntact: isIntact)
        decision.edit = SharedValue(wrappedValue: edit)
        if decision.work, before.fingerprint == edit.baseFingerprint { decision.note = nil }
        return decision
    }

    private func decide(_ item: DiscoveredItem, before: JournalItem, isIntact: (JournalItem) throws -> Bool) rethrows
        -> Decision
    {
        let same = item.fingerprint.hex == before.fingerprint
        guard same, item.problem == nil else {
            let note =
                same || item.problem != nil
                ? nil : "\(before.name): the source, the model or the options changed; processed again"
            return fresh(item, name: before.name, note: before.state == .completed ? note : nil)
        }
        func keep(_ state: ItemState, _ reason: ItemReason?) -> Decision {
            var decision = Decision(item, name: before.name, state: state, reason: reason, crashes: before.crashes)
            decision.work = false
            decision.reused = true
            return decision
        }
        switch before.state {
        case .completed:
            if try isIntact(before) { return keep(.completed, nil) }
            return fresh(
                item,
                name: before.name,
                note: "\(before.name): files are missing or changed in size; processed again"
            )
        case .failed, .cancelled, .quarantined:
            return retries.contains(before) ? fresh(item, name: before.name) : keep(before.state, before.reason)
        case .skipped, .pending, .started:
            let crashes = before.crashes
            switch CrashRecoveryStateMachine.itemFound(crashes: before.state == .pending ? crashes : min(crashes, 1)) {
            case .process: return fresh(item, name: before.name, crashes: crashes)
            case .processAlone:
                var decision = fresh(item, name: before.name, crashes: crashes)
                decision.suspect = true
                return decision
            case .quarantine:
                let cause = before.reason.map { ": \($0.text)" } ?? ""
                let text = "the engine crashed twice while this item was active\(cause)"
                var decision = keep(.quarantined, ItemReason(.engineCrashed, text))
                decision.reused = false
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

/// The names that new items get, one after the other. Those that the journal has never change.
private struct GivenNames {
    private let names: ItemNames
    private let ofKnown: NameSet
    private var taken: NameSet

    init(
        _ discovered: FileBackedList<DiscoveredItem>,
        _ known: KnownItems,
        _ foreign: Set<String>,
        _ identifiers: IdentifierPolicy
    ) {
        names = ItemNames(discovered, identifiers)
        ofKnown = NameSet(known.all.lazy.map(\.name))
        taken = ofKnown
        for name in WorkPlanner.reservedNames.union(foreign) { taken.insert(name) }
    }

    /// The preferred name; with its folders in front where an item of an earlier run has that name; else with six digits of the
    /// key's digest, which are the same in every run.
    mutating func name(of item: DiscoveredItem, at place: Int) -> (name: String, note: String?) {
        let preferred = names.names[place]
        if names.keepsName(at: place), taken.insert(preferred) { return (preferred, nil) }
        if names.isAlone(at: place), ofKnown.contains(preferred) {
            for name in names.qualified(item) where !names.contains(name) && taken.insert(name) {
                return (name, nil)
            }
        }
        let digest = ContentDigest.of(item.key).hex
        var digits = 6
        var name = preferred
        repeat {
            name = "\(preferred)-\(digest.prefix(digits))"
            digits += 2
        } while (taken.contains(name) || names.contains(name)) && digits <= 64
        taken.insert(name)
        return (name, "\(item.path): the name \(preferred) is taken in the output folder; this one becomes \(name)")
    }
}
