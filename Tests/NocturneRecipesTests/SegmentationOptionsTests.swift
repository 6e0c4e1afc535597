import NocturneRecipes
import Testing

@Suite("Options that change results")
struct SegmentationOptionsTests {
    @Test("The order in which labels are named does not matter")
    func labelOrder() {
        #expect(SegmentationOptions(labels: ["b", "a"]).words == SegmentationOptions(labels: ["a", "b"]).words)
        #expect(SegmentationOptions(labels: ["a"]).words != SegmentationOptions().words)
    }

    @Test("Resampling of leaning series changes the words, and the words bring it back")
    func fixTilt() {
        let words = SegmentationOptions(fixesTilt: true).words
        #expect(words["fix-tilt"] == "yes" && SegmentationOptions().words["fix-tilt"] == nil)
        #expect(SegmentationOptions(words: words) == SegmentationOptions(fixesTilt: true))
    }
}
