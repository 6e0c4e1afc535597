import Foundation
public import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturnePhotos
import NocturneRecipeSupport
public import NocturneSystem
import NocturneVolumes

/// Looks into the results of all recipes: `nocturne verify`. No model is needed.
///
/// Which recipe made a result is told by its `task`; that of a segmented volume has none.
public struct RecipeResults: ResultInspection {
    public init() {}

    public func inspect(_ item: CommittedItem, flag: CancellationFlag) throws -> ResultFindings {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: item.result)
        } catch {
            var findings = ResultFindings()
            findings.add("result.json", "\(error)")
            return findings
        }
        switch document["task"]?.text {
        case nil: return try VolumeSegmentation.inspect(item, document, flag: flag)
        case ExistingLabels.model:
            return try ExistingLabels.inspect(item, document, flag: flag)
        case ModelTask.photoClassification.rawValue:
            return try PhotoClassification.inspect(item, document, flag: flag)
        case ModelTask.photoInstances.rawValue:
            return try PhotoInstances.inspect(item, document, flag: flag)
        case let task?:
            var findings = ResultFindings()
            findings.add("result.json", "no recipe writes results of the task \(task)")
            return findings
        }
    }

    public func inspectBatchFile(at path: String) -> String? {
        path.hasSuffix(".pdf") ? PDFCheck.fault(at: path) : nil
    }
}
