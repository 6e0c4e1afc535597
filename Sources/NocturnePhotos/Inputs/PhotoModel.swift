import ArgumentParser
package import NocturneBatch
package import NocturneConcurrency
package import NocturneFormats
package import NocturneInference
package import NocturneJournal
package import NocturneRecipeSupport
import NocturneSystem

/// A package with its networks in memory, as the recipes for photos share it.
package protocol PhotoModel: Sendable {
    /// The package that the networks come from, and the engine that runs them.
    var chosen: ChosenModel { get }
    /// The minimum length of a photo's shorter side, in pixels.
    var minimumSide: Int { get }
    /// In memory.
    var networks: [any LoadedNetwork] { get }
    /// Bytes held while the model is in use: weights, and a workspace for the largest input.
    func residentBytes(threads: Int) throws -> Int
    /// How many threads each of several equal processes uses well, if they share the cores.
    func threadsOfProcess(cores: Int) throws -> Int
}

extension PhotoModel {
    /// The package that the networks come from.
    package var package: ModelPackage { chosen.package }
}

extension ChosenModel {
    /// Package digest, engine, precision: what results depend on besides the photo.
    var fingerprintParts: [String] { [package.digest.hex, engine.identity, precision.rawValue] }

    /// A network of the package.
    func load(_ file: String) throws -> any LoadedNetwork {
        try engine.load(onnx: package.path(of: file), precision: precision)
    }

    /// What runs a network from now on.
    func engineInUse(_ network: any LoadedNetwork) -> EngineInUse {
        EngineInUse(network, name: engine.name, precision: precision)
    }

    /// - Parameter detail: the fact, without the package's name.
    func unusable(_ detail: String) -> UnusablePackageError {
        UnusablePackageError(package: package.id, detail: detail)
    }
}

/// A recipe that applies models to photos.
package protocol PhotoRecipe: Recipe {
    associatedtype Model: PhotoModel
    associatedtype Options: RecipeOptions

    /// Those of the run, in the order in which they were named.
    var models: [Model] { get }
    /// Those of the batch.
    var options: Options { get }
    /// Larger photos are reduced, or refused.
    var limits: PhotoLimits { get }
    /// What results depend on besides photo, model and options.
    var fingerprintParts: [String] { get }
    /// Bytes held while any of the models is in use.
    func otherBytes(threads: Int) throws -> Int
}

extension PhotoRecipe {
    /// Nothing.
    package var fingerprintParts: [String] { [] }

    /// The model that an item was found for.
    /// - Throws: ``UnusablePackageError`` for a model of another run.
    func model(_ id: String) throws(UnusablePackageError) -> Model { try models.ofPackage(id, \.package) }

    /// None.
    package func otherBytes(threads: Int) throws -> Int { 0 }

    /// The bytes of all models. Weights as they were read stay in memory where networks keep them.
    package func sharedMemory(threads: Int) throws -> SharedMemory {
        var shared = SharedMemory(bytes: try otherBytes(threads: threads))
        for model in models {
            let bytes = try model.residentBytes(threads: threads)
            shared.bytes += bytes
            shared.ofModels[model.package.id] = model.networks.reduce(bytes) { $0 - $1.weightBytes + $1.packedBytes }
        }
        return shared
    }

    /// Drops the plans of its networks.
    package func release(model id: String) {
        for model in models where model.package.id == id { model.networks.forEach { $0.dropPlans() } }
    }

    /// The mean over all models; 0 without one.
    func mean(_ seconds: (Model) throws -> Double) rethrows -> Double {
        let total = try models.reduce(0) { $0 + (try seconds($1)) }
        return models.isEmpty ? 0 : total / Double(models.count)
    }

    /// As many as the model uses that uses the fewest.
    package func threadsOfProcess(cores: Int) throws -> Int {
        try models.map { try $0.threadsOfProcess(cores: cores) }.min() ?? cores
    }
}

extension RecipeKind where Self: PhotoRecipe {
    /// Every photo is one.
    package static func isReviewEntry(_ item: JournalItem) -> Bool { PhotoDiscovery.isPhoto(key: item.key) }
}

extension PhotoRecipe where Source == PhotoRecord {
    /// Every photo, for every model.
    package func claims(
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) throws -> any InputClaims {
        let readers = models.map { PhotoDiscovery.Reader($0, options, fingerprintParts) }
        return PhotoDiscovery(request, limits: limits, readers: readers, scope: scope)
    }

    /// Decodes the whole photo.
    func load(_ record: PhotoRecord, _ item: RecipeItem, _ context: StageContext) throws -> LoadedPhoto {
        LoadedPhoto(record: record, photo: try record.read(limits, flag: context.scope.flag))
    }
}

/// For each network the session of the last input shape: the photos of one camera have one shape. They never run at the same
/// time, and share the memory for activations, which grows to that of the largest: text has many shapes, and memory that is
/// mapped again for each costs more than some of the networks. The inference stage owns them.
package final class PhotoSessions {
    private struct CachedSession {
        let shape: [Int]
        let width: Int
        let session: NetworkSession
    }

    private var cached: [String: CachedSession] = [:]
    private let memory = SessionMemory()
    private var others: [PhotoSessions] = []

    /// As many sets of sessions, this one and others, for inferences that run at the same time.
    func lanes(_ count: Int) -> [PhotoSessions] {
        while others.count + 1 < count { others.append(PhotoSessions()) }
        return [self] + others.prefix(count - 1)
    }

    /// - Parameters:
    ///   - network: names it among those of all models.
    ///   - width: the number of threads that run it.
    func session(of network: String, shape: [Int], width: Int, _ make: (SessionMemory) throws -> NetworkSession)
        throws -> NetworkSession
    {
        if let cached = cached[network], cached.shape == shape, cached.width >= width { return cached.session }
        // The previous session is freed first, so there is never more than one of a network.
        cached[network] = nil
        let session = try make(memory)
        cached[network] = CachedSession(shape: shape, width: width, session: session)
        return session
    }
}

/// Options for the overlay of a photo, for all recipes that draw one.
package struct PhotoOverlayOptions: OptionSection {
    /// The heading of the section in help.
    package static let title = "Pictures of photos"

    /// The longest side, in pixels.
    package var side = 1600

    /// Large enough to see something, small enough to be planned for.
    package static let sides = 64...8192

    /// The option with its help.
    package static let options: [Entry] = [
        Entry("overlay-size", \.side, ArgumentHelp("Longest side of the overlay in pixels.", valueName: "pixels"))
    ]

    /// 1,600 pixels.
    package init() {}

    /// The side must be one of ``sides``.
    package func check() throws {
        guard Self.sides.contains(side) else {
            throw ValidationError("--overlay-size takes 64 to 8192 pixels, not \(side).")
        }
    }
}
