import Foundation
import NocturneFormats
import NocturneTestSupport
import Testing

@Suite("Schemas of photos")
struct PhotoSchemaTests {
    @Test(
        "Every format of photos that is read is one of the schema",
        arguments: ["classification-result", "instances-result", "photo-segmentation-result"]
    )
    func formats(_ name: String) throws {
        let url = Checkout.folder.appendingPathComponent("Samples/Schemas/\(name).schema.json")
        let schema = try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any]
        let properties = try #require(schema?["properties"] as? [String: Any])
        let source = try #require((properties["source"] as? [String: Any])?["properties"] as? [String: Any])
        let formats = (source["format"] as? [String: Any])?["enum"] as? [String]
        #expect(formats.map(Set.init) == Set(PhotoFacts.Format.allCases.map(\.rawValue)))
        if let models = (source["colorModel"] as? [String: Any])?["enum"] as? [String] {
            #expect(Set(models) == Set(PhotoFacts.ColourModel.allCases.map(\.rawValue)))
        }
    }
}
