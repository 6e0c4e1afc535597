import Glibc
public import NocturneConcurrency
public import NocturneCore

/// Measures regions of interest on a volume.
///
/// A voxel belongs to a region when its centre is inside the shape or on its border (up to 1e-7 mm outside). A flat
/// region on a slice is measured on that slice's own voxels; on any other plane the image is sampled trilinearly, at
/// whole steps of the stated spacing from the region's centre. Samples beyond the outermost voxel centres are omitted.
extension RegionMeasurement {
    /// Measures one region, in double precision.
    ///
    /// Time is linear in the voxels of the smallest box around the region on the grid. Extra memory:
    /// ``predictedBytes(of:in:threads:)``. The result is bit-identical for any number of threads.
    /// - Throws: `CancelledError` when the flag of `scope` is raised, which is checked for every row;
    ///   `AllocationError`. An invalid region for this grid does not throw: its status is `notMeasured`.
    public static func measure(
        _ region: RegionOfInterest,
        on image: Volume,
        scope: ComputeScope
    ) throws -> RegionMeasurement {
        var result = RegionMeasurement(name: region.name, kind: region.shape.kind, status: .complete)
        do {
            let placer = try RegionPlacer(image.geometry)
            if let placement = try placer.place(region) {
                try measure(placement, region, image, &result, scope)
            } else {
                try measureLines(region, placer, &result)
            }
        } catch let problem as RegionPlacer.Placement.Problem {
            return RegionMeasurement(
                name: region.name,
                kind: region.shape.kind,
                status: .notMeasured,
                problem: problem.detail
            )
        }
        return result
    }

    /// The memory of ``measure(_:on:scope:)`` besides the image: 4 bytes for every voxel of the smallest box around the
    /// region, or for every sample, and 4 MiB per thread.
    public static func predictedBytes(of region: RegionOfInterest, in geometry: VolumeGeometry, threads: Int) -> Int {
        guard let placement = try? RegionPlacer(geometry).place(region) else { return 0 }
        return placement.bytes(in: geometry.shape) + IntensityDistribution.predictedBytes(threads: threads)
    }

    // MARK: Lines

    private static func measureLines(
        _ region: RegionOfInterest,
        _ placer: RegionPlacer,
        _ result: inout RegionMeasurement
    ) throws(RegionPlacer.Placement.Problem) {
        switch region.shape {
        case .length(let points):
            let places = points.map { placer.point($0, region.space) }
            guard places.count > 1 else {
                throw RegionPlacer.Placement.Problem(detail: "a line has two points or more")
            }
            result.length = zip(places, places.dropFirst()).reduce(0) { $0 + NocturneCore.length($1.1 - $1.0) }
        case .angle(let a, let vertex, let b):
            let middle = placer.point(vertex, region.space)
            let (u, v) = (placer.point(a, region.space) - middle, placer.point(b, region.space) - middle)
            guard NocturneCore.length(u) > 0, NocturneCore.length(v) > 0 else {
                throw RegionPlacer.Placement.Problem(detail: "an arm of the angle has zero length")
            }
            let angle = atan2(NocturneCore.length(cross(u, v)), dot(u, v))
            result.angle = angle * 180 / Double.pi
        default: break
        }
    }

    // MARK: Areas and volumes

    private static func measure(
        _ placement: RegionPlacer.Placement,
        _ region: RegionOfInterest,
        _ image: Volume,
        _ result: inout RegionMeasurement,
        _ scope: ComputeScope
    ) throws {
        let geometry = image.geometry
        let gathered: Samples
        switch placement {
        case .samples(let samples):
            gathered = try Samples(samples, on: image, scope: scope)
            result.area = placement.size
            result.sampledArea = Double(gathered.count) * samples.spacing * samples.spacing
            result.sampleSpacing = samples.spacing
            result.status = gathered.outside == 0 ? .complete : gathered.count == 0 ? .outside : .cut
        case .grid(let grid):
            gathered = try Samples(grid, on: image, scope: scope)
            result.status = grid.status(in: geometry.shape)
            if let slice = grid.slice {
                let others = (0..<3).filter { $0 != slice.axis }.map(geometry.affine.column)
                result.area = placement.size
                result.sampledArea = Double(gathered.count) * NocturneCore.length(cross(others[0], others[1]))
                (result.sliceAxis, result.sliceIndex) = (slice.axis, slice.index)
            } else {
                var volume = placement.size
                if case .voxelBox = grid.inside { volume = volume.map { $0 * geometry.voxelVolume } }
                result.volume = volume
                result.sampledVolume = Double(gathered.count) * geometry.voxelVolume
            }
        }
        result.sampleCount = gathered.count
        result.intensity = try gathered.intensity(region.histogram, scope: scope)
    }
}
