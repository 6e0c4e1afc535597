import NocturneRecipeSupport
import NocturneSystem
import NocturneVolumes
import Testing

@Suite("Options that change results")
struct SegmentationOptionsTests {
    @Test("The order in which labels are named does not matter")
    func labelOrder() {
        #expect(SegmentationOptions(labels: ["b", "a"]).shown == SegmentationOptions(labels: ["a", "b"]).shown)
        #expect(SegmentationOptions(labels: ["a"]).shown != SegmentationOptions().shown)
    }

    @Test("Resampling of tilted series is shown, and read back from both forms")
    func fixTilt() throws {
        let options = SegmentationOptions(fixesTilt: true)
        #expect(options.shown["fix-tilt"] == "yes" && SegmentationOptions().shown["fix-tilt"] == nil)
        #expect(try SegmentationOptions(OptionsOfVersion1(options.shown)) == options)
        #expect(try JSONValue(encoding: options).decoded() == options)
    }

    @Test("Derived images and assumed orientations are shown, and read back from both forms")
    func inclusion() throws {
        let options = SegmentationOptions(includesDerived: true, assumesOrientation: true)
        #expect(options.shown["include-derived"] == "yes" && options.shown["assume-orientation"] == "yes")
        #expect(SegmentationOptions().shown.keys.allSatisfy { $0 != "include-derived" && $0 != "assume-orientation" })
        #expect(try SegmentationOptions(OptionsOfVersion1(options.shown)) == options)
        #expect(try JSONValue(encoding: options).decoded() == options)
    }

    @Test("How pictures are drawn is shown where it is not the default, and read back")
    func pictures() throws {
        var options = SegmentationOptions(drawsSlices: true)
        options.planes = .all
        options.pictures = PictureOptions(window: WindowChoice(rawValue: "lung"), labelOpacity: 0.5)
        #expect(options.shown["window"] == "lung" && options.shown["label-opacity"] == "0.5")
        #expect(options.shown["planes"] == "all")
        #expect(try SegmentationOptions(recorded: JSONValue(encoding: options)) == options)
        // As a version recorded it that did not have these options.
        #expect(try SegmentationOptions(recorded: .object([:])) == SegmentationOptions())
        #expect(SegmentationOptions().shown.keys.allSatisfy { !["window", "label-opacity", "planes"].contains($0) })
    }

    @Test("Maps of probabilities are shown, and read back")
    func probabilities() throws {
        var options = SegmentationOptions()
        #expect(options.shown["probabilities"] == nil)
        options.writesProbabilities = true
        #expect(options.shown["probabilities"] == "yes")
        #expect(try SegmentationOptions(recorded: JSONValue(encoding: options)) == options)
    }

    @Test(
        "A window is a name, or a finite centre and a width above 0",
        arguments: [
            ("lung", true), ("40,400", true), ("-600,1500.5", true), ("liver", false), ("40", false), ("40,0", false),
            ("40,-1", false), ("nan,5", false), ("1,2,3", false), ("", false), ("1e60,1", false),
        ]
    )
    func windows(_ text: String, _ isWindow: Bool) {
        #expect((WindowChoice(rawValue: text) != nil) == isWindow)
    }

    @Test("A rendering is shown, and read back from both forms", arguments: RenderingContent.allCases)
    func rendering(_ content: RenderingContent) throws {
        let options = SegmentationOptions(rendering: content)
        #expect(options.shown["rendering"] == (content == .none ? nil : content.rawValue))
        #expect((content.preset == nil) == (content == .none))
        #expect(try SegmentationOptions(OptionsOfVersion1(options.shown)) == options)
        #expect(try JSONValue(encoding: options).decoded() == options)
    }

    @Test(
        "A recorded value that this version does not know is an error that names it",
        arguments: [
            ("meshes", "vtk"), ("frame", "lpi"), ("step-size", "half"), ("disable-tta", "no"), ("pictures", "1"),
            ("rendering", "bone"),
        ]
    )
    func unknownValue(_ option: String, _ value: String) throws {
        let error = #expect(throws: OptionValueError.self) {
            try SegmentationOptions(OptionsOfVersion1([option: value]))
        }
        #expect(error?.option == option && error?.value == value)
    }
}
