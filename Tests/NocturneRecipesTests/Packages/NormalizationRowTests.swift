import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturneTestSupport
import NocturneVolumes
import Testing

/// A network that labels what is above 0.5, on a volume whose voxels are 0 to 19 along x.
@Suite("Normalisations in a row")
struct NormalizationRowTests {
    private func labelled(_ normalization: String, after: Bool) async throws -> Set<Int> {
        let list = try JSONSerialization.jsonObject(with: Data(normalization.utf8))
        let bench = try BatchBench { folder in
            try PackageBuilder.variant(of: "Models/threshold", in: folder) { document, section in
                document["channels"] = [["name": "image", "normalization": list] as [String: Any]]
                section["normalizeAfterResampling"] = after
            }
        }
        let shape = VolumeShape(x: 20, y: 4, z: 3)
        let values = (0..<shape.count).map { Float($0 % shape.x) }
        try NIfTIWriter.writeVolume(
            Volume(geometry: VolumeGeometry(shape: shape, affine: .identity), voxels: FrozenVoxels(values)),
            as: .int16,
            forms: NIfTIForms(qformCode: 1, sformCode: 1),
            to: bench.folder("in/ramp.nii").path,
            scope: .serial()
        )
        #expect(try await bench.run().counts.completed == 1)
        let labels = try bench.labels("ramp")
        return Set(labels.indices.filter { labels[$0] != 0 }.map { $0 % shape.x })
    }

    @Test("Each step gets what the one before has made", arguments: [false, true])
    func order(after: Bool) async throws {
        let clip = #"{"scheme": "ct", "lowerBound": 0, "upperBound": 10, "mean": 0, "standardDeviation": 1}"#
        let scale = #"{"scheme": "rescale", "lowerBound": 0, "upperBound": 1}"#
        let halve = #"{"scheme": "linear", "mean": 0, "standardDeviation": 2}"#
        // x / 19 > 1/2; min(x, 10) / 10 > 1/2; the same halved: > 1.
        #expect(try await labelled(scale, after: after) == Set(10..<20))
        #expect(try await labelled("[\(scale)]", after: after) == Set(10..<20))
        #expect(try await labelled("[\(clip), \(scale)]", after: after) == Set(6..<20))
        #expect(try await labelled("[\(clip), \(scale), \(halve)]", after: after) == [])
        // min(x / 19, 10) / 1 > 1/2.
        #expect(try await labelled("[\(scale), \(clip)]", after: after) == Set(10..<20))
        // min(x, 10) / 2 > 1/2, then as a share of 5.
        #expect(try await labelled("[\(clip), \(halve)]", after: after) == Set(2..<20))
        #expect(try await labelled("[\(clip), \(halve), \(scale)]", after: after) == Set(6..<20))
    }
}
