import NocturneRecipes
import Testing

@Suite("Options that change results")
struct SegmentationOptionsTests {
    @Test("The order in which labels are named does not matter")
    func labelOrder() {
        #expect(SegmentationOptions(labels: ["b", "a"]).words == SegmentationOptions(labels: ["a", "b"]).words)
        #expect(SegmentationOptions(labels: ["a"]).words != SegmentationOptions().words)
    }
}
