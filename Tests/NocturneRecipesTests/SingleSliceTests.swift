import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneOutput
import NocturneSystem
import NocturneTestSupport
import Testing

/// nnU-Net's 2d configurations are trained on, and applied to, cases of one slice.
@Suite("Cases of one slice")
struct SingleSliceTests {
    /// A package for slices with three channels, whose label is the channel with the largest value, if that is above 0.5.
    static func package(in folder: TemporaryFolder, changing: [String: Any] = [:]) throws -> String {
        try PackageBuilder.variant(of: "PhotoModels/brightest", section: "photoSegmentation", in: folder) {
            document,
            section in
            section["postprocessing"] = nil
            section["cropToNonzero"] = false
            section["orientation"] = "RAS"
            section.merge(changing) { $1 }
            document["channels"] = ["red", "green", "blue"].map { name -> [String: Any] in
                ["name": name, "normalization": ["scheme": "none"]]
            }
        }
    }

    /// Writes the three channels of a case with one slice, 50 × 46 × 1 or along another axis.
    /// - Returns: the labels that the network gives them.
    private func addCase(_ name: String, to bench: BatchBench, shape: VolumeShape, step: Double) throws -> [UInt16] {
        var random = SplitMix64(seed: 3)
        var labels: [UInt16] = []
        var channels: [[Float]] = [[], [], []]
        for _ in 0..<shape.count {
            let label = Int(random.next() % 4)
            labels.append(UInt16(label))
            for channel in 0..<3 { channels[channel].append(channel + 1 == label ? 2 : 0) }
        }
        let geometry = VolumeGeometry(shape: shape, affine: .scaling(SIMD3(-1.1, 1.3, step)))
        for (index, values) in channels.enumerated() {
            try NIfTIWriter.writeVolume(
                Volume(geometry: geometry, voxels: FrozenVoxels(values)),
                as: .int16,
                forms: NIfTIForms(qformCode: 1, sformCode: 1),
                to: bench.folder("in/\(name)_000\(index).nii").path,
                scope: .serial()
            )
        }
        return labels
    }

    @Test("A package for slices labels them, whatever their thickness", arguments: [2.8, 999])
    func planar(step: Double) async throws {
        let bench = try BatchBench { try Self.package(in: $0) }
        let labels = try addCase("one", to: bench, shape: VolumeShape(x: 50, y: 46, z: 1), step: step)
        #expect(try await bench.run().counts.completed == 1)
        #expect(try bench.labels("one") == labels)
    }

    @Test("A file with two axes is a slice too")
    func twoAxes() async throws {
        let bench = try BatchBench { try Self.package(in: $0) }
        let labels = try addCase("flat", to: bench, shape: VolumeShape(x: 50, y: 46, z: 1), step: 1)
        for channel in 0..<3 {
            let path = bench.folder("in/flat_000\(channel).nii").path
            var bytes = try FileSystem.read(path)
            bytes.replaceSubrange(40..<42, with: [2, 0])
            try bench.folder.write(bytes, to: "in/flat_000\(channel).nii")
        }
        #expect(try await bench.run().counts.completed == 1)
        #expect(try bench.labels("flat") == labels)
    }

    @Test("A slice across which the networks would cut is skipped")
    func otherAxis() async throws {
        let bench = try BatchBench { try Self.package(in: $0) }
        _ = try addCase("edge", to: bench, shape: VolumeShape(x: 50, y: 1, z: 46), step: 2)
        #expect(try await bench.run().counts.skipped == 1)
        #expect(try await bench.reason("edge")?.contains("a single slice (50×1×46)") == true)
    }

    @Test("The axis across which networks cut follows from their axes")
    func transposed() async throws {
        let bench = try BatchBench { try Self.package(in: $0, changing: ["transpose": [1, 0, 2]]) }
        let labels = try addCase("edge", to: bench, shape: VolumeShape(x: 50, y: 1, z: 46), step: 2)
        #expect(try await bench.run().counts.completed == 1)
        #expect(try bench.labels("edge") == labels)
    }
}
