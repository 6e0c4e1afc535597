import NocturneBatch
package import NocturneInference
package import NocturneJournal
import NocturnePhotos
package import NocturneRecipeSupport
import NocturneVolumes

/// The available kinds of recipes.
///
/// To add a kind, add a folder for it and one line in ``all``.
package struct RecipeRegistry: Sendable {
    /// All kinds.
    package static let all = RecipeRegistry([
        VolumeSegmentationKind.self,
        PhotoClassificationKind.self,
        PhotoInstancesKind.self,
        PhotoSegmentationKind.self,
        ExistingLabelsKind.self,
        IsosurfacesKind.self,
    ])

    /// The registry in use; differs from ``all`` only in tests that add a kind.
    @TaskLocal package static var current = all

    /// In the order in which their recipes discover inputs.
    package let kinds: [any RecipeKind.Type]

    package init(_ kinds: [any RecipeKind.Type]) { self.kinds = kinds }

    /// The names of all tasks.
    package var tasks: [String] { kinds.flatMap { $0.packageTasks } }

    package func kind(of task: String) -> (any RecipeKind.Type)? { kinds.first { $0.packageTasks.contains(task) } }

    // MARK: Packages

    /// Validates the task of a package and the task's section.
    package func validate(_ package: ModelPackage) throws(ModelPackageError) { _ = try settings(of: package) }

    /// The validated section of the package's task.
    package func settings(of package: ModelPackage) throws(ModelPackageError) -> any ModelSettings {
        let known = kinds.filter { $0.settings != nil }
        guard let settings = known.first(where: { $0.packageTasks.contains(package.task) })?.settings else {
            let tasks = known.flatMap { $0.packageTasks }.joined(separator: ", ")
            throw package.validation.refuse("task", expected: "one of \(tasks)", found: package.task)
        }
        return try settings.init(package)
    }

    // MARK: Command line

    /// The option groups of all kinds, each once.
    package var arguments: [any RecipeArguments.Type] {
        var seen: Set<ObjectIdentifier> = []
        return kinds.flatMap { $0.arguments }.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    // MARK: Results

    /// Whether an item is one entry of the review queue while it has no parts.
    package func isReviewEntry(_ item: JournalItem) -> Bool { kinds.contains { $0.isReviewEntry(item) } }
}
