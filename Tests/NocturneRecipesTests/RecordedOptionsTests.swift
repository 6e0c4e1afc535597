import NocturneFormats
import NocturneRecipeSupport
import NocturneSystem
import NocturneVolumes
import Testing

@Suite("Recorded options")
struct RecordedOptionsTests {
    @Test("An option that a later version has added has its default; the others keep their values")
    func addedOption() throws {
        let options = SegmentationOptions(meshes: .obj, disablesMirroring: true, preview: .slices)
        guard case .object(var members) = try JSONValue(encoding: options) else {
            Issue.record("options are recorded as an object")
            return
        }
        #expect(try SegmentationOptions(recorded: .object(members)) == options)
        #expect(members.removeValue(forKey: "preview") == .string("slices"))
        var expected = options
        expected.preview = .full
        #expect(try SegmentationOptions(recorded: .object(members)) == expected)
        members["preview"] = .string("everything")
        #expect(throws: DecodingError.self) { try SegmentationOptions(recorded: .object(members)) }
    }
}
