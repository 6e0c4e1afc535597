import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturneTestSupport
import NocturneVolumes
import Testing

/// A network that looks at single voxels, on a volume that is stored as LPS.
@Suite("Orientation and spacing as by MONAI")
struct OrientationTests {
    private func labels(_ keys: [String: Any]) async throws -> [UInt16] {
        let bench = try BatchBench { folder in
            try PackageBuilder.variant(of: "Models/threshold", in: folder) { _, section in
                section["transpose"] = [2, 1, 0]
                // No voxel of either grid lies half-way between two of the other.
                section["spacing"] = [1.37, 1.37, 2.3]
                let rule: [String: Any] = ["method": "monai", "order": 0]
                section["resampling"] = ["image": rule, "logits": rule]
                section.merge(keys) { $1 }
            }
        }
        let shape = VolumeShape(x: 20, y: 18, z: 24)
        var random = SplitMix64(seed: 4)
        let values = (0..<shape.count).map { _ in Float(random.next() % 2) }
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(SIMD3(-1, -1, 1)))
        try NIfTIWriter.writeVolume(
            Volume(geometry: geometry, voxels: FrozenVoxels(values)),
            as: .int16,
            forms: NIfTIForms(qformCode: 1, sformCode: 1),
            to: bench.folder("in/one.nii").path,
            scope: .serial()
        )
        #expect(try await bench.run().counts.completed == 1)
        return try bench.labels("one")
    }

    @Test("The first voxel of the resampled grid is that of the axes before or after the volume is reoriented")
    func order() async throws {
        let stored = try await labels(["orientation": "stored"])
        #expect(try await labels(["orientation": "LPS"]) == stored)
        #expect(try await labels(["orientation": "RAS"]) != stored)
        #expect(try await labels(["orientation": "RAS", "orientAfterSpacing": true]) == stored)
    }
}
