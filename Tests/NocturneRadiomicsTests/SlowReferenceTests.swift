import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneRadiomics
import NocturneSystem
import NocturneTestSupport
import Testing

/// Fast algorithms against sums over all pairs.
@Suite("Radiomics against slow definitions")
struct SlowReferenceTests {
    /// A region with holes, on a grid with different distances.
    private func region(seed: UInt64, shape: VolumeShape) throws -> RadiomicsRegion {
        var random = SplitMix64(seed: seed)
        let intensities = (0..<shape.count).map { _ in Float.random(in: -100...300, using: &random) }
        let mask = (0..<shape.count).map { _ in UInt8.random(in: 0...3, using: &random) > 0 ? UInt8(1) : 0 }
        return try #require(
            RadiomicsRegion(shape: shape, spacing: SIMD3(0.8, 1, 2.5), intensities: intensities, mask: mask)
        )
    }

    @Test(
        "Moran's I and Geary's C are the sums over all pairs",
        arguments: [VolumeShape(x: 9, y: 7, z: 5), VolumeShape(x: 3, y: 11, z: 2), VolumeShape(x: 16, y: 1, z: 6)]
    )
    func autocorrelation(shape: VolumeShape) throws {
        let region = try region(seed: 51, shape: shape)
        let places = (0..<region.shape.count).filter { region.intensityMask[$0] != 0 }
        let mean = places.map { Double(region.intensities[$0]) }.reduce(0, +) / Double(places.count)
        func position(_ place: Int) -> SIMD3<Double> {
            let size = region.shape
            return SIMD3(Double(place % size.x), Double(place / size.x % size.y), Double(place / size.sliceCount))
                * region.spacing
        }
        var (weights, products, squares, variance) = (0.0, 0.0, 0.0, 0.0)
        for a in places {
            let x = Double(region.intensities[a]) - mean
            variance += x * x
            for b in places where a != b {
                let y = Double(region.intensities[b]) - mean
                let weight = 1 / length(position(a) - position(b))
                weights += weight
                products += weight * x * y
                squares += weight * (x - y) * (x - y)
            }
        }
        let count = Double(places.count)
        let found = SpatialAutocorrelation(of: region)
        #expect(isClose(found.moran, count / weights * products / variance, absolute: 1e-6))
        #expect(isClose(found.geary, (count - 1) / (2 * weights) * squares / variance, relative: 1e-6))
    }

    @Test(
        "transforms of all lengths are those of the definition",
        arguments: [1, 2, 3, 4, 5, 6, 8, 12, 15, 20, 36, 45]
    )
    func transform(length: Int) {
        var random = SplitMix64(seed: UInt64(length))
        let lanes = 3
        let count = length * lanes
        var arrays = (0..<4).map { _ in (0..<count).map { _ in Float.random(in: -1...1, using: &random) } }
        let (real, imaginary) = (arrays[0], arrays[1])
        let pointers = (0..<4).map { number in
            let pointer = UnsafeMutablePointer<Float>.allocate(capacity: count)
            pointer.initialize(from: arrays[number], count: count)
            return pointer
        }
        FourierTransform(length: length).transform(
            FourierTransform.Buffers(real: pointers[0], imaginary: pointers[1]),
            scratch: FourierTransform.Buffers(real: pointers[2], imaginary: pointers[3]),
            lanes: lanes
        )
        for number in 0..<2 { arrays[number] = (0..<count).map { pointers[number][$0] } }
        for pointer in pointers { pointer.deallocate() }
        for lane in 0..<lanes {
            for frequency in 0..<length {
                var (sumReal, sumImaginary) = (0.0, 0.0)
                for n in 0..<length {
                    let angle = -2 * Double.pi * Double(n * frequency % length) / Double(length)
                    let (a, b) = (Double(real[n * lanes + lane]), Double(imaginary[n * lanes + lane]))
                    sumReal += a * cosine(angle) - b * cosine(angle - .pi / 2)
                    sumImaginary += a * cosine(angle - .pi / 2) + b * cosine(angle)
                }
                #expect(isClose(Double(arrays[0][frequency * lanes + lane]), sumReal, absolute: 1e-5))
                #expect(isClose(Double(arrays[1][frequency * lanes + lane]), sumImaginary, absolute: 1e-5))
            }
        }
    }

    /// By its series, which needs no other module.
    private func cosine(_ angle: Double) -> Double {
        let small = angle.remainder(dividingBy: 2 * .pi)
        var (term, sum) = (1.0, 1.0)
        for degree in stride(from: 1, to: 40, by: 2) {
            term *= -small * small / Double(degree * (degree + 1))
            sum += term
        }
        return sum
    }

    @Test("the hull of random points has all of them inside, and the volume of the sum over its faces")
    func hull() {
        var random = SplitMix64(seed: 4)
        for extent in [2, 5, 40] {
            let points = (0..<200).map { _ in
                SIMD3(
                    Int.random(in: -extent...extent, using: &random),
                    Int.random(in: -extent...extent, using: &random),
                    Int.random(in: -extent...extent, using: &random)
                )
            }
            let hull = ConvexHull(of: points)
            #expect(hull.points.count - hull.faces.count / 2 == 2)
            for face in hull.faces {
                let (a, b, c) = (hull.points[face.x], hull.points[face.y], hull.points[face.z])
                let normal = cross(SIMD3<Double>(b &- a), SIMD3<Double>(c &- a))
                #expect(points.allSatisfy { dot(normal, SIMD3<Double>($0 &- a)) <= 0 })
            }
        }
    }

    @Test("the hull of a box has its volume, area and diagonal")
    func boxHull() {
        let points = (0...2).flatMap { k in (0...3).flatMap { j in (0...4).map { SIMD3($0, j, k) } } }
        let hull = ConvexHull(of: points)
        let step = SIMD3(0.5, 1, 2)
        #expect(isClose(hull.size(step: step).volume, 2 * 3 * 4, relative: 1e-12))
        #expect(isClose(hull.size(step: step).area, 2 * (2 * 3 + 3 * 4 + 2 * 4), relative: 1e-12))
        #expect(isClose(hull.diameter(step: step), (4.0 + 9 + 16).squareRoot(), relative: 1e-12))
        #expect(ConvexHull(of: points.map { SIMD3($0.x, $0.y, 0) }).faces.isEmpty)
    }

    @Test("the area of ellipsoids is that of the manual's series")
    func ellipsoids() {
        #expect(isClose(Ellipsoid(halfAxes: SIMD3(2, 2, 2)).area, 16 * .pi, relative: 1e-12))
        // With b = c all polynomials are 1, and the series is (1 - x artanh x + artanh x / x) / 2 with x² = 3/4.
        #expect(isClose(Ellipsoid(halfAxes: SIMD3(2, 1, 1)).area, 17.3439, relative: 1e-4))
        let nearly = Ellipsoid(halfAxes: SIMD3(1, 1 - 1e-9, 0.5)).area
        #expect(isClose(nearly, Ellipsoid(halfAxes: SIMD3(1, 1, 0.5)).area, relative: 1e-6))
        #expect(Ellipsoid(halfAxes: SIMD3(2, 1, 0)).area.isNaN)
    }

    @Test("zones are those of a flood fill", arguments: [true, false])
    func zones(inSpace: Bool) throws {
        var random = SplitMix64(seed: 9)
        let shape = VolumeShape(x: 9, y: 8, z: 6)
        let intensities = (0..<shape.count).map { _ in Float(Int.random(in: 1...2, using: &random)) }
        let mask = (0..<shape.count).map { _ in UInt8.random(in: 0...3, using: &random) > 0 ? UInt8(1) : 0 }
        let region = try #require(
            RadiomicsRegion(shape: shape, spacing: SIMD3(1, 1, 1), intensities: intensities, mask: mask)
        )
        let grid = try LevelGrid(of: region, RadiomicsSettings.Discretisation(method: .identity))
        let slices = inSpace ? [grid.slices] : grid.slices.map { $0..<$0 + 1 }
        let found = try slices.flatMap { try grid.zones(in: $0, CancellationFlag()).components }
        #expect(
            found.map { [Int($0.value), $0.voxelCount] }.sorted(by: lexicographic)
                == flooded(grid, inSpace).sorted(by: lexicographic)
        )
    }

    private func lexicographic(_ a: [Int], _ b: [Int]) -> Bool { a.lexicographicallyPrecedes(b) }

    private func flooded(_ grid: LevelGrid, _ inSpace: Bool) -> [[Int]] {
        var levels = grid.levels
        let steps = LevelGrid.offsets(within: 1, inSpace: inSpace).map(grid.step)
        var zones: [[Int]] = []
        for start in levels.indices where levels[start] != 0 {
            let level = levels[start]
            var stack = [start]
            levels[start] = 0
            var size = 0
            while let place = stack.popLast() {
                size += 1
                for step in steps where levels[place + step] == level {
                    levels[place + step] = 0
                    stack.append(place + step)
                }
            }
            zones.append([Int(level), size])
        }
        return zones
    }

    @Test("values are sorted like the standard library's")
    func sorting() {
        var random = SplitMix64(seed: 2)
        let values = (0..<3000).map { _ in Float.random(in: -1e6...1e6, using: &random) } + [0, -0.0, 1e-30, -1e-30]
        #expect(RankedValues(values).sorted == values.sorted())
    }

    @Test("values do not depend on the number of threads")
    func threads() throws {
        let region = try region(seed: 7, shape: VolumeShape(x: 14, y: 12, z: 10))
        var settings = RadiomicsSettings()
        settings.texture.aggregations = Aggregation.allCases
        let serial = try Radiomics.values(of: region, settings: settings, scope: .serial())
        let pool = try ComputePool(width: 4)
        defer { pool.shutdown() }
        let parallel = try Radiomics.values(
            of: region,
            settings: settings,
            scope: ComputeScope(pool: pool, flag: CancellationFlag())
        )
        #expect(parallel == serial)
    }
}
