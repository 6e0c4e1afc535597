import NocturneCore
import NocturneSystem

/// An item that is to be worked on.
struct PendingItem: Sendable {
    let id: Int64
    /// The place of its recipe among the batch's.
    let recipe: Int
    /// The id of its model.
    let model: String
    let name: String
    let source: String
    let path: String
    let fingerprint: String
    let inputs: [InputStamp]
    /// In flight when the engine died: goes first, and alone.
    let suspect: Bool
    var retries = 0
}

/// What discovery and the journal together say is to be done: pure decisions, no files, no clock.
public struct WorkPlanner {
    /// What to do about one discovered item.
    package struct Decision {
        package var entry: JournalEntry
        package var work: Bool
        package var suspect = false
        /// Something to tell the user.
        var note: String?
        /// Completed before, files intact: nothing is written for it.
        var reused = false
    }

    /// Whether failed, cancelled and quarantined items are to be tried again.
    var retryFailed: Bool
    /// How the engine died before this start; nil when it did not.
    var previousDeath: String?

    public init(retryFailed: Bool, previousDeath: String?) {
        self.retryFailed = retryFailed
        self.previousDeath = previousDeath
    }

    /// The names that items of a new batch would get, and what there is to say about them.
    public func preview(_ discovered: [DiscoveredItem]) -> (
        items: [(item: DiscoveredItem, name: String)], notes: [String]
    ) {
        let decisions = decide(discovered, known: [:], foreign: []) { _ in false }
        return (decisions.map { ($0.entry.item, $0.entry.name) }, decisions.compactMap(\.note))
    }

    /// Names that cannot be an item's folder: those of the batch's own files, while they are written too, and of the file
    /// that stops a watch.
    static let reservedNames: Set<String> = {
        let files = ["batch.json", "statistics.csv", "retry.txt", "events.jsonl", "contact-sheet.pdf"]
        return Set(files + files.map { $0 + ".part" } + ["stop"])
    }()

    /// Items that the journal says are in flight although no engine is at work: they wait again, and each has one death
    /// more to its account when it was an engine's death that ended them.
    ///
    /// To be recorded before anything else is done: a death that comes later, while inputs are looked at, is nobody's.
    package func takenBack(_ items: [JournalItem]) -> [JournalItem] {
        items.filter { $0.state == .started }.map { item in
            var item = item
            item.state = .pending
            item.reason = previousDeath ?? "interrupted"
            if previousDeath != nil { item.deaths += 1 }
            return item
        }
    }

    /// One decision for every discovered item, in order.
    /// - Parameters:
    ///   - foreign: names in the output folder that are not ours and stay as they are.
    ///   - isIntact: whether a completed item's files are there.
    package func decide(
        _ discovered: [DiscoveredItem],
        known: [String: JournalItem],
        foreign: Set<String>,
        isIntact: (JournalItem) throws -> Bool
    ) rethrows -> [Decision] {
        var taken = Set(known.values.map { $0.name.lowercased() }).union(Self.reservedNames)
        taken.formUnion(foreign.map { $0.lowercased() })
        return try discovered.map { item in
            if let before = known[item.key] {
                // The same text may come in another Unicode form, and the journal tells those apart.
                var item = item
                item.key = before.key
                return try decide(item, before: before, isIntact: isIntact)
            }
            let (name, note) = uniqueName(for: item, taken: &taken)
            return fresh(item, name: name, note: note)
        }
    }

    private func fresh(_ item: DiscoveredItem, name: String, deaths: Int = 0, note: String? = nil) -> Decision {
        switch item.problem {
        case .refused(let reason):
            return Decision(
                entry: JournalEntry(item: item, name: name, state: .failed, reason: reason),
                work: false,
                note: note
            )
        case .setAside(let reason), .unknown(let reason):
            return Decision(
                entry: JournalEntry(item: item, name: name, state: .skipped, reason: reason),
                work: false,
                note: note
            )
        case nil:
            return Decision(
                entry: JournalEntry(item: item, name: name, state: .pending, reason: nil, deaths: deaths),
                work: true,
                note: note
            )
        }
    }

    private func decide(_ item: DiscoveredItem, before: JournalItem, isIntact: (JournalItem) throws -> Bool) rethrows
        -> Decision
    {
        let same = item.fingerprint.hex == before.fingerprint
        guard same, item.problem == nil else {
            let note =
                same || item.problem != nil
                ? nil : "\(before.name): the source, the model or the options changed; done anew"
            return fresh(item, name: before.name, note: before.state == .completed ? note : nil)
        }
        func keep(_ state: ItemState, _ reason: String?) -> Decision {
            var decision = Decision(
                entry: JournalEntry(item: item, name: before.name, state: state, reason: reason, deaths: before.deaths),
                work: false
            )
            decision.reused = true
            return decision
        }
        switch before.state {
        case .completed:
            if try isIntact(before) { return keep(.completed, nil) }
            return fresh(
                item,
                name: before.name,
                note: "\(before.name): files are missing or changed in size; done anew"
            )
        case .failed, .cancelled, .quarantined:
            return retryFailed ? fresh(item, name: before.name) : keep(before.state, before.reason)
        case .pending where before.deaths >= 2:
            let cause = before.reason.map { ": \($0)" } ?? ""
            var decision = keep(.quarantined, "the engine died twice with this item in flight\(cause)")
            decision.reused = false
            return decision
        case .skipped, .pending, .started:
            return again(item, before, deaths: before.deaths)
        }
    }

    /// To be worked on, alone if the engine once died with it in flight.
    private func again(_ item: DiscoveredItem, _ before: JournalItem, deaths: Int) -> Decision {
        var decision = fresh(item, name: before.name, deaths: deaths)
        decision.suspect = deaths > 0
        return decision
    }

    /// The wished name, or with six digits of the key's digest where it is taken: the same in every run.
    private func uniqueName(for item: DiscoveredItem, taken: inout Set<String>) -> (String, String?) {
        var name = Self.safeName(item.name)
        var note: String?
        if taken.contains(name.lowercased()) {
            let digest = ContentDigest.of(item.key).hex
            var digits = 6
            let wished = name
            repeat {
                name = "\(wished)-\(digest.prefix(digits))"
                digits += 2
            } while taken.contains(name.lowercased()) && digits <= 64
            note = "\(item.path): the name \(wished) is taken in the output folder; this one becomes \(name)"
        }
        taken.insert(name.lowercased())
        return (name, note)
    }

    /// A folder name that every file system takes, that no shell reads as an option and no spreadsheet as a formula.
    package static func safeName(_ wished: String) -> String {
        var name = String(
            wished.map { character in
                let allowed = character.isLetter || character.isNumber || "._-@+=".contains(character)
                return allowed ? character : "_"
            }
        )
        while let first = name.first, ".-=+@".contains(first) { name.removeFirst() }
        while name.hasSuffix(".") { name.removeLast() }
        // Devices to Windows, whatever comes after the point.
        let stem = name.prefix { $0 != "." }.lowercased()
        if devices.contains(stem) { name = "_" + name }
        // File systems count bytes: 255 at most, with room for a suffix.
        while name.utf8.count > 180 { name.removeLast() }
        return name.isEmpty ? "item" : name
    }

    private static let devices: Set<String> = Set(
        ["con", "prn", "aux", "nul"] + (0...9).flatMap { ["com\($0)", "lpt\($0)"] }
    )
}
