import Foundation
import NocturneBatch
import NocturneJournal
import NocturneOutput
import NocturnePhotos
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("DICOM objects among photos")
struct DICOMAmongPhotosTests {
    @Test("A model for volumes is the advice for what it may take, and not for other objects")
    func advice() throws {
        let bench = try PhotoBench("primary-told")
        for (name, file) in [("slice", "dicom/ct.dcm"), ("labels", "segmentation/made.dcm")] {
            try bench.folder.write(Fixtures.bytes("Fuzz/" + file), to: "in/\(name).dcm")
        }
        let items = try bench.recipe().search(DiscoveryRequest(inputs: [bench.input])).items
        let reasons = Dictionary(
            items.compactMap { item in item.problem.map { ((item.path as NSString).lastPathComponent, $0.reason) } }
        ) { first, _ in first }
        #expect(reasons.mapValues(\.code) == ["slice.dcm": .volume, "labels.dcm": .notForModel])
        #expect(reasons["labels.dcm"]?.text.hasSuffix("is not a photo") == true)
    }
}
