import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

/// Grids that lie in the patient in every way a series can.
let contourGrids: [(name: String, affine: Affine)] = [
    (
        "axial",
        Affine(
            columnI: SIMD3(-0.7, 0, 0),
            columnJ: SIMD3(0, -0.9, 0),
            columnK: SIMD3(0, 0, 2.5),
            translation: SIMD3(9, 8, 7)
        )
    ),
    (
        "reversed",
        Affine(
            columnI: SIMD3(-0.7, 0, 0),
            columnJ: SIMD3(0, 0.9, 0),
            columnK: SIMD3(0, 0, -2.5),
            translation: SIMD3(9, 8, 7)
        )
    ),
    (
        "sagittal",
        Affine(
            columnI: SIMD3(0, -1.1, 0),
            columnJ: SIMD3(0, 0, -1.1),
            columnK: SIMD3(3, 0, 0),
            translation: SIMD3(-40, 8, 7)
        )
    ),
    (
        "oblique",
        Affine(
            columnI: SIMD3(0.8, 0.48, 0.36) * 0.6,
            columnJ: SIMD3(-0.6, 0.64, 0.48) * 0.8,
            columnK: SIMD3(0, -0.6, 0.8) * 4,
            translation: SIMD3(100, -50, 25)
        )
    ),
]

@Suite("Contours are traced from labels and fill the same voxels again")
struct ContourTests {
    private func noise(_ shape: VolumeShape, labels: Int, density: Double, seed: UInt64) throws -> [UInt16] {
        var random = SplitMix64(seed: seed)
        return (0..<shape.count).map { _ in
            Double(random.next() >> 11) / 0x1p53 < density ? UInt16(random.next() % UInt64(labels)) * 7 + 3 : 0
        }
    }

    private func positions(_ contours: [SliceContour], _ affine: Affine) -> [[SIMD3<Double>]] {
        contours.map { contour in contour.points.map { affine(SIMD3($0.x, $0.y, Double(contour.slice))) } }
    }

    @Test(
        "noise of any density comes back to the voxel on every grid",
        arguments: contourGrids.indices,
        [0.1, 0.5, 0.9, 1]
    )
    func roundTrip(grid: Int, density: Double) throws {
        let shape = VolumeShape(x: 23, y: 17, z: 5)
        let geometry = VolumeGeometry(shape: shape, affine: contourGrids[grid].affine)
        let voxels = try noise(shape, labels: 3, density: density, seed: 5)
        let labels = LabelVolume(geometry: geometry, voxels: try FrozenVoxels(voxels))
        let values: [UInt16] = [3, 10, 17, 99]
        let contours = try SliceContour.contours(of: values, in: labels, scope: .serial())
        #expect(contours[3].isEmpty)
        var back = try VoxelBuffer<UInt16>(count: shape.count)
        for (value, traced) in zip(values, contours) {
            let filled = try ContourRasterizer.fill(
                positions(traced, geometry.affine),
                value: value,
                into: &back,
                geometry: geometry,
                scope: .serial()
            )
            let summary = try #require(filled)
            #expect(summary.voxelCount == voxels.count { $0 == value })
            #expect(summary.notes(about: "x").isEmpty)
        }
        #expect((0..<shape.count).allSatisfy { back[$0] == voxels[$0] })
    }

    @Test("every 4-connected part is one polygon with the area of its pixels", arguments: [0.3, 0.6, 0.8])
    func parts(density: Double) throws {
        let shape = VolumeShape(x: 31, y: 29, z: 3)
        let voxels = try noise(shape, labels: 1, density: density, seed: 11)
        let labels = LabelVolume(
            geometry: VolumeGeometry(shape: shape, affine: .identity),
            voxels: try FrozenVoxels(voxels)
        )
        let contours = try SliceContour.contours(of: [3], in: labels, scope: .serial())[0]
        for k in 0..<shape.z {
            let slice = Array(voxels[k * shape.sliceCount..<(k + 1) * shape.sliceCount])
            let sizes = partSizes(slice, width: shape.x)
            let areas = contours.filter { $0.slice == k }.map { area($0.points) }
            #expect(areas.sorted() == sizes.map(Double.init).sorted())
        }
    }

    private func area(_ points: [SIMD2<Double>]) -> Double {
        zip(points, points.dropFirst() + [points[0]]).reduce(0) { $0 + $1.0.x * $1.1.y - $1.1.x * $1.0.y } / 2
    }

    private func partSizes(_ slice: [UInt16], width: Int) -> [Int] {
        var seen = slice.map { $0 == 0 }
        var sizes: [Int] = []
        for start in slice.indices where !seen[start] {
            var open = [start]
            seen[start] = true
            var size = 0
            while let here = open.popLast() {
                size += 1
                let (i, j) = (here % width, here / width)
                for (x, y) in [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
                where x >= 0 && x < width && y >= 0 && y * width < slice.count && !seen[y * width + x] {
                    seen[y * width + x] = true
                    open.append(y * width + x)
                }
            }
            sizes.append(size)
        }
        return sizes
    }

    @Test("a ring is one polygon: around, through the channel, around the hole, and back")
    func ring() throws {
        let shape = VolumeShape(x: 4, y: 3, z: 1)
        let voxels: [UInt16] = [1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0]
        let labels = LabelVolume(
            geometry: VolumeGeometry(shape: shape, affine: .identity),
            voxels: try FrozenVoxels(voxels)
        )
        let contours = try SliceContour.contours(of: [1], in: labels, scope: .serial())[0]
        let corners: [(Double, Double)] = [
            (-0.5, -0.5), (2.5, -0.5), (2.5, 2.5), (-0.5, 2.5), (-0.5, 0.5), (0.5, 0.5), (0.5, 1.5), (1.5, 1.5),
            (1.5, 0.5),
            (0.5, 0.5), (-0.5, 0.5),
        ]
        #expect(contours == [SliceContour(slice: 0, points: corners.map { SIMD2($0.0, $0.1) })])
    }

    @Test("polygons fill what the crossing rule says of every pixel centre")
    func againstReference() throws {
        let shape = VolumeShape(x: 40, y: 33, z: 1)
        let geometry = VolumeGeometry(shape: shape, affine: .identity)
        var random = SplitMix64(seed: 3)
        func number() -> Double { Double(random.next() >> 11) / 0x1p53 }
        for _ in 0..<40 {
            let polygons = (0..<3).map { _ in
                (0..<Int(3 + random.next() % 9)).map { _ in
                    SIMD3(number() * 50 - 5, number() * 43 - 5, number() * 0.2 - 0.1)
                }
            }
            var filled = try VoxelBuffer<UInt16>(count: shape.count)
            let flat = polygons.map { $0.map { SIMD3($0.x, $0.y, 0) } }
            _ = try ContourRasterizer.fill(flat, value: 1, into: &filled, geometry: geometry, scope: .serial())
            for j in 0..<shape.y {
                for i in 0..<shape.x {
                    var inside = false
                    for polygon in flat {
                        for (a, b) in zip(polygon, polygon.dropFirst() + [polygon[0]])
                        where (a.y <= Double(j)) != (b.y <= Double(j)) {
                            if a.x + (Double(j) - a.y) / (b.y - a.y) * (b.x - a.x) <= Double(i) { inside.toggle() }
                        }
                    }
                    #expect((filled[shape.offset(i, j, 0)] == 1) == inside)
                }
            }
        }
    }

    @Test("contours off the slices, tilted ones and superseded planes are omitted and counted")
    func summaries() throws {
        let shape = VolumeShape(x: 8, y: 8, z: 3)
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(SIMD3(1, 1, 2)))
        func square(_ z: Double, tilt: Double = 0) -> [SIMD3<Double>] {
            [SIMD3(1, 1, z), SIMD3(5, 1, z + tilt), SIMD3(5, 5, z + tilt), SIMD3(1, 5, z)]
        }
        var filled = try VoxelBuffer<UInt16>(count: shape.count)
        let contours = [
            square(0), square(0.6), square(2.2), square(9), square(-1.2), square(3.05, tilt: 1), [SIMD3(0, 0, 0)],
        ]
        let strict = try ContourRasterizer.fill(
            contours,
            value: 4,
            into: &filled,
            geometry: geometry,
            tolerance: 0.25,
            scope: .serial()
        )
        let summary = try #require(strict)
        #expect(summary.offSlices == 3)
        #expect(summary.tilted == 1)
        #expect(summary.supersededByNearerPlane == 0)
        #expect(summary.voxelCount == 32)
        #expect(summary.notes(about: "liver").count == 2)
        let loose = try ContourRasterizer.fill(contours, value: 4, into: &filled, geometry: geometry, scope: .serial())
        #expect(loose?.supersededByNearerPlane == 1)
        // 2.2 mm are 1.1 steps, which is the limit.
        #expect(summary.moved == 0)
        let between = try ContourRasterizer.fill(
            [square(0.1), square(2.6)],
            value: 4,
            into: &filled,
            geometry: geometry,
            scope: .serial()
        )
        #expect(between?.moved == 1)
        #expect(
            between?.notes(about: "liver").texts == [
                "liver: 1 contour between slices, put on the nearest one: up to 0.3 of the distance between slices away"
            ]
        )
    }

    @Test("nothing is filled where a single voxel has another value")
    func taken() throws {
        let shape = VolumeShape(x: 8, y: 8, z: 3)
        let geometry = VolumeGeometry(shape: shape, affine: .identity)
        let contours: [[SIMD3<Double>]] = (0..<3).map { k in
            [(0.5, 0.5), (4.5, 0.5), (4.5, 4.5), (0.5, 4.5)].map { SIMD3($0.0, $0.1, Double(k)) }
        }
        var filled = try VoxelBuffer<UInt16>(count: shape.count)
        // In the last slice, as the last voxel inside; a voxel outside does not matter.
        filled[shape.offset(4, 4, 2)] = 7
        filled[shape.offset(5, 4, 1)] = 7
        let none = try ContourRasterizer.fill(contours, value: 4, into: &filled, geometry: geometry, scope: .serial())
        let kept = (0..<shape.count).count { filled[$0] != 0 }
        #expect(none == nil && kept == 2)
        // The same value is not another one.
        filled[shape.offset(4, 4, 2)] = 4
        let all = try ContourRasterizer.fill(contours, value: 4, into: &filled, geometry: geometry, scope: .serial())
        let written = (0..<shape.count).count { filled[$0] == 4 }
        #expect(all?.voxelCount == 48 && written == 48)
    }

    @Test("slices without contours between others stay empty, are counted, and a note names the region")
    func gaps() throws {
        let shape = VolumeShape(x: 8, y: 8, z: 9)
        func summary(_ slices: [Int]) throws -> ContourRasterizer.Summary {
            var filled = try VoxelBuffer<UInt16>(count: shape.count)
            let squares: [[SIMD3<Double>]] = slices.map { k in
                [(0.5, 0.5), (4.5, 0.5), (4.5, 4.5), (0.5, 4.5)].map { SIMD3($0.0, $0.1, Double(k)) }
            }
            let made = try ContourRasterizer.fill(
                squares,
                value: 4,
                into: &filled,
                geometry: VolumeGeometry(shape: shape, affine: .identity),
                scope: .serial()
            )
            let summary = try #require(made)
            let voxels = filled.frozen()
            let drawn = (0..<shape.z).filter { k in
                (0..<shape.sliceCount).contains { voxels[k * shape.sliceCount + $0] == 4 }
            }
            #expect(drawn == slices.sorted() && summary.voxelCount == 16 * slices.count)
            return summary
        }
        for slices in [[], [3], [2, 3, 4], [4, 3]] {
            let whole = try summary(slices)
            #expect(whole.emptyBetween == 0 && whole.notes(about: "liver").isEmpty)
        }
        #expect(try summary([7, 0]).emptyBetween == 6)
        let everySecond = try summary([1, 3, 5])
        #expect(everySecond.emptyBetween == 2)
        let notes = everySecond.notes(about: "liver")
        #expect(notes.map(\.code) == ["contours.gaps"])
        #expect(notes.texts[0].hasPrefix("liver: no contour on 2 slices between its first and its last one"))
    }

    @Test("contours beyond all measure are left out and counted", arguments: [Double.nan, .infinity, 1e308, 1e12])
    func endless(_ far: Double) throws {
        let shape = VolumeShape(x: 8, y: 8, z: 3)
        var filled = try VoxelBuffer<UInt16>(count: shape.count)
        let made = try ContourRasterizer.fill(
            [
                [SIMD3(far, -far, 0), SIMD3(-far, far, 0), SIMD3(1, 1, 0)],
                [SIMD3(1, 1, far), SIMD3(5, 1, far), SIMD3(5, 5, far)],
                [SIMD3(1, 1, 1), SIMD3(5, 1, 1), SIMD3(5, 5, 1), SIMD3(1, 5, 1)],
            ],
            value: 4,
            into: &filled,
            geometry: VolumeGeometry(shape: shape, affine: .identity),
            scope: .serial()
        )
        let summary = try #require(made)
        #expect(summary.offSlices == 2 && summary.tilted == 0 && summary.voxelCount == 16)
        #expect(summary.notes(about: "liver").texts == ["liver: 2 contours omitted, not on a slice"])
    }

    @Test("the flag stops tracing and filling")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        let shape = VolumeShape(x: 2, y: 2, z: 2)
        let geometry = VolumeGeometry(shape: shape, affine: .identity)
        let labels = LabelVolume(geometry: geometry, voxels: try FrozenVoxels([UInt16](repeating: 1, count: 8)))
        #expect(throws: CancelledError.self) {
            try SliceContour.contours(of: [1], in: labels, scope: .serial(flag))
        }
        var filled = try VoxelBuffer<UInt16>(count: shape.count)
        #expect(throws: CancelledError.self) {
            try ContourRasterizer.fill(
                [[SIMD3(0, 0, 0), SIMD3(1, 0, 0), SIMD3(0, 1, 0)]],
                value: 1,
                into: &filled,
                geometry: geometry,
                scope: .serial(flag)
            )
        }
    }

    @Test("a grid made from contours alone holds them all", arguments: contourGrids.indices)
    func ownGrid(grid: Int) throws {
        let affine = contourGrids[grid].affine
        // A disc of radius 20 mm on six planes, one of which is missing.
        let row = affine.columnI / length(affine.columnI)
        let column = affine.columnJ / length(affine.columnJ)
        let normal = cross(row, column)
        let contours = [0.0, 1, 2, 4, 5].map { plane in
            (0..<90).map { step in
                let (x, y) = (Double(step) * .pi / 45).sineAndCosine
                return affine.translation + (row * x + column * y) * 20 + normal * plane * 3
            }
        }
        let geometry = try #require(VolumeGeometry(around: contours, pixel: 0.5))
        #expect(geometry.shape.z == 6)
        #expect(abs(geometry.spacing.z - 3) < 1e-6)
        var filled = try VoxelBuffer<UInt16>(count: geometry.shape.count)
        let made = try ContourRasterizer.fill(
            contours,
            value: 1,
            into: &filled,
            geometry: geometry,
            scope: .serial()
        )
        let summary = try #require(made)
        #expect(summary.emptyBetween == 1 && summary.notes(about: "disc").count == 1)
        let volume = Double(summary.voxelCount) * geometry.voxelVolume
        #expect(abs(volume / (5 * 3 * .pi * 400) - 1) < 0.01)
        #expect(VolumeGeometry(around: [[SIMD3(0, 0, 0), SIMD3(1, 1, 1)]]) == nil)
        let small = try #require(VolumeGeometry(around: contours, pixel: 0.001, limit: 100_000))
        #expect(small.shape.count <= 100_000)
    }

    @Test(
        "rounded positions do not divide the planes more finely",
        arguments: [
            // Gaps in mm, slices.
            ([Double](repeating: 3.27, count: 9) + [3.19] + [Double](repeating: 3.27, count: 16), 27),
            ([3, 3, 3.3, 3, 2.7, 3], 7), ([3, 3, 5.9, 3.1, 3], 7), ([2, 4, 4, 4], 8), ([2, 3], 4), ([5], 2),
        ]
    )
    func uneven(gaps: [Double], slices: Int) throws {
        let heights = gaps.reduce(into: [0.0]) { $0.append($0[$0.count - 1] + $1) }
        let square = [(-20.0, -20.0), (20, -20), (20, 20), (-20, 20)]
        let contours = heights.map { height in square.map { SIMD3($0.0, $0.1, height) } }
        let geometry = try #require(VolumeGeometry(around: contours))
        #expect(geometry.shape.z == slices)
        #expect(abs(geometry.spacing.z * Double(slices - 1) - heights[heights.count - 1]) < 1e-9)
    }
}

extension Double {
    /// The cosine and the sine, from their series: the tests need no library for them.
    fileprivate var sineAndCosine: (Double, Double) {
        var (cosine, sine, term) = (0.0, 0.0, 1.0)
        for order in 0..<40 {
            switch order % 4 {
            case 0: cosine += term
            case 1: sine += term
            case 2: cosine -= term
            default: sine -= term
            }
            term *= self / Double(order + 1)
        }
        return (cosine, sine)
    }
}
