import Foundation
import NocturneBatch
import NocturneCore
import NocturneFormats
import NocturnePhotos
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Verification of label maps of photos")
struct PhotoSegmentationVerificationTests {
    private func batch() async throws -> VerifiedBatch {
        let bench = try SegmentedPhotoBench()
        let areas = [
            SegmentedPhotoBench.Area(x: 5, y: 6, width: 12, height: 8, color: SIMD3(220, 40, 30), label: 1),
            SegmentedPhotoBench.Area(x: 25, y: 9, width: 10, height: 20, color: SIMD3(10, 60, 240), label: 3),
        ]
        try bench.add("one.png", SegmentedPhotoBench.Drawing(width: 60, height: 40, areas))
        let (_, output) = try await bench.run()
        return VerifiedBatch(output: output, by: bench)
    }

    /// Writes the label map with some pixels changed, so that only its content tells.
    private func rewrite(_ batch: VerifiedBatch, _ change: (inout [UInt16]) -> Void) async throws {
        let path = batch.url("one/labels.png").path
        let map = try LabelPNG.read(path, pixels: 60 * 40)
        var labels = map.labels
        change(&labels)
        let bits = map.bits
        try LabelPNG.write(FrozenVoxels(labels), width: map.width, height: map.height, bits: bits, to: path)
        try await batch.recordAnew("one")
    }

    @Test("An undamaged batch has no faults")
    func whole() async throws {
        #expect(try await batch().faults() == [])
    }

    @Test("A label map with another pixel differs from the numbers, and from the masks of COCO")
    func pixel() async throws {
        let batch = try await batch()
        try await rewrite(batch) { $0[0] = 3 }
        let faults = try await batch.faults()
        #expect(faults.contains { $0 == "one/labels.png: has 201 pixels of blue; result.json states 200" })
        #expect(faults.contains { $0.contains("coco.json") && $0.contains("the mask of blue differs") })
    }

    @Test("Labels that have changed places keep their numbers of pixels, but not their boxes")
    func moved() async throws {
        let batch = try await batch()
        try await rewrite(batch) { labels in
            labels[6 * 60 + 5] = 0
            labels[0] = 1
        }
        #expect(try await batch.faults().contains { $0.contains("the box of red differs from result.json") })
    }

    @Test("A value that is no label")
    func unknown() async throws {
        let batch = try await batch()
        try await rewrite(batch) { $0[0] = 7 }
        #expect(try await batch.faults().contains { $0.contains("has the value 7, which is not a label") })
    }

    @Test("A map of another size, and a picture that is no map")
    func otherMaps() async throws {
        let batch = try await batch()
        let path = batch.url("one/labels.png").path
        try LabelPNG.write(FrozenVoxels([1, 2]), width: 2, height: 1, bits: 8, to: path)
        try await batch.recordAnew("one")
        #expect(try await batch.faults().contains { $0.contains("has 2×1 pixels; the photo has 60×40") })
        try PNGWriter.write(RGBImage(width: 60, height: 40), to: path)
        try await batch.recordAnew("one")
        #expect(try await batch.faults().contains { $0.contains("is not a grey PNG") })
    }

    @Test("A changed area in coco.json")
    func coco() async throws {
        let batch = try await batch()
        try batch.replace("one/coco.json", "\"area\" : 96", "\"area\" : 97")
        try await batch.recordAnew("one")
        #expect(try await batch.faults().contains { $0.contains("the area of red differs") })
    }
}
