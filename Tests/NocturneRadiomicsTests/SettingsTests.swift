import NocturneRadiomics
import NocturneSystem
import Testing

@Suite("Settings of radiomics")
struct SettingsTests {
    private func read(_ text: String) throws -> RadiomicsSettings { try RadiomicsSettings(parsing: Array(text.utf8)) }

    private func code(_ text: String) -> RadiomicsSettingsError.Code? {
        do {
            _ = try RadiomicsSettings(parsing: Array(text.utf8))
            return nil
        } catch {
            return error.code
        }
    }

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

    @Test("unknown keys, names and values are errors")
    func faults() {
        #expect(code("") == .notJSON)
        #expect(code("[]") == .invalidValue)
        #expect(code("{\"binWidth\": 25}") == .unknownKey)
        #expect(code("{\"discretisation\": {\"binwidth\": 25}}") == .unknownKey)
        #expect(code("{\"preset\": \"ibsi-z\"}") == .unknownPreset)
        #expect(code("{\"discretisation\": {\"binWidth\": 0}}") == .invalidValue)
        #expect(code("{\"discretisation\": {\"binCount\": 3.5}}") == .invalidValue)
        #expect(code("{\"interpolation\": {\"spacingMm\": [1, 1]}}") == .invalidValue)
        #expect(code("{\"interpolation\": {\"image\": \"spline\"}}") == .invalidValue)
        #expect(code("{\"resegmentation\": {\"lower\": 5, \"upper\": 4}}") == .invalidValue)
        #expect(code("{\"texture\": {\"aggregations\": []}}") == .invalidValue)
        #expect(code("{\"families\": \"glcm\"}") == .invalidValue)
    }

    @Test("an error names the place of the key")
    func place() {
        #expect {
            try read("{\"texture\": {\"distance\": 1}}")
        } throws: { "\($0)" == "texture.distance: no such setting" }
    }
}
