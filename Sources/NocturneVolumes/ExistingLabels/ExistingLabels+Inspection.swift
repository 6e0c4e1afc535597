package import NocturneBatch
import NocturneConcurrency
import NocturneRecipeSupport
package import NocturneSystem

extension ExistingLabels {
    /// Holds the files of a finished item against its `result.json`.
    /// - Throws: `CancelledError`.
    package static func inspect(
        _ item: CommittedItem,
        _ document: JSONValue,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        try ExistingLabelsResult.findings(of: item, document, schema: VolumeSchemas.existingLabels, flag: flag)
    }
}
