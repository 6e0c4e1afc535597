import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneTestSupport
import Testing

@Suite("The Gaussian filter of logits")
struct LogitBlurTests {
    private static let shape = VolumeShape(x: 4, y: 3, z: 6)
    private static let sigmas = [0.6, 1.25, 0.4]
    /// What SciPy 1.17.1 makes of the plane values below:
    /// `gaussian_filter(v, (0.6, 1.25, 0.4), mode="nearest")` with `v = ((arange(72) * 37 % 101 - 50) / 8).reshape(6, 3, 4)` in float32.
    private static let expected: [Float] = [
        -2.8762865, -0.11845375, 0.40046915, -2.7483497, -0.2399167, 0.08547741,
        -0.14012378, -2.4774454, 2.194092, -0.36679256, -0.08155783, -3.2303963,
        -0.22290625, 0.4553843, -1.5293734, 0.6622156, 0.3547753, 0.095047615,
        -1.4288486, 0.79003495, 0.41693848, 0.020559214, -2.0114162, 0.1801688,
        0.8355699, -1.604334, 1.071217, 2.1523366, 0.43298838, -1.6689146,
        1.1668482, 1.7499259, 0.37065125, -2.0856597, 0.58917016, 1.6702899,
        -1.4202899, -0.33917016, 2.3355176, -0.124029756, -1.4999259, -0.91684824,
        1.9184691, -0.19357231, -1.9023366, -0.82121694, 1.8534708, -0.60607654,
        0.069831245, 2.2614155, 0.22012629, -0.388232, -0.5400349, 1.6788461,
        0.12577286, -0.79802144, -0.41221556, 1.7793686, -0.26192054, -0.87027884,
        3.4803963, 0.3315539, 0.5706936, -3.03931, 2.7274454, 0.39011154,
        0.02010835, -2.941072, 2.9983497, -0.15049286, 0.08864681, -3.5213568,
    ]

    /// A plane of two classes, of which the second is the negative of the first.
    private static func plane(_ z: Int) -> [Float] {
        let first = (0..<12).map { Float((z * 12 + $0) * 37 % 101 - 50) / 8 }
        return first + first.map { -$0 }
    }

    /// The planes from `start` on, after the filter.
    private static func filtered(_ scope: ComputeScope, sigmas: [Double], from start: Int = 0) throws -> [[Float]] {
        let blur = try LogitBlur(sigmas: sigmas, shape: shape, classes: 2, resumingAtPlane: start)
        #expect(blur.nextPlane == LogitBlur.firstPlane(neededForPlanesFrom: start, sigmas: sigmas, shape: shape))
        var result: [[Float]] = []
        for plane in start..<shape.z {
            while blur.nextPlane <= blur.lastPlane(neededFor: plane) {
                try Self.plane(blur.nextPlane).withUnsafeBufferPointer { try blur.push($0) }
            }
            #expect(blur.computablePlanes(afterPlanes: blur.nextPlane) > plane)
            try blur.withPlane(plane, scope: scope) { result.append(Array($0)) }
        }
        return result
    }

    @Test("Values are SciPy's, of every class")
    func values() throws {
        let planes = try Self.filtered(.serial(), sigmas: Self.sigmas)
        let first = planes.flatMap { $0[..<12] }
        #expect(zip(first, Self.expected).allSatisfy { abs($0 - $1) < 1e-6 } && first.count == Self.expected.count)
        #expect(planes.flatMap { $0[12...] } == first.map { -$0 })
    }

    @Test("A plane has the same bits for any number of threads, and wherever the planes began")
    func streaming() async throws {
        let whole = try Self.filtered(.serial(), sigmas: Self.sigmas)
        let results = try await resultsForWidths { try Self.filtered($0, sigmas: Self.sigmas) }
        #expect(results.allSatisfy { $0 == whole })
        for start in 1...Self.shape.z {
            #expect(try Self.filtered(.serial(), sigmas: Self.sigmas, from: start) == Array(whole[start...]))
        }
    }

    @Test("A deviation of 0 changes nothing, and one that is wider than the grid continues its border")
    func extremes() throws {
        let planes = (0..<Self.shape.z).map(Self.plane)
        #expect(try Self.filtered(.serial(), sigmas: [0, 0, 0]) == planes)
        // 400 border values on both sides outweigh the 6 planes between them.
        let wide = try Self.filtered(.serial(), sigmas: [100, 0, 0])
        for index in 0..<24 {
            let mean = (planes[0][index] + planes[5][index]) / 2
            #expect(wide.allSatisfy { abs($0[index] - mean) < 0.5 })
        }
    }

    @Test("A plane of another size is refused")
    func size() throws {
        let blur = try LogitBlur(sigmas: Self.sigmas, shape: Self.shape, classes: 2)
        #expect(throws: NumericsError.self) {
            try [Float](repeating: 0, count: 12).withUnsafeBufferPointer { try blur.push($0) }
        }
    }
}
