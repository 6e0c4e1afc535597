import Foundation
package import NocturneConcurrency
package import NocturneJournal
import NocturneOutput
package import NocturneRecipeSupport
package import NocturneReport
package import NocturneSystem

/// Inspects the results of all recipes for `nocturne verify`. Needs no model.
///
/// The `task` of a result identifies its recipe.
package struct RecipeResults: ResultInspection {
    private let registry: RecipeRegistry

    /// - Parameter registry: the kinds whose results can be inspected.
    package init(_ registry: RecipeRegistry = .current) { self.registry = registry }

    /// By the kind that the result names; an unknown task is a fault.
    package func inspect(_ item: CommittedItem, flag: CancellationFlag) throws -> ResultFindings {
        func fault(_ detail: String) -> ResultFindings {
            var findings = ResultFindings()
            findings.add("result.json", detail)
            return findings
        }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: item.result)
        } catch {
            return fault("\(error)")
        }
        // Read before the whole result, whose form depends on the kind.
        let task = document["task"]?.text
        guard let kind = kind(ofTask: task) else {
            let tasks = registry.kinds.compactMap { $0.resultTask }.joined(separator: ", ")
            return fault("unknown task \(task ?? "none"); known tasks: \(tasks)")
        }
        return try kind.result.findings(of: item, document, schema: kind.resultSchema, flag: flag)
    }

    /// The kind whose results name a task; nil where none does.
    private func kind(ofTask task: String?) -> (any RecipeKind.Type)? { registry.kinds.first { $0.resultTask == task } }

    /// What a page for reviewers shows of a result; nil for one of an unknown kind, or that cannot be read.
    package func reviewParts(of result: [UInt8]) -> ReviewParts? {
        guard let head = try? JSONDecoder().decode(Head.self, from: Data(result)) else { return nil }
        var parts = try? kind(ofTask: head.task)?.reviewParts(of: result)
        // From the result itself, since it depends on the model and not only on the kind.
        parts?.disclaimer = head.disclaimer
        return parts
    }

    /// Checks that a label map which a person has edited can take the place of the one in an item's folder.
    /// - Returns: the path of the label map that it replaces.
    /// - Throws: `BatchError` that names the file; `CancelledError`.
    package func checkEdit(_ path: String, of folder: String, scope: ComputeScope) throws -> String {
        guard FileSystem.exists(path) else {
            throw BatchError(.inputMissing, path: "", detail: "there is no file \(path). Check the path")
        }
        do {
            return try kind(of: folder).checkEdit(path, of: folder, scope: scope)
        } catch let error as LabelMapError {
            throw BatchError(
                .inputMissing,
                path: "",
                detail:
                    "\(path) cannot be adopted. \(error.detail.prefix(1).uppercased())\(error.detail.dropFirst()). Give a "
                    + "label map with the grid and the label values of the item's own label map"
            )
        }
    }

    /// Agreement of two results of one input, with the measures of `--compare`; the first is the reference. None for kinds without
    /// label maps.
    /// - Returns: the measures, or why the two cannot be compared.
    /// - Throws: `FileSystemError`, `DecodingError`, `CancelledError`, `AllocationError`.
    package func agreement(
        _ folder: String,
        _ other: String,
        scope: ComputeScope
    ) throws -> (measures: [Statistic], problem: String?) {
        do {
            let (own, second) = (try kind(of: folder), try kind(of: other))
            // Of different kinds there is nothing in common that could be compared.
            guard own.task == second.task else { throw LabelMapError(detail: "they are results of different kinds") }
            return (try own.agreement(folder, other, scope: scope), nil)
        } catch let error as LabelMapError {
            return ([], error.detail)
        }
    }

    /// The kind of the result in a folder.
    private func kind(of folder: String) throws -> any RecipeKind.Type {
        let result = try FileSystem.read(folder + "/result.json")
        let task = try JSONDecoder().decode(Head.self, from: Data(result)).task
        guard let kind = kind(ofTask: task) else {
            throw LabelMapError(detail: "the item is of a kind that this version does not know")
        }
        return kind
    }

    /// The first fault that a kind finds; nil for a file that is valid, or of no kind.
    package func inspectBatchFile(at path: String) -> String? {
        // Files of the batch do not name their kind, so every kind is asked.
        for kind in registry.kinds {
            if let fault = kind.inspectBatchFile(at: path) { return fault }
        }
        return nil
    }
}

extension RecipeResults {
    /// The key of a result that names its kind.
    private struct Head: Decodable {
        let task: String?
        let disclaimer: String?
    }
}
