import Foundation

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

    /// Deaths with an item in flight are that item's; those with none, three in a row, end the batch.
    func refuseEndlessDeaths(_ journal: Journal) throws {
        guard let death = options.previousDeath else { return }
        let blamed = try journal.items().contains { $0.state == .started }
        let deaths = blamed ? 0 : (Int(try journal.setting("deathsOutsideItems") ?? "") ?? 0) + 1
        try journal.setSetting("deathsOutsideItems", deaths >= 3 ? "0" : "\(deaths)")
        guard deaths < 3 else {
            throw BatchError(
                .engineDied,
                path: options.output.path,
                detail: "the engine died three times while no item was in flight, the last time of \(death)"
            )
        }
    }
}
