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

    @Test("presets have the digests that results state, and that batches were made with")
    func digests() throws {
        // As `nocturne radiomics --json` of 0.2.0 wrote them on 2026-11-30, when presets were Swift code.
        let digests = [
            "ibsi-a": "53f35aa7b99ed5410c1212a6e71be49936a7de55db7738809a1b4d537db19026",
            "ibsi-b": "f29b17f5cb7d0be933161c4b7fdba72c9238b5f042ebb143bc6cbdabb13dcc9e",
            "ibsi-c": "e41765270ace324d171c12a22da1532e2d5292adb484934917814d39d49c47d3",
            "ibsi-d": "6ece2b07b708f1d8a50fdd838e8b13359582b3837ce291ac7db6df486cea8ec4",
            "ibsi-e": "cce35e5f48949fed442c1e24d2578e12213cdfa37ba3345263ab4d54e97c61c2",
            "ct": "3c376d6c9f4bb92b79de55e34ab49a34735586a685ce1743fadffbec7ee42fa8",
            "pet": "10bec951f73e4f247d3f902985b604541ce657acaf4eeb9bfae89117e7663801",
            "mr": "0d2e4a5d9d13795936402c3daf1c04a266fcbbcf9e153367fa1f30ab602c8384",
            "pyradiomics": "db1f29db690629a9dbb7932586024a6f34cb43bb4cabed96b9e2ed511d50e29f",
        ]
        let found = try RadiomicsSettings.presets.map {
            try ($0.name, ContentDigest.of(StableJSON.encode($0.settings)).hex)
        }
        #expect(Dictionary(uniqueKeysWithValues: found) == digests)
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
