import Foundation
package import NocturneBatch
package import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneMesh
import NocturnePostprocess
package import NocturneRecipeSupport
package import NocturneSystem

/// Makes the surfaces where the intensity of a volume has given values, with measurements and pictures.
///
/// Runs no network and has no model: what lies inside a surface is unknown. Discovery and loading are here, the other
/// stages in ``Isosurfaces/finish(_:_:_:)`` and below.
package struct Isosurfaces: Recipe {
    package let options: IsosurfaceOptions

    /// - Parameter options: checked by ``IsosurfaceOptions/check()``.
    package init(options: IsosurfaceOptions) { self.options = options }

    // MARK: Discovery and planning

    /// Every volume is an item; single slices are set aside.
    package func claims(
        _ request: DiscoveryRequest,
        _ files: InputFiles,
        scope: ComputeScope
    ) throws -> any InputClaims {
        var reading = SegmentationOptions()
        reading.inputs = options.inputs
        return VolumeDiscovery(
            VolumeFinder([], reading, request, files, scope: scope),
            [VolumeKind(id: Self.task, version: "nocturne isosurfaces 1", options: options)]
        )
    }

    /// - Parameter lean: ignored; there is only one way.
    package func plan(_ source: VolumeSource, threads: Int, lean: Bool) throws -> ItemPlan {
        let shape = source.geometry.shape
        let limit = Self.triangleLimit(of: shape)
        // A quarter of the limit for each surface, of 50 bytes a triangle as in STL. What results really take replaces the
        // prediction after a few items.
        let meshBytes = options.surfaces.meshes == .none ? 0 : options.values.count * limit / 4 * 50
        return ItemPlan(
            buffers: [
                PlannedBuffer("source voxels", bytes: shape.count * 4, from: .load, through: .render),
                PlannedBuffer("slices before resampling", bytes: (source.storedVoxels ?? 0) * 4, in: .load),
                PlannedBuffer("decoder", bytes: source.decoderBytes * threads, in: .load),
                PlannedBuffer("labels", bytes: shape.count * 2, in: .finish),
                PlannedBuffer("measuring", bytes: LabelMeasurement.predictedBytes(threads: threads), in: .finish),
                PlannedBuffer(
                    "surface",
                    bytes: IsosurfaceExtractor.predictedBytes(shape, triangles: limit),
                    in: .render
                ),
            ] + options.pictures.buffers(shape, hasRegions: false, threads: threads),
            steps: 1,
            isLean: lean,
            diskBytes: (1 << 20) + meshBytes + options.pictures.diskBytes(shape)
        )
    }

    /// The most triangles of one surface.
    ///
    /// A body's skin has about 8 triangles for every voxel of the grid's mean cross-section, bones of a CT four times
    /// as many; noise has several for every voxel of the volume. Small volumes are not limited.
    static func triangleLimit(of shape: VolumeShape) -> Int {
        let allowed = min(max(64 * VolumeMemory.section(shape), 1 << 20), 1 << 26)
        return min(allowed, IsosurfaceExtractor.triangleBound(of: shape))
    }

    /// Nothing is prepared or inferred.
    package func stages(_ start: StageBuilder<VolumeSource>) -> RecipeStages<VolumeSource> {
        start.load(load).finish(finish).render(render).write(write)
    }

    // MARK: Loading

    func load(_ source: VolumeSource, _ item: RecipeItem, _ context: StageContext) throws -> LoadedVolume {
        try VolumeLoader(source: source, path: item.path, scope: context.scope).load()
            .noting(notFinite: "NaN counts as below every value")
    }
}

/// Isosurfaces of volumes as items: the entry in the registry.
extension Isosurfaces: RecipeKind {
    /// Also stands for the id of a model in events, reports and `--only`.
    package static let task = "isosurface"
    package static let purpose = "make isosurfaces"
    package static let enablingOption: String? = IsosurfaceOptions.enabling
    /// `Schemas/isosurface-result.schema.json`.
    package static let resultSchema = JSONSchema(own: PackageResources.isosurface_result_schema_json)
    package static var result: any InspectableResult.Type { IsosurfacesResult.self }

    /// - Parameter models: none, since no network runs.
    package static func make(_ models: [ChosenModel], options: IsosurfaceOptions) throws -> any Recipe {
        Isosurfaces(options: options)
    }

    /// The pictures, and the inside of each surface as a label.
    package static func reviewParts(of result: [UInt8]) throws -> ReviewParts {
        let result = try JSONDecoder().decode(IsosurfacesResult.self, from: Data(result))
        var parts = ReviewParts(
            volumeWith: result.files,
            options: result.options,
            titles: IsosurfacesResult.pictureTitles
        )
        parts.labels = IsosurfacesResult.reviewLabels(result.surfaces)
        return parts
    }
}
