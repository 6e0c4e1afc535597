import Foundation
import NocturneSystem

/// What is looked at before the first item: whether it is the same batch, and how the last engine ended.
extension BatchEngine {
    /// Compares with the description of an earlier run in the same folder.
    /// - Returns: whether the batch goes on with another one.
    func agree(with journal: Journal) throws -> Bool {
        let encoded = String(decoding: try StableJSON.encodeLine(options.description), as: UTF8.self)
        if let text = try journal.setting("description"),
            let earlier = try? JSONDecoder().decode(BatchDescription.self, from: Data(text.utf8))
        {
            let differences = options.description.differences(from: earlier)
            // A batch that found nothing yet holds nothing that could be mixed up.
            let isEmpty = try journal.items().isEmpty
            guard differences.isEmpty || options.overwrite || isEmpty else {
                throw BatchError(
                    .optionsDiffer,
                    path: options.output.path,
                    detail: "this folder holds another batch: " + differences.joined(separator: "; ")
                        + ". Give --overwrite to go on with the new options, or another output folder."
                )
            }
            if text == encoded { return false }
            try journal.setSetting("description", encoded)
            return !differences.isEmpty
        }
        try journal.setSetting("description", encoded)
        return false
    }

    /// Deaths with an item in flight are that item's, and two at the same file that is looked at that file's; others, three without any work in between, end the batch.
    ///
    /// Settled before anything else is done, so that a death while inputs are looked at counts as one with none.
    func settleDeath(_ journal: Journal) async throws {
        // Marks left when supervisor and engine were killed together say nothing about the death of a later engine.
        let isOurs = try journal.setting("supervisor") == options.supervisor
        let planner = WorkPlanner(retryFailed: false, previousDeath: isOurs ? options.previousDeath : nil)
        let inFlight = planner.takenBack(try journal.items())
        try journal.takeBack(inFlight, at: Timestamp.now())
        if let supervisor = options.supervisor, !isOurs { try journal.setSetting("supervisor", supervisor) }
        let before = try journal.deathsOutsideItems()
        let isOutside = options.previousDeath != nil && (inFlight.isEmpty || !isOurs)
        let looks = isOutside ? DiscoveryTrace.left(in: options.output.looks) : []
        let deaths = isOutside ? try record(looks, journal) ? 0 : before + 1 : 0
        if deaths != before { try journal.keep(deathsOutsideItems: deaths >= 3 ? 0 : deaths) }
        guard let death = options.previousDeath else { return }
        let names = inFlight.prefix(8).map(\.name).joined(separator: ", ") + (inFlight.count > 8 ? ", ..." : "")
        let looked = looks.compactMap(\.first).prefix(4).joined(separator: ", ")
        await progress.note(
            "The engine died: \(death). In flight: \(isOutside ? "nothing" : names)."
                + (looked.isEmpty ? "" : " It may have been at: \(looked).")
        )
        guard deaths < 3 else {
            throw BatchError(
                .engineDied,
                path: options.output.path,
                detail: "the engine died three times while no item was in flight, the last time of \(death)"
            )
        }
    }

    /// A file at which two engines died is found out, which is no death of nobody.
    private func record(_ looks: [[String]], _ journal: Journal) throws -> Bool {
        guard let death = options.previousDeath, !looks.isEmpty else { return false }
        var poison = try journal.poison()
        let isFound = poison.take(looks, death: death)
        try journal.keep(poison)
        return isFound
    }
}
