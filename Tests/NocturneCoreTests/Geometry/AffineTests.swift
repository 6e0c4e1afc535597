import NocturneCore
import NocturneTestSupport
import Testing

/// A random map that is well away from singular: a rotation-like matrix with spacings and a little shear.
func randomAffine(_ generator: inout SplitMix64) -> Affine {
    func vector(_ generator: inout SplitMix64) -> SIMD3<Double> {
        SIMD3(generator.unit() * 2 - 1, generator.unit() * 2 - 1, generator.unit() * 2 - 1)
    }
    while true {
        let affine = Affine(
            columnI: vector(&generator),
            columnJ: vector(&generator),
            columnK: vector(&generator),
            translation: 500 * vector(&generator)
        )
        if abs(affine.determinant) > 0.1 { return affine }
    }
}

@Suite("Affine")
struct AffineTests {
    @Test("the inverse undoes the map, both ways round")
    func inverse() throws {
        var generator = SplitMix64(seed: 1)
        for _ in 0..<500 {
            let affine = randomAffine(&generator)
            let inverse = try #require(affine.inverse)
            let index = SIMD3(generator.unit() * 512, generator.unit() * 512, generator.unit() * 300)
            #expect(length(inverse(affine(index)) - index) < 1e-8)
            #expect(length(affine(inverse(index)) - index) < 1e-8)
            #expect(isClose(inverse.determinant, 1 / affine.determinant, relative: 1e-9))
        }
    }

    @Test("a singular or infinite map has no inverse")
    func noInverse() {
        var affine = Affine.identity
        affine.columnK = .zero
        #expect(affine.inverse == nil)
        affine.columnK = affine.columnJ
        #expect(affine.inverse == nil)
        affine.columnK = SIMD3(.nan, 0, 1)
        #expect(affine.inverse == nil)
        #expect(!affine.isFinite)
        affine.columnK = SIMD3(0, 0, .infinity)
        #expect(affine.inverse == nil)
        #expect(Affine.identity.isFinite)
    }

    @Test("a composition applies the inner map first")
    func composition() {
        var generator = SplitMix64(seed: 2)
        for _ in 0..<100 {
            let (outer, inner) = (randomAffine(&generator), randomAffine(&generator))
            let point = SIMD3(generator.unit(), generator.unit(), generator.unit())
            let composed = outer.composed(with: inner)
            #expect(length(composed(point) - outer(inner(point))) < 1e-9)
            #expect(length(composed.linear(point) - outer.linear(inner.linear(point))) < 1e-9)
            #expect(isClose(composed.determinant, outer.determinant * inner.determinant, absolute: 1e-9))
        }
        let affine = randomAffine(&generator)
        #expect(affine.composed(with: .identity) == affine)
        #expect(Affine.identity.composed(with: affine) == affine)
    }

    @Test("rows come back as they went in")
    func rows() {
        var generator = SplitMix64(seed: 3)
        let affine = randomAffine(&generator)
        #expect(Affine(rows: affine.rows) == affine)
        #expect(affine.rows[3] == [0, 0, 0, 1])
        #expect((0..<3).map { affine.rows[$0][3] } == (0..<3).map { affine.translation[$0] })
        #expect(affine.column(0) == affine.columnI && affine.column(2) == affine.columnK)
    }

    @Test("the step from RAS to LPS negates x and y, and is its own inverse")
    func lps() {
        var generator = SplitMix64(seed: 4)
        let affine = randomAffine(&generator)
        let flipped = affine.flippedBetweenRASAndLPS
        let point = SIMD3<Double>(3, 4, 5)
        #expect(length(flipped(point) - affine(point) * SIMD3(-1, -1, 1)) < 1e-9)
        #expect(flipped.flippedBetweenRASAndLPS == affine)
        #expect(isClose(flipped.determinant, affine.determinant, relative: 1e-12))
    }

    @Test("vector products follow the right hand")
    func vectors() {
        #expect(cross(SIMD3(1, 0, 0), SIMD3(0, 1, 0)) == SIMD3(0, 0, 1))
        #expect(dot(SIMD3(1, 2, 3), SIMD3(4, 5, 6)) == 32)
        #expect(length(SIMD3(2, 3, 6)) == 7)
        #expect(Affine.scaling(SIMD3(2, 3, 4)).determinant == 24)
    }
}
