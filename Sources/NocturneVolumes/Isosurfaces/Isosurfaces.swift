public import NocturneBatch
public import NocturneConcurrency
import NocturneCore
public import NocturneJournal
import NocturneRecipeSupport

/// Makes the surfaces where the intensity of a volume has given values, with measurements and pictures.
///
/// Runs no network and has no model: nothing says what lies inside a surface. Discovery and loading are here, the other
/// stages in ``Isosurfaces/finish(_:_:_:)`` and below.
public struct Isosurfaces: Recipe {
    /// Used instead of a model id: in events, reports and `--only`.
    public static let model = "isosurface"

    package let options: IsosurfaceOptions

    public init(options: IsosurfaceOptions) { self.options = options }

    // MARK: Discovery and planning

    public func discover(_ request: DiscoveryRequest, scope: ComputeScope) throws -> Discovery {
        try IsosurfaceDiscovery(options: options, scope: scope).run(request)
    }

    public func sharedBytes(threads: Int) throws -> Int { 0 }

    public func plan(_ source: VolumeSource, threads: Int, lean: Bool) throws -> ItemPlan {
        IsosurfaceMemory(source: source, options: options).plan(threads: threads, lean: lean)
    }

    /// Nothing is prepared or inferred.
    public func stages(_ start: StageBuilder<VolumeSource>) -> RecipeStages<VolumeSource> {
        start.load(load).finish(finish).render(render).write(write)
    }

    /// There is no inference.
    public func secondsPerStep(scope: ComputeScope) throws -> Double { 0 }

    // MARK: Loading, recognizing results

    /// A decoded volume on its stored grid.
    public struct LoadedIntensities: Sendable {
        let source: VolumeSource
        let volume: Volume
        let notes: [String]
    }

    func load(_ source: VolumeSource, _ item: RecipeItem, _ context: StageContext) throws -> LoadedIntensities {
        let read = try VolumeLoader(source: source, path: item.path, scope: context.scope).load()
        var notes = read.notes
        if let (_, count) = read.nonFinite {
            notes.append("\(count) voxels are NaN or infinite; NaN counts as below every value")
        }
        return LoadedIntensities(source: source, volume: read.channels[0], notes: notes)
    }

    /// There is no inference.
    public func keepsInference(_ source: VolumeSource, of folder: String) throws -> Bool { true }

    public func recognize(folder: String, fingerprint: String) throws -> ItemProduct? {
        try IsosurfacesResult.recognize(folder: folder, fingerprint: fingerprint)
    }
}
