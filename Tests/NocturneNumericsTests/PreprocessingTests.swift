import NocturneConcurrency
import NocturneCore
import NocturneNumerics
import NocturneSystem
import NocturneTestSupport
import Testing

/// nnU-Net's preprocessing of one image, up to the first row of the network's input, for the settings of a plan.
struct PreprocessingCase: Sendable {
    let name: String
    /// (z, y, x), as plans have it.
    let shape: [Int]
    let spacing: [Double]
    var targetSpacing: [Double] = [1.5, 1.25, 1.25]
    var transpose = [0, 1, 2]
    var normalization = Normalization.ct(lower: -4, upper: 4, mean: 0, deviation: 2)
    let result: [Int]
    let row: [Double]

    static let all = [
        PreprocessingCase(
            name: "as it is",
            shape: [10, 9, 8],
            spacing: [1, 1, 1],
            targetSpacing: [1, 1, 1],
            result: [10, 9, 8],
            row: [-2, 0, 2, -0.5, 2]
        ),
        PreprocessingCase(
            name: "resampled",
            shape: [10, 9, 8],
            spacing: [2, 1, 1],
            result: [13, 7, 6],
            row: [-1.8601236, 1.535448, -0.190412, 1.2793175, -0.011521]
        ),
        PreprocessingCase(
            name: "slices kept apart",
            shape: [5, 9, 8],
            spacing: [5, 1, 1],
            targetSpacing: [3, 1.25, 1.25],
            result: [8, 7, 6],
            row: [-1.6918737, 1.4234816, -0.3166661, 1.2991455, 0.0284988]
        ),
        PreprocessingCase(
            name: "transposed",
            shape: [10, 9, 8],
            spacing: [1, 2, 1],
            transpose: [1, 0, 2],
            result: [12, 8, 6],
            row: [-1.6584808, 1.3663927, -0.6297947, 1.9373114, 0.3194903]
        ),
        PreprocessingCase(
            name: "z-score within the body",
            shape: [10, 9, 8],
            spacing: [1, 1, 1],
            targetSpacing: [1, 1, 1],
            normalization: .zScore(usesMask: true),
            result: [10, 9, 8],
            row: [-1.5393785, 0, 1.5447735, -0.3057177, 1.2363583]
        ),
    ]
}

@Suite("Preprocessing as a whole")
struct PreprocessingTests {
    @Test("gives the values that nnU-Net's gave", arguments: PreprocessingCase.all)
    func worked(test: PreprocessingCase) throws {
        let stored = VolumeShape(x: test.shape[2], y: test.shape[1], z: test.shape[0])
        let image = try Phantom.voxels(stored) { x, y, z in Float((7 * z + 3 * y + 5 * x) % 11 - 5) }.frozen()
        let orientation = try #require(AxisOrientation(transposing: test.transpose))
        let box = try #require(
            try VoxelBox.foreground(image, stored: stored, orientation: orientation, scope: .serial())
        )
        let view = try VoxelView(stored: stored, orientation: orientation).cropped(to: box)
        let spacing = orientation.source.map { test.spacing[2 - $0] }
        let (current, new) = (
            SIMD3(spacing[0], spacing[1], spacing[2]),
            SIMD3(test.targetSpacing[2], test.targetSpacing[1], test.targetSpacing[0])
        )
        let target = try targetShape(of: view.shape, spacing: current, resampledTo: new)
        #expect([target.z, target.y, target.x] == test.result)
        let mask = try ForegroundMask(of: [image], view: view, scope: .serial())
        let resampler = try ImageResampler(
            view: view,
            target: target,
            rule: .image,
            separateAxis: ResamplingRule.image.separateAxis(current: current, new: new),
            map: test.normalization.map(for: image, view: view, mask: mask, scope: .serial())
        )
        let found = try resampler.resample(image, scope: .serial()).array()
        #expect(allClose(found.prefix(5).map { Double($0) }, test.row, absolute: 3e-7), "\(test.name)")
    }
}
