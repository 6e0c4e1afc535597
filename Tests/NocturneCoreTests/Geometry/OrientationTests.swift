import NocturneCore
import NocturneTestSupport
import Testing

/// The 48 ways in which index axes can lie along patient axes: the world axis of each index axis, and its sign.
let axisAlignments: [(axes: [Int], signs: [Double])] = {
    let permutations = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    return permutations.flatMap { axes in
        (0..<8).map { bits in (axes, (0..<3).map { bits >> $0 & 1 == 0 ? 1.0 : -1.0 }) }
    }
}()

private func alignedAffine(_ axes: [Int], _ signs: [Double]) -> Affine {
    let spacing = [0.7, 1.3, 2.9]
    let columns = (0..<3).map { index -> SIMD3<Double> in
        var column = SIMD3<Double>.zero
        column[axes[index]] = signs[index] * spacing[index]
        return column
    }
    return Affine(
        columnI: columns[0],
        columnJ: columns[1],
        columnK: columns[2],
        translation: SIMD3(-31, 17, 230)
    )
}

private func rotation(_ axis: SIMD3<Double>, degrees: Double) -> Affine {
    // Rodrigues' formula.
    let unit = axis / length(axis)
    let angle = degrees * Double.pi / 180
    let (c, s) = (cosine(angle), cosine(angle - Double.pi / 2))
    func turned(_ v: SIMD3<Double>) -> SIMD3<Double> {
        v * c + cross(unit, v) * s + unit * (dot(unit, v) * (1 - c))
    }
    return Affine(
        columnI: turned(SIMD3(1, 0, 0)),
        columnJ: turned(SIMD3(0, 1, 0)),
        columnK: turned(SIMD3(0, 0, 1)),
        translation: .zero
    )
}

/// By its series, so that the test needs no platform's mathematics.
private func cosine(_ x: Double) -> Double {
    var (term, sum) = (1.0, 1.0)
    for n in 1..<20 {
        term *= -x * x / Double((2 * n - 1) * 2 * n)
        sum += term
    }
    return sum
}

@Suite("AxisOrientation and VolumeGeometry")
struct OrientationTests {
    private let shape = VolumeShape(x: 4, y: 5, z: 7)

    @Test("there are 48 axis alignments, with 48 codes")
    func codes() {
        let codes = axisAlignments.map { AxisOrientation(of: alignedAffine($0.axes, $0.signs)).code }
        #expect(Set(codes).count == 48)
        for (index, alignment) in axisAlignments.enumerated() {
            let letters = (0..<3).map { axis -> Character in
                Array(alignment.signs[axis] > 0 ? "RAS" : "LPI")[alignment.axes[axis]]
            }
            #expect(codes[index] == String(letters))
        }
    }

    @Test("every aligned grid becomes RAS, and every voxel keeps its place in the patient")
    func canonical() {
        for alignment in axisAlignments {
            let stored = VolumeGeometry(shape: shape, affine: alignedAffine(alignment.axes, alignment.signs))
            let orientation = AxisOrientation(of: stored.affine)
            let canonical = orientation.geometry(from: stored)
            #expect(canonical.orientationCode == "RAS")
            #expect(canonical.shape.count == shape.count)
            #expect(canonical.affine.determinant > 0)
            #expect(AxisOrientation(of: canonical.affine).changesNothing)
            for axis in 0..<3 { #expect(canonical.affine.column(axis)[axis] > 0) }
            expectSamePlaces(orientation, stored, canonical)
        }
    }

    @Test("grids turned by less than the tie keep the code of the aligned grid", arguments: [5.0, 20, 30])
    func oblique(degrees: Double) {
        let turn = rotation(SIMD3(1, -2, 0.5), degrees: degrees)
        for alignment in axisAlignments {
            let aligned = alignedAffine(alignment.axes, alignment.signs)
            let stored = VolumeGeometry(shape: shape, affine: turn.composed(with: aligned))
            let orientation = AxisOrientation(of: stored.affine)
            #expect(orientation == AxisOrientation(of: aligned))
            expectSamePlaces(orientation, stored, orientation.geometry(from: stored))
        }
    }

    @Test("any oblique grid has one answer, with the largest cosine on the diagonal")
    func randomGrids() {
        var generator = SplitMix64(seed: 5)
        for _ in 0..<300 {
            let stored = VolumeGeometry(shape: shape, affine: randomAffine(&generator))
            let orientation = AxisOrientation(of: stored.affine)
            #expect(Set(orientation.source) == [0, 1, 2])
            let directions = stored.affine.closestRotation
            let cosines = (0..<3).map { axis in abs(directions[orientation.source[axis]][axis]) }
            let largest = directions.flatMap { [abs($0.x), abs($0.y), abs($0.z)] }.max() ?? 0
            #expect(cosines.contains { $0 >= largest - 1e-8 })
            expectSamePlaces(orientation, stored, orientation.geometry(from: stored))
        }
    }

    @Test(
        "a steep grid has the code that nibabel 5.4.2 gives it, also where another order has larger cosines in sum",
        arguments: [
            ([0.479, -0.221, 0.601], [0.691, -0.973, -0.909], [1.964, 2.127, -0.785], "SRA"),
            ([0.656, 0.154, 0.432], [-0.403, -1.056, 0.987], [-1.519, 2.052, 1.575], "RPS"),
            ([-0.442, 0.654, -0.13], [0.962, 0.44, -1.064], [-1.597, -1.489, -2.058], "AIL"),
            ([-0.411, 0.552, 0.407], [-0.906, -1.069, 0.535], [-1.827, 0.373, -2.35], "LPI"),
            ([0.175, -0.609, 0.489], [1.053, -0.469, -0.961], [2.034, 1.706, 1.397], "PRS"),
            ([-0.309, -0.605, -0.423], [0.89, -0.964, 0.727], [2.118, 0.379, -2.091], "PSR"),
            // Sheared.
            ([0.453, 0.552, 0.36], [-0.905, 1.245, 0.398], [0.029, -1.706, 2.579], "ALS"),
            ([0.547, -0.419, -0.407], [1.284, 0.905, -0.24], [-1.634, 0.388, -2.596], "RAI"),
        ] as [([Double], [Double], [Double], String)]
    )
    func steep(i: [Double], j: [Double], k: [Double], code: String) {
        let affine = Affine(columnI: SIMD3(i), columnJ: SIMD3(j), columnK: SIMD3(k), translation: .zero)
        #expect(AxisOrientation(of: affine).code == code)
    }

    @Test("directions without shear are orthogonal; those of a rotation stay, and so do those of a singular map")
    func closestRotation() {
        var generator = SplitMix64(seed: 6)
        for _ in 0..<50 {
            let directions = randomAffine(&generator).closestRotation
            for (a, b) in [(0, 1), (0, 2), (1, 2)] { #expect(abs(dot(directions[a], directions[b])) < 1e-9) }
            for direction in directions { #expect(abs(length(direction) - 1) < 1e-9) }
        }
        let turn = rotation(SIMD3(1, -2, 0.5), degrees: 20)
        for axis in 0..<3 { #expect(length(turn.closestRotation[axis] - turn.column(axis)) < 1e-12) }
        let flat = Affine(
            columnI: SIMD3(2, 0, 0),
            columnJ: SIMD3(0, 3, 0),
            columnK: SIMD3(4, 0, 0),
            translation: .zero
        )
        #expect(flat.closestRotation == [SIMD3(1, 0, 0), SIMD3(0, 1, 0), SIMD3(1, 0, 0)])
    }

    @Test("at a tie of 45 degrees the first permutation is taken")
    func tie() {
        let turn = rotation(SIMD3(0, 0, 1), degrees: 45)
        #expect(AxisOrientation(of: turn).source == [0, 1, 2])
        #expect(
            AxisOrientation(of: Affine(columnI: .zero, columnJ: .zero, columnK: .zero, translation: .zero)).source
                == [0, 1, 2]
        )
    }

    @Test("stored indices and rearranged ones pair up one to one")
    func bijection() {
        for alignment in axisAlignments {
            let orientation = AxisOrientation(of: alignedAffine(alignment.axes, alignment.signs))
            let canonical = orientation.shape(from: shape)
            var seen: Set<Int> = []
            for k in 0..<canonical.z {
                for j in 0..<canonical.y {
                    for i in 0..<canonical.x {
                        let (x, y, z) = orientation.storedIndex(of: (i, j, k), in: shape)
                        #expect(x >= 0 && x < shape.x && y >= 0 && y < shape.y && z >= 0 && z < shape.z)
                        seen.insert(shape.offset(x, y, z))
                    }
                }
            }
            #expect(seen.count == shape.count)
        }
    }

    private func expectSamePlaces(_ orientation: AxisOrientation, _ stored: VolumeGeometry, _ turned: VolumeGeometry) {
        for index in [(0, 0, 0), (1, 0, 0), (0, 2, 1), (turned.shape.x - 1, turned.shape.y - 1, turned.shape.z - 1)] {
            let source = orientation.storedIndex(of: index, in: stored.shape)
            let here = turned.affine(SIMD3(Double(index.0), Double(index.1), Double(index.2)))
            let there = stored.affine(SIMD3(Double(source.0), Double(source.1), Double(source.2)))
            #expect(length(here - there) < 1e-9)
        }
    }

    @Test("spacing and voxel volume of a sheared, left-handed grid")
    func spacing() {
        let affine = Affine(
            columnI: SIMD3(-2, 0, 0),
            columnJ: SIMD3(0, 3, 4),
            columnK: SIMD3(0, 0, 1),
            translation: .zero
        )
        let geometry = VolumeGeometry(shape: shape, affine: affine)
        #expect(geometry.spacing == SIMD3(2, 5, 1))
        #expect(geometry.voxelVolume == 6)
        #expect(affine.determinant == -6)
    }

    @Test("grids match when every corner does")
    func matches() {
        let shape = VolumeShape(x: 101, y: 5, z: 7)
        let geometry = Phantom.geometry(shape, spacing: SIMD3(0.5, 1, 2))
        #expect(geometry.matches(geometry))
        var other = geometry
        other.affine.translation.x += 0.0009
        #expect(geometry.matches(other))
        other.affine.translation.x += 0.0009
        #expect(!geometry.matches(other))
        #expect(geometry.matches(other, tolerance: 0.01))
        // A small error of spacing adds up to the far corner.
        other = geometry
        other.affine.columnI.x += 0.00002
        #expect(!geometry.matches(other))
        other = geometry
        other.shape = VolumeShape(x: 5, y: 101, z: 7)
        #expect(!geometry.matches(other))
        other = geometry
        other.affine.translation.z = .nan
        #expect(!geometry.matches(other))
    }

    @Test("a transposition names axes as NumPy does, and is refused when it is none")
    func transposing() throws {
        let stored = VolumeShape(x: 5, y: 6, z: 7)
        // (z, y, x) = (7, 6, 5) transposed by (1, 0, 2) is (6, 7, 5).
        let swapped = try #require(AxisOrientation(transposing: [1, 0, 2]))
        #expect(swapped.shape(from: stored) == VolumeShape(x: 5, y: 7, z: 6))
        // By (2, 0, 1) it is (5, 7, 6): axis 0 of the result is x.
        let turned = try #require(AxisOrientation(transposing: [2, 0, 1]))
        #expect(turned.shape(from: stored) == VolumeShape(x: 6, y: 7, z: 5))
        #expect(turned.storedIndex(of: (1, 2, 3), in: stored) == (3, 1, 2))
        #expect(AxisOrientation(transposing: [0, 1, 2]) == .stored)
        for axes in [[0, 1], [0, 0, 1], [1, 2, 3], [0, 1, 2, 3], []] {
            #expect(AxisOrientation(transposing: axes) == nil)
        }
    }

    @Test("one rearrangement after another is one rearrangement, for all pairs of the 48")
    func composition() {
        let stored = VolumeShape(x: 3, y: 4, z: 5)
        let all = axisAlignments.map { AxisOrientation(source: $0.axes, reversed: $0.signs.map { $0 < 0 }) }
        for first in all {
            let between = first.shape(from: stored)
            for second in all {
                let both = first.followed(by: second)
                let shape = both.shape(from: stored)
                #expect(shape == second.shape(from: between))
                for index in [(0, 0, 0), (shape.x - 1, 1, 2), (1, shape.y - 1, 0)] {
                    let inBetween = second.storedIndex(of: index, in: between)
                    let atOnce = both.storedIndex(of: index, in: stored)
                    #expect(atOnce == first.storedIndex(of: inBetween, in: stored))
                }
            }
        }
    }
}
