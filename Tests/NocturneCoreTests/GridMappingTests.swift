import NocturneCore
import Testing

@Suite("The same voxels in another order")
struct GridMappingTests {
    private static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    private let grid = VolumeGeometry(
        shape: VolumeShape(x: 4, y: 3, z: 5),
        affine: Affine(
            columnI: SIMD3(0.8, 0.1, 0),
            columnJ: SIMD3(-0.1, 0.8, 0.05),
            columnK: SIMD3(0, -0.2, 2.5),
            translation: SIMD3(-100, 30, 7)
        )
    )

    /// The grid with its axes in another order, some of them reversed.
    private func stored(_ order: [Int], _ reversed: [Bool]) -> VolumeGeometry {
        let counts = [grid.shape.x, grid.shape.y, grid.shape.z]
        let origin = grid.affine(.zero)
        let columns = (0..<3).map { axis -> SIMD3<Double> in
            var place = SIMD3<Double>.zero
            place[axis] = 1
            return grid.affine(place) - origin
        }
        var start = origin
        var steps: [SIMD3<Double>] = []
        for (axis, own) in order.enumerated() {
            if reversed[axis] { start += columns[own] * Double(counts[own] - 1) }
            steps.append(reversed[axis] ? -columns[own] : columns[own])
        }
        return VolumeGeometry(
            shape: VolumeShape(x: counts[order[0]], y: counts[order[1]], z: counts[order[2]]),
            affine: Affine(columnI: steps[0], columnJ: steps[1], columnK: steps[2], translation: start)
        )
    }

    @Test("All 48 orders of an oblique grid are found, and each voxel lies where it is said to", arguments: orders)
    func allOrders(order: [Int]) throws {
        for signs in 0..<8 {
            let other = stored(order, (0..<3).map { signs >> $0 & 1 == 1 })
            let mapping = try #require(GridMapping(of: other, in: grid))
            #expect(mapping.changesNothing == (order == [0, 1, 2] && signs == 0))
            for k in 0..<5 {
                for j in 0..<3 {
                    let (start, step) = mapping.row(j, k)
                    for i in 0..<4 {
                        let index = mapping.sourceIndex(i, j, k)
                        #expect(other.shape.offset(index.x, index.y, index.z) == start + i * step)
                        let there = other.affine(SIMD3(Double(index.x), Double(index.y), Double(index.z)))
                        let difference = there - grid.affine(SIMD3(Double(i), Double(j), Double(k)))
                        #expect((difference * difference).sum() < 1e-18)
                    }
                }
            }
        }
    }

    @Test("Other positions, spacings and numbers of voxels are no match, and neither is NaN")
    func others() {
        func moved(_ offset: SIMD3<Double>, _ scale: Double = 1, _ shape: VolumeShape? = nil) -> VolumeGeometry {
            let origin = grid.affine(.zero)
            return VolumeGeometry(
                shape: shape ?? grid.shape,
                affine: Affine(
                    columnI: (grid.affine(SIMD3(1, 0, 0)) - origin) * scale,
                    columnJ: grid.affine(SIMD3(0, 1, 0)) - origin,
                    columnK: grid.affine(SIMD3(0, 0, 1)) - origin,
                    translation: origin + offset
                )
            )
        }
        #expect(GridMapping(of: moved(.zero), in: grid) != nil)
        #expect(GridMapping(of: moved(SIMD3(0, 0, 0.01)), in: grid) == nil)
        #expect(GridMapping(of: moved(.zero, 1.01), in: grid) == nil)
        #expect(GridMapping(of: moved(.zero, 1, VolumeShape(x: 4, y: 3, z: 6)), in: grid) == nil)
        #expect(GridMapping(of: moved(SIMD3(.nan, 0, 0)), in: grid) == nil)
    }
}
