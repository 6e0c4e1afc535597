package import NocturneBatch
import NocturneConcurrency
import NocturneRecipeSupport
package import NocturneSystem

extension PhotoInstances {
    /// Holds the files of a finished item against its `result.json`.
    /// - Throws: `CancelledError`.
    package static func inspect(
        _ item: CommittedItem,
        _ document: JSONValue,
        flag: CancellationFlag
    ) throws -> ResultFindings {
        try PhotoInstancesResult.findings(of: item, document, schema: PhotoSchemas.instances, flag: flag)
    }
}
