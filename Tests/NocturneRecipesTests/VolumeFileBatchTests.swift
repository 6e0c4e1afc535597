import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneInference
import NocturneJournal
import NocturneOutput
import NocturneRecipeSupport
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("Batches of NRRD and MetaImage")
struct VolumeFileBatchTests {
    private static let shape = VolumeShape(x: 20, y: 18, z: 24)

    /// The voxels of ``BatchBench/addBox(_:shape:at:edge:affine:)`` as 16-bit numbers.
    private func box(edge: Int = 8) -> [UInt8] {
        var voxels = [UInt16](repeating: 0, count: Self.shape.count)
        for k in 4..<4 + edge {
            for j in 4..<4 + edge { for i in 4..<4 + edge { voxels[Self.shape.offset(i, j, k)] = 1 } }
        }
        return voxels.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
    }

    private static let nrrd = """
        NRRD0004
        type: short
        dimension: 3
        space: left-posterior-superior
        sizes: 20 18 24
        space directions: (-1,0,0) (0,-1,0) (0,0,1)
        space origin: (0,0,0)
        endian: little
        encoding: raw

        """
    private static let metaImage = """
        ObjectType = Image
        NDims = 3
        BinaryData = True
        BinaryDataByteOrderMSB = False
        TransformMatrix = -1 0 0 0 -1 0 0 0 1
        Offset = 0 0 0
        ElementSpacing = 1 1 1
        DimSize = 20 18 24
        ElementType = MET_SHORT
        ElementDataFile =
        """

    private func result(_ item: String, _ bench: BatchBench) throws -> [String: Any] {
        let bytes = try FileSystem.read(bench.output.item(item) + "/result.json")
        return try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] ?? [:]
    }

    @Test("Volumes of every format have the labels of the same NIfTI file, and detached voxels are part of their item")
    func everyFormat() async throws {
        let bench = try BatchBench()
        try bench.addBox("nifti.nii")
        try bench.folder.write(Array((Self.nrrd + "\n").utf8) + box(), to: "in/whole.nrrd")
        try bench.folder.write(Self.nrrd + "data file: apart.raw\n", to: "in/apart.nhdr")
        try bench.folder.write(box(), to: "in/apart.raw")
        try bench.folder.write(Array((Self.metaImage + " LOCAL\n").utf8) + box(), to: "in/meta.mha")
        try bench.folder.write(Self.metaImage + " m.raw\n", to: "in/m.mhd")
        try bench.folder.write(box(), to: "in/m.raw")
        let outcome = try await bench.run()
        #expect(outcome.counts.completed == 5 && outcome.counts.skipped == 0 && outcome.counts.failed == 0)
        let expected = try bench.labels("nifti")
        #expect(expected.contains(1))
        for (item, format) in [
            ("nifti", "nifti"), ("whole", "nrrd"), ("apart", "nrrd"), ("meta", "metaimage"), ("m", "metaimage"),
        ] {
            #expect(try bench.labels(item) == expected)
            #expect((try result(item, bench)["source"] as? [String: Any])?["format"] as? String == format)
            let header = try VolumeFileReader.readHeader(at: bench.output.item(item) + "/segmentation.nii.gz")
            #expect(header.geometry.affine == .identity)
        }
    }

    @Test("Another file of detached voxels is noticed by the next run")
    func changedVoxels() async throws {
        let bench = try BatchBench()
        try bench.folder.write(Self.nrrd + "data file: apart.raw\n", to: "in/apart.nhdr")
        try bench.folder.write(box(), to: "in/apart.raw")
        try await bench.run()
        let first = try bench.labels("apart")
        try bench.folder.write(box(edge: 5), to: "in/apart.raw")
        try await bench.run()
        let second = try bench.labels("apart")
        #expect(first.filter { $0 == 1 }.count == 512 && second.filter { $0 == 1 }.count == 125)
    }

    @Test("A file that states no orientation is refused with the option that reads it")
    func orientation() async throws {
        let bench = try BatchBench()
        let header = Self.nrrd.replacing("space: left-posterior-superior\n", with: "space dimension: 3\n")
        try bench.folder.write(Array((header + "\n").utf8) + box(), to: "in/nowhere.nrrd")
        let refused = try await bench.run()
        #expect(refused.counts.failed == 1)
        #expect(try await bench.reason("nowhere")?.contains("--assume-orientation reads it as ITK does") == true)
        var options = SegmentationOptions()
        options.inputs.assumesOrientation = true
        let assumed = try await bench.run(options, overwrite: true)
        #expect(assumed.counts.completed == 1)
    }

    @Test("A segmentation of 3D Slicer is measured with the names that it states")
    func slicer() async throws {
        let bench = try LabelBench()
        let bytes = try FileSystem.read(Fixtures.url("VolumeFiles/case.seg.nrrd").path)
        try bench.batch.folder.write(bytes, to: "in/labels/case.seg.nrrd")
        try await bench.run(inputs: [bench.batch.folder("in/labels").path])
        let names = try bench.labels("case.seg").compactMap { $0["name"] as? String }
        #expect(Set(names) == ["left kidney", "tumour: primary"])
    }
}
