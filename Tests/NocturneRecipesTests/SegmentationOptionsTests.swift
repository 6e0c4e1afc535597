import ArgumentParser
import NocturneBatch
import NocturneOutput
import NocturnePictures
import NocturneRecipeSupport
import NocturneRecipes
import NocturneVolumes
import Testing

@Suite("Options that change results")
struct SegmentationOptionsTests {
    /// A value of every option that is not its default, as it is recorded.
    private static let values = [
        "meshes": "ply", "mesh-detail": "0.5", "frame": "ras", "preview": "slices", "window": "lung",
        "label-opacity": "0.5",
        "fix-tilt": "yes", "include-derived": "yes", "assume-orientation": "yes",
        "labels": "kidney,liver", "pictures": "yes", "planes": "all", "rendering": "mr", "review": "volumes",
        "probabilities": "yes", "dicom-seg": "yes", "rtstruct": "yes", "surface-tolerance": "2.5",
        "step-size": "0.25", "disable-tta": "yes", "reference-rounding": "yes", "time-series": "yes",
    ]

    @Test("Every option is recorded where it is not the default, and read back")
    func recorded() throws {
        #expect(SegmentationOptions().recorded == ["meshes": "stl", "frame": "lps"])
        #expect(try SegmentationOptions(recorded: [:]) == SegmentationOptions())
        let options = try SegmentationOptions(given: Self.values)
        #expect(options.recorded == Self.values)
        // Without a source, there is no series whose tilt was corrected; which inputs are items is no matter of a result.
        #expect(options.inResults == Self.values.filter { !["fix-tilt", "time-series"].contains($0.key) })
        #expect(try SegmentationOptions(recorded: options.recorded) == options)
        let names = SegmentationOptions.sections.flatMap { $0.section.optionNames }
        #expect(Set(names).subtracting(Self.values.keys) == ["rois", "compare", "measure", "radiomics"])
        #expect(Set(names).count == names.count)
    }

    @Test("A given value takes the place of the recorded one, also where it is the default; the others stay")
    func changed() throws {
        let options = try SegmentationOptions(
            recorded: Self.values,
            given: ["meshes": "stl", "pictures": "no", "planes": "acquired"]
        )
        var expected = Self.values
        for name in ["pictures", "planes"] { expected[name] = nil }
        expected["meshes"] = "stl"
        #expect(options.recorded == expected)
    }

    @Test("The order in which labels are named does not matter")
    func labelOrder() throws {
        #expect(try SegmentationOptions(given: ["labels": " b, a"]) == SegmentationOptions(given: ["labels": "a,b"]))
    }

    @Test("Of a file the path is recorded; results have a text without it")
    func paths() throws {
        let options = try SegmentationOptions(given: ["compare": "/tmp"])
        #expect(options.recorded["compare-path"] == "/tmp" && options.recorded["compare"] == "yes")
        #expect(options.inResults["compare"] == "yes" && options.inResults["compare-path"] == nil)
        // A recorded file is not looked for.
        #expect(
            try SegmentationOptions(recorded: ["compare-path": "/nowhere", "compare": "yes"]).comparePath == "/nowhere"
        )
        #expect(throws: BatchError.self) { try SegmentationOptions(given: ["compare": "/nowhere"]) }
    }

    @Test("What does not concern a source is not in its result")
    func scope() throws {
        let options = try SegmentationOptions(given: Self.values)
        let refused = options.inResults(of: VolumeSource?.none)
        #expect(refused["fix-tilt"] == nil && refused["dicom-seg"] == "yes" && refused["assume-orientation"] == "yes")
    }

    @Test(
        "Values that exclude each other, or are out of range, are refused",
        arguments: [
            ["planes": "all"], ["label-opacity": "1.5"], ["surface-tolerance": "-1"],
        ]
    )
    func refused(_ given: [String: String]) {
        #expect(throws: ValidationError.self) { try SegmentationOptions(given: given) }
    }

    @Test(
        "A recorded value that this version does not know is an error that names it",
        arguments: [
            ("meshes", "vtk"), ("frame", "lpi"), ("step-size", "half"), ("disable-tta", "1"), ("rendering", "bone"),
        ]
    )
    func unknownValue(_ option: String, _ value: String) throws {
        let error = #expect(throws: OptionArgument.ValueError.self) {
            try SegmentationOptions(recorded: [option: value])
        }
        #expect(error?.option == option && error?.value == value)
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

    @Test("A window in values of an image has finite bounds for every factor")
    func scaledWindow() {
        let largest = Float.greatestFiniteMagnitude
        let (usual, large) = (WindowChoice(rawValue: "5,10"), WindowChoice(rawValue: "0,1e36"))
        #expect(usual?.pictureWindow(scale: 0.5) == .fixed(lower: 0, upper: 20))
        #expect(large?.pictureWindow(scale: 1e-4) == .fixed(lower: -largest, upper: largest))
    }

    @Test("A rendering has a preset unless it is none", arguments: RenderingContent.allCases)
    func rendering(_ content: RenderingContent) {
        #expect((content.preset == nil) == (content == .none))
    }

    @Test("Names of options mean the same to all kinds")
    func names() {
        let names = RecipeRegistry.all.sections.flatMap { $0.optionNames }
        #expect(Set(names).count == names.count)
    }
}
