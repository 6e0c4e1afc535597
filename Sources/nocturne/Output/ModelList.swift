import NocturneInference
import NocturneSystem

/// What `models list --json` prints.
struct ModelList: Encodable {
    struct Model: Encodable {
        let folder: String
        /// Null, as are the other members, for a package that cannot be used.
        @Nullable var id: String?
        @Nullable var name: String?
        @Nullable var version: String?
        @Nullable var task: String?
        @Nullable var licence: String?
        @Nullable var digest: String?
        /// The size of its files.
        @Nullable var bytes: Int?
        /// Why the package cannot be used; null for one that can.
        @Nullable var error: String?
    }

    /// The folders in which packages are searched for.
    let searchPath: [String]
    let models: [Model]

    init(_ catalog: ModelCatalog, _ entries: [ModelCatalog.Entry]) {
        searchPath = catalog.searchPath
        models = entries.map { entry in
            switch entry.package {
            case .success(let package):
                Model(
                    folder: entry.folder,
                    id: package.id,
                    name: package.name,
                    version: package.version,
                    task: package.task,
                    licence: package.licence,
                    digest: package.digest.hex,
                    bytes: package.totalFileBytes,
                    error: nil
                )
            case .failure(let error):
                Model(
                    folder: entry.folder,
                    id: nil,
                    name: nil,
                    version: nil,
                    task: nil,
                    licence: nil,
                    digest: nil,
                    bytes: nil,
                    error: "\(error)"
                )
            }
        }
    }
}
