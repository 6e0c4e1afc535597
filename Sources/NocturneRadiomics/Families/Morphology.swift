import Glibc
internal import NocturneCore
internal import NocturneMesh
internal import NocturneSystem

private typealias Shape = FeatureDefinition<ShapeMeasures>

private let shapes: [Shape] = [
    Shape("morph_volume", "RNU0", "Volume (mesh)") { $0.volume },
    Shape("morph_vol_approx", "YEKZ", "Volume (voxel counting)") { $0.voxelVolume },
    Shape("morph_area_mesh", "C0JK", "Surface area (mesh)") { $0.area },
    Shape("morph_av", "2PR5", "Surface to volume ratio") { $0.area / $0.volume },
    Shape("morph_comp_1", "SKGS", "Compactness 1") {
        $0.volume / (Double.pi.squareRoot() * $0.area * $0.area.squareRoot())
    },
    Shape("morph_comp_2", "BQWJ", "Compactness 2") { 1 / $0.cubedDisproportion },
    Shape("morph_sph_dispr", "KRCK", "Spherical disproportion") { cbrt($0.cubedDisproportion) },
    Shape("morph_sphericity", "QCFX", "Sphericity") { 1 / cbrt($0.cubedDisproportion) },
    Shape("morph_asphericity", "25C7", "Asphericity") { cbrt($0.cubedDisproportion) - 1 },
    Shape("morph_diam", "L0JK", "Maximum 3D diameter") { $0.diameter },
    Shape("morph_pca_maj_axis", "TDIC", "Major axis length") { 2 * $0.ellipsoid.halfAxes.x },
    Shape("morph_pca_min_axis", "P9VJ", "Minor axis length") { 2 * $0.ellipsoid.halfAxes.y },
    Shape("morph_pca_least_axis", "7J51", "Least axis length") { 2 * $0.ellipsoid.halfAxes.z },
    Shape("morph_pca_elongation", "Q3CK", "Elongation") { $0.ellipsoid.halfAxes.y / $0.ellipsoid.halfAxes.x },
    Shape("morph_pca_flatness", "N17B", "Flatness") { $0.ellipsoid.halfAxes.z / $0.ellipsoid.halfAxes.x },
    Shape("morph_vol_dens_aabb", "PBX1", "Volume density (axis-aligned bounding box)") {
        $0.volume / $0.box.volume
    },
    Shape("morph_area_dens_aabb", "R59B", "Area density (axis-aligned bounding box)") { $0.area / $0.box.area },
    Shape("morph_vol_dens_aee", "6BDE", "Volume density (approximate enclosing ellipsoid)") {
        $0.volume / $0.ellipsoid.volume
    },
    Shape("morph_area_dens_aee", "RDD2", "Area density (approximate enclosing ellipsoid)") {
        $0.area / $0.ellipsoid.area
    },
    Shape("morph_vol_dens_conv_hull", "R3ER", "Volume density (convex hull)") { $0.volume / $0.hull.volume },
    Shape("morph_area_dens_conv_hull", "7T7F", "Area density (convex hull)") { $0.area / $0.hull.area },
]

private typealias Spatial = FeatureDefinition<SpatialMeasures>

private let distributions: [Spatial] = [
    Spatial("morph_com", "KLMA", "Centre of mass shift") { $0.centreShift },
    Spatial("morph_integ_int", "99N0", "Integrated intensity") { $0.integratedIntensity },
    Spatial("morph_moran_i", "N365", "Moran's I index") { $0.correlation.moran },
    Spatial("morph_geary_c", "NPT7", "Geary's C measure") { $0.correlation.geary },
]

extension FeatureFamily {
    /// The shape of the region (section 3.1, HCUG).
    static let shape = FeatureFamily(.morphology, shapes) { ShapeMeasures($0.region) }

    /// How intensities are distributed in the region (also section 3.1).
    static let spatialDistribution = FeatureFamily(.spatialDistribution, distributions) {
        source throws(FeatureAbsence) in
        SpatialMeasures(try source.intensities(), source.flag)
    }
}

/// The sizes of the region's surface and of shapes around it.
struct ShapeMeasures: Sendable {
    /// Within the surface, in mm³.
    let volume: Double
    /// Of the surface, in mm².
    let area: Double
    /// Of all voxels, in mm³.
    let voxelVolume: Double
    /// Around the surface, along the axes of the grid; in mm³ and mm².
    let box: (volume: Double, area: Double)
    /// Around the surface; in mm³ and mm².
    let hull: (volume: Double, area: Double)
    /// The largest distance of two points of the surface, in mm.
    let diameter: Double
    /// Half axes are twice the standard deviations of the positions of voxels.
    let ellipsoid: Ellipsoid

    init(_ region: RadiomicsRegion) {
        // Of the morphological mask: re-segmentation removes voxels from the intensities, not from the shape.
        let surface = VoxelSurfaceMeasures(of: region.morphology, shape: region.shape, spacing: region.spacing)
        volume = surface.volume
        area = surface.area
        voxelVolume = region.voxelVolume * region.morphology.reduce(0) { $0 + Double($1) }
        let step = region.spacing / 2
        // In half steps all points are integers, which the hull needs to be exact.
        let points = region.surfaceExtremes()
        var (lower, upper) = (SIMD3(Int.max, Int.max, Int.max), SIMD3(Int.min, Int.min, Int.min))
        for point in points {
            lower = pointwiseMin(lower, point)
            upper = pointwiseMax(upper, point)
        }
        let sides = SIMD3<Double>(upper &- lower) * step
        box = (sides.x * sides.y * sides.z, 2 * (sides.x * sides.y + sides.y * sides.z + sides.x * sides.z))
        let convex = ConvexHull(of: points)
        hull = convex.size(step: step)
        diameter = convex.diameter(step: step)
        let axes = PrincipalAxes(of: region.morphology, shape: region.shape, spacing: region.spacing)
        ellipsoid = Ellipsoid(halfAxes: 2 * axes.variances.squareRoot())
    }

    /// The cube of the surface's area over that of a sphere with the same volume.
    var cubedDisproportion: Double { area * area * area / (36 * .pi * volume * volume) }
}

/// Where intensities are in the region.
struct SpatialMeasures: Sendable {
    /// The distance in mm between the centre of the region and that of its intensities.
    let centreShift: Double
    /// The mean intensity times the volume of the surface, in the unit of the intensities times mm³.
    let integratedIntensity: Double
    let correlation: SpatialAutocorrelation

    /// - Parameter region: intensities are finite, and one counts.
    init(_ region: RadiomicsRegion, _ flag: CancellationFlag) {
        var (count, sum, weighted) = (0.0, 0.0, SIMD3<Double>.zero)
        for k in 0..<region.shape.z {
            for j in 0..<region.shape.y {
                let first = region.shape.offset(0, j, k)
                // Row by row: y and z are the same for all voxels of a row, and few products are needed.
                var (row, moment) = (0.0, 0.0)
                for i in 0..<region.shape.x where region.intensityMask[first + i] != 0 {
                    row += Double(region.intensities[first + i])
                    moment += Double(region.intensities[first + i]) * Double(i)
                    count += 1
                }
                sum += row
                weighted += SIMD3(moment, row * Double(j), row * Double(k))
            }
        }
        let axes = PrincipalAxes(of: region.morphology, shape: region.shape, spacing: region.spacing)
        centreShift = length(weighted / sum * region.spacing - axes.centre)
        let surface = VoxelSurfaceMeasures(of: region.morphology, shape: region.shape, spacing: region.spacing)
        integratedIntensity = sum / count * surface.volume
        correlation = SpatialAutocorrelation(of: region, flag: flag)
    }
}

extension RadiomicsRegion {
    /// The outermost points of the surface, in half steps between voxels: half a step beyond the first and the last voxel of
    /// every row along each axis. The other points lie between two of these.
    fileprivate func surfaceExtremes() -> [SIMD3<Int>] {
        var points: [SIMD3<Int>] = []
        let steps = [1, shape.x, shape.sliceCount]
        for axis in 0..<3 {
            // The other two axes: every row along the axis is at one pair of their indices.
            let (u, v) = ((axis + 1) % 3, (axis + 2) % 3)
            var along = SIMD3(0, 0, 0)
            along[axis] = 1
            for a in 0..<shape[u] {
                for b in 0..<shape[v] {
                    let start = a * steps[u] + b * steps[v]
                    var first = 0
                    while first < shape[axis], morphology[start + first * steps[axis]] == 0 { first += 1 }
                    guard first < shape[axis] else { continue }
                    var last = shape[axis] - 1
                    while morphology[start + last * steps[axis]] == 0 { last -= 1 }
                    var point = SIMD3(0, 0, 0)
                    (point[u], point[v]) = (2 * a, 2 * b)
                    points.append(point &+ (2 * first - 1) &* along)
                    points.append(point &+ (2 * last + 1) &* along)
                }
            }
        }
        return points
    }
}
