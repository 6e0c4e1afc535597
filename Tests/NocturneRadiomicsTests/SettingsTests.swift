import NocturneRadiomics
import NocturneSystem
import Testing

@Suite("Settings of radiomics")
struct SettingsTests {
    private func read(_ text: String) throws -> RadiomicsSettings { try RadiomicsSettings(parsing: Array(text.utf8)) }

    @Test("an empty file has the defaults, a preset its own")
    func presets() throws {
        #expect(try read("{}") == RadiomicsSettings())
        for (name, settings) in RadiomicsSettings.presets {
            #expect(try read("{\"preset\": \"\(name)\"}") == settings)
        }
    }

    @Test("members replace those of the preset, and null removes a bound")
    func replacing() throws {
        let settings = try read(
            """
            {"preset": "ibsi-c", "resegmentation": {"upper": null}, "texture": {"aggregations": ["3D-merged", "2D-averaged"]},
             "interpolation": {"spacingMm": [1, 1, 0]}, "discretisation": {"binWidth": 10}, "families": ["glcm", "morphology"]}
            """
        )
        #expect(settings.resegmentation == RadiomicsSettings.Resegmentation(lower: -1000))
        #expect(settings.texture.aggregations == [.slicesAveraged, .volumeMerged])
        #expect(settings.interpolation.spacing == SIMD3(1, 1, 0))
        #expect(settings.interpolation.roundsIntensities)
        #expect(settings.discretisation.method == .fixedBinSize && settings.discretisation.binWidth == 10)
        #expect(settings.families == [.morphology, .glcm])
    }

    @Test("what is written is read again")
    func roundTrip() throws {
        for (_, settings) in RadiomicsSettings.presets {
            #expect(try RadiomicsSettings(parsing: try StableJSON.encode(settings)) == settings)
        }
    }

    @Test(
        "unknown keys, names and values are errors that name the place",
        arguments: [
            ("", "the file is not valid JSON"), ("[]", "the file is not an object"),
            ("{\"binWidth\": 25}", "binWidth is unknown; known keys are preset, "),
            ("{\"discretisation\": {\"binwidth\": 25}}", "discretisation.binwidth is unknown"),
            ("{\"texture\": {\"distance\": 1}}", "texture.distance is unknown"),
            ("{\"texture\": 1}", "texture is not an object"),
            ("{\"preset\": \"ibsi-z\"}", "preset is \"ibsi-z\", not one of ibsi-a, "),
            ("{\"discretisation\": {\"binWidth\": 0}}", "discretisation.binWidth is 0.0, not from 1e-06 to "),
            ("{\"discretisation\": {\"binCount\": 3.5}}", "discretisation.binCount is 3.5, not an integer"),
            ("{\"discretisation\": {\"binCount\": 1}}", "discretisation.binCount is 1, not from 2 to 65536"),
            ("{\"discretisation\": {\"binCount\": null}}", "discretisation.binCount is not a number"),
            ("{\"interpolation\": {\"spacingMm\": [1, 1]}}", "interpolation.spacingMm is not 3 numbers"),
            ("{\"interpolation\": {\"spacingMm\": [1, 1, 0.01]}}", "interpolation.spacingMm has an entry"),
            ("{\"interpolation\": {\"image\": \"spline\"}}", "interpolation.image is \"spline\", not one of nearest, "),
            ("{\"interpolation\": {\"roundsIntensities\": 1}}", "roundsIntensities is not true or false"),
            ("{\"resegmentation\": {\"lower\": 5, \"upper\": 4}}", "resegmentation.lower is above upper"),
            ("{\"texture\": {\"aggregations\": []}}", "texture.aggregations is an empty list"),
            ("{\"families\": \"glcm\"}", "families is not a list"),
            ("{\"families\": [\"glcm\", \"x\"]}", "families[1] is \"x\", not one of morphology, "),
        ]
    )
    func fault(text: String, message: String) throws {
        let error = #expect(throws: RadiomicsSettingsError.self) { try read(text) }
        #expect(try #require(error).description.contains(message), "\(error?.description ?? "")")
    }
}
