package import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturnePhotos
import NocturneRecipeSupport
package import NocturneSystem

/// Inspects the results of all recipes for `nocturne verify`. Needs no model.
///
/// The `task` of a result identifies its recipe.
package struct RecipeResults: ResultInspection {
    private let registry: RecipeRegistry

    package init(_ registry: RecipeRegistry = .current) { self.registry = registry }

    package func inspect(_ item: CommittedItem, flag: CancellationFlag) throws -> ResultFindings {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: item.result)
        } catch {
            var findings = ResultFindings()
            findings.add("result.json", "\(error)")
            return findings
        }
        let task = document["task"]?.text
        guard let kind = registry.kinds.first(where: { $0.resultTask == task }) else {
            let tasks = registry.kinds.compactMap { $0.resultTask }.joined(separator: ", ")
            var findings = ResultFindings()
            findings.add("result.json", "unknown task \(task ?? "none"); known tasks: \(tasks)")
            return findings
        }
        return try kind.inspect(item, document, flag: flag)
    }

    package func inspectBatchFile(at path: String) -> String? {
        for kind in registry.kinds {
            if let fault = kind.inspectBatchFile(at: path) { return fault }
        }
        return nil
    }
}
