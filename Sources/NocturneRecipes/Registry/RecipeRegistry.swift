package import NocturneInference
package import NocturneJournal
package import NocturneOutput
import NocturnePhotos
package import NocturneRecipeSupport
import NocturneVolumes

/// The available kinds of recipes.
///
/// To add a kind, add a folder for it and one line in ``all``.
package struct RecipeRegistry: Sendable {
    /// All kinds.
    package static let all = RecipeRegistry([
        VolumeSegmentation.self,
        PhotoClassification.self,
        PhotoInstances.self,
        PhotoSegmentation.self,
        ExistingLabels.self,
        Isosurfaces.self,
        VolumeViews.self,
    ])

    /// The registry in use; differs from ``all`` only in tests that add a kind.
    @TaskLocal package static var current = all

    /// In the order in which their recipes discover inputs.
    package let kinds: [any RecipeKind.Type]

    /// - Parameter kinds: in the order in which their recipes claim files.
    package init(_ kinds: [any RecipeKind.Type]) { self.kinds = kinds }

    /// The names of all tasks.
    package var tasks: [String] { kinds.flatMap { $0.packageTasks } }

    /// The kind that runs packages of a task; nil for an unknown task.
    package func kind(of task: String) -> (any RecipeKind.Type)? { kinds.first { $0.packageTasks.contains(task) } }

    // MARK: Packages

    /// Validates the task of a package and the task's section.
    package func validate(_ package: ModelPackage) throws(ModelPackageError) { _ = try settings(of: package) }

    /// The validated section of the package's task.
    package func settings(of package: ModelPackage) throws(ModelPackageError) -> any ModelSettings {
        let known = kinds.filter { $0.settings != nil }
        guard let settings = known.first(where: { $0.packageTasks.contains(package.task) })?.settings else {
            let tasks = known.flatMap { $0.packageTasks }.joined(separator: ", ")
            throw package.refused("task", is: package.task, not: "one of \(tasks)")
        }
        return try settings.init(package)
    }

    // MARK: Command line

    /// The sections of options of all kinds, each once.
    package var sections: [any OptionSection.Type] {
        var seen: Set<ObjectIdentifier> = []
        return kinds.flatMap { $0.sections }.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// The kinds that a batch uses.
    /// - Throws: `BatchError` for a task that no kind has; lists the known tasks.
    package func kinds(of description: BatchDescription) throws(BatchError) -> [any RecipeKind.Type] {
        for task in description.recipes where kind(of: task) == nil { throw unknownTask(task) }
        return kinds.filter { description.recipes.contains($0.task) }
    }

    /// The error for a task that no kind has; lists the known tasks.
    func unknownTask(_ task: String) -> BatchError {
        BatchError(
            .modelUnusable,
            path: "",
            detail: "unknown task \(task); known tasks: \(tasks.joined(separator: ", "))"
        )
    }

    // MARK: Results

    /// The texts that other tools may read on objects, each once.
    package var objectTexts: [String] {
        kinds.flatMap { $0.objectTexts }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Whether an item is one entry of the review queue while it has no parts.
    package func isReviewEntry(_ item: JournalItem) -> Bool { kinds.contains { $0.isReviewEntry(item) } }
}
