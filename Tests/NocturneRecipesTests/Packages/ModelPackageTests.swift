import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import NocturneVolumes
import Testing

@Suite("ModelPackage")
struct ModelPackageTests {
    @Test("a whole package is read with all it says")
    func whole() throws {
        try TemporaryFolder.with { place in
            let folder = try PackageBuilder.write(into: place)
            let package = try ModelPackage.checked(folder: folder)
            #expect(package.id == "urinary-tract-ct" && package.name == "Urinary tract" && package.version == "1.0.0")
            #expect(package.description == "Kidneys and bladder" && package.licence == "Apache-2.0")
            #expect(package.task == "volume-segmentation" && package.modalities == ["CT"])
            #expect(package.digest == ContentDigest.of(PackageBuilder.document))
            #expect(package.files.map(\.path) == ["nets/network.onnx"])
            #expect(package.totalFileBytes == PackageBuilder.network.count)
            #expect(FileManager.default.fileExists(atPath: package.path(of: "nets/network.onnx")))
            #expect(
                package.channels == [
                    ModelChannel(
                        name: "CT",
                        normalizations: [.ct(lower: -200, upper: 600, mean: 50.5, deviation: 120.25)]
                    )
                ]
            )
            #expect(package.labels.map(\.value) == [1, 7])
            #expect(package.label(named: "left_kidney")?.code?.value == "18639004")
            #expect(package.labels.map(\.isExpected) == [true, false])
            #expect(package.label(withValue: 7)?.color == LabelColor(red: 0, green: 255, blue: 10))
            #expect(package.label(withValue: 7)?.color.description == "#00ff0a")
            #expect(package.label(named: "none") == nil)
            let settings = try VolumeSegmentationSettings(package)
            let level = settings.levels[0]
            #expect(settings.levels.count == 1 && settings.output == .classes)
            #expect(level.orientation == .ras && level.spacing == [3, 1.5, 2])
            #expect(level.patchSize == [64, 48, 32] && level.tileStep == 0.5 && !level.isPlanar)
            #expect(level.mirroringAxes == [0, 2] && level.crop != nil && level.crop?.above == nil)
            #expect(level.imageResampling.order == .linear && level.imageResampling.separateZ == .never)
            #expect(level.logitsResampling.method == .torch)
            #expect(level.networks == ["nets/network.onnx"])
            #expect(settings.postprocessing.keepLargest == [[1]])
            #expect(settings.postprocessing.fillHoles == [7])
            #expect(settings.postprocessing.minimumVolumeMm3 == [7: 100])
            #expect(
                settings.postprocessing.morphology == [
                    MorphologyStep(.close, labels: [7], millimetres: 2.5),
                    MorphologyStep(.smooth, labels: [1, 7], millimetres: 1),
                ]
            )
        }
    }

    @Test("what may be left out has a default; remarks and null are passed over")
    func defaults() throws {
        let sparse = """
            {"schemaVersion": 2, "id": "a", "name": "A", "version": "0", "licence": "none", "_other": {"x": [1]}, "_from": "n",
             "task": "volume-segmentation", "channels": [{"name": "MR", "normalization": {"scheme": "zScore"}}],
             "files": [{"path": "nets/network.onnx", "bytes": 20, "more": null,
               "sha256": "\(PackageBuilder.digest(PackageBuilder.network).uppercased())"}],
             "labels": [{"value": 65535, "name": "x", "color": "#000000", "code": null, "_by": {"who": 1}}],
             "volumeSegmentation": {"spacing": null, "patchSize": [1, 1024, 8], "networks": ["nets/network.onnx"]}}
            """
        try TemporaryFolder.with { place in
            let package = try ModelPackage.checked(folder: PackageBuilder.write(sparse, into: place))
            #expect(package.modalities == [] && package.description == "")
            #expect(package.channels[0].normalizations == [.zScore(usesMask: false)])
            let settings = try VolumeSegmentationSettings(package)
            let level = settings.levels[0]
            #expect(level.orientation == .stored && level.spacing == nil && level.tileStep == 0.5)
            #expect(level.mirroringAxes == [] && level.crop == nil && level.transpose == [0, 1, 2])
            #expect(level.imageResampling.order == .cubic && level.imageResampling.separateZ == .auto)
            #expect(level.logitsResampling.order == .linear && level.logitsResampling.orderZ == .nearest)
            #expect(
                level.tiling == TilingSettings() && !level.normalizesAfterResampling && !level.resamplesProbabilities
            )
            #expect(settings.postprocessing.keepLargest == [] && settings.postprocessing.minimumVolumeMm3 == [:])
        }
    }

    @Test("a label may have a title in any script")
    func title() throws {
        try TemporaryFolder.with { place in
            let text = try PackageBuilder.document(changing: "labels.1.title", to: "\"膀胱\"")
            let package = try ModelPackage.checked(folder: PackageBuilder.write(text, into: place))
            #expect(package.labels.map(\.title) == [nil, "膀胱"])
            #expect(package.labels[1].name == "bladder")
        }
    }

    @Test(
        "numbers that are not allowed are refused with those that are",
        arguments: [
            ("\"tileStep\": 0", "tileStep is 0.0, not above 0 and at most 1"),
            ("\"tileStep\": 1.5", "tileStep is 1.5, not above 0 and at most 1"),
            ("\"mirroringAxes\": [3]", "mirroringAxes is [3], not some of 0, 1 and 2, each once"),
            ("\"patchSize\": [8, 8], \"mirroringAxes\": [2]", "mirroringAxes is [2], not 0, 1, or both"),
            ("\"output\": \"regions\", \"threshold\": 1", "threshold is 1.0, not above 0 and below 1"),
            ("\"output\": \"regions\", \"threshold\": 2", "threshold is 2.0, not above 0 and below 1"),
            (
                "\"resampling\": {\"logits\": {\"order\": 3}}",
                "resampling.logits.order is 3, not 0 or 1: only the image is resampled with order 3"
            ),
        ]
    )
    func limits(_ keys: String, _ text: String) throws {
        let patch = keys.contains("patchSize") ? "" : "\"patchSize\": [8, 8, 8], "
        try TemporaryFolder.with { place in
            let section = "{\"networks\": [\"nets/network.onnx\"], \(patch)\(keys)}"
            let folder = try PackageBuilder.write(
                PackageBuilder.document(changing: "volumeSegmentation", to: section),
                into: place
            )
            let error = #expect(throws: ModelPackageError.self) { try ModelPackage.checked(folder: folder) }
            #expect(error?.description.contains(": volumeSegmentation.\(text). ") == true)
        }
    }

    @Test("a cascade has two levels, and slices get a third axis")
    func cascade() throws {
        let section = """
            {"patchSize": [64, 32], "spacing": [1.5, 2], "mirroringAxes": [0, 1], "transpose": [2, 0, 1],
             "networks": ["nets/network.onnx"], "output": "regions", "threshold": 0.25,
             "postprocessing": {"keepLargest": [["left_kidney", "bladder"], "bladder"]},
             "previousStage": {"patchSize": [8, 16, 24], "spacing": [3, 3, 3], "networks": ["nets/network.onnx"],
               "oneHotLabels": [7, 1], "normalizations": [{"scheme": "zScore", "useMask": true}]}}
            """
        try TemporaryFolder.with { place in
            let text = try PackageBuilder.document(changing: "volumeSegmentation", to: section)
            let package = try ModelPackage.checked(folder: PackageBuilder.write(text, into: place))
            let settings = try VolumeSegmentationSettings(package)
            try #require(settings.levels.count == 2)
            let (first, last) = (settings.levels[0], settings.levels[1])
            #expect(settings.output == .regions(threshold: 0.25))
            #expect(settings.postprocessing.keepLargest == [[1, 7], [7]])
            #expect(first.patchSize == [8, 16, 24] && first.oneHotLabels == [] && first.inputChannels == 1)
            #expect(first.normalizations == [[.zScore(usesMask: true)]])
            #expect(last.isPlanar && last.patchSize == [1, 64, 32] && last.spacing == [nil, 1.5, 2])
            #expect(last.mirroringAxes == [1, 2] && last.transpose == [2, 0, 1])
            #expect(last.oneHotLabels == [7, 1] && last.inputChannels == 3)
        }
    }

    @Test("a package can follow MONAI's transforms and sliding window")
    func monai() throws {
        let section = """
            {"orientation": "RAS", "transpose": [2, 1, 0], "spacing": [1.5, 1.5, 2], "patchSize": [32, 32, 16],
             "tileStep": 0.75, "tiling": {"positions": "interval", "weights": "centredGaussian", "padding": "edge"},
             "normalizeAfterResampling": true, "networks": ["nets/network.onnx"],
             "resampling": {"image": {"method": "monai", "order": 1},
               "logits": {"method": "monai", "order": 1, "values": "probabilities"}}}
            """
        try TemporaryFolder.with { place in
            let text = try PackageBuilder.document(changing: "volumeSegmentation", to: section)
            let package = try ModelPackage.checked(folder: PackageBuilder.write(text, into: place))
            let level = try VolumeSegmentationSettings(package).levels[0]
            #expect(level.tiling.rule == TilingRule(positions: .interval, padding: .edge))
            #expect(level.tiling.weights == .centredGaussian && level.normalizesAfterResampling)
            #expect(level.imageResampling.method == .monai && level.resamplesProbabilities)
        }
        let schemes: [(String, [Normalization])] = [
            (#"{"scheme": "zScore", "nonzero": true}"#, [.zScoreOfNonzero]),
            (#"{"scheme": "linear", "mean": 3, "standardDeviation": 2}"#, [.linear(mean: 3, deviation: 2)]),
            (
                #"{"scheme": "rescale", "lowerBound": -1, "upperBound": 1}"#,
                [.rescale(lower: -1, upper: 1)]
            ),
            (
                #"[{"scheme": "quantiles", "lower": 0.01, "upper": 0.99, "clip": true}, {"scheme": "zScore", "nonzero": true}]"#,
                [.quantiles(lower: 0.01, upper: 0.99, clips: true), .zScoreOfNonzero]
            ),
        ]
        for (text, scheme) in schemes {
            try TemporaryFolder.with { place in
                let text = try PackageBuilder.document(changing: "channels.0.normalization", to: text)
                let package = try ModelPackage.checked(folder: PackageBuilder.write(text, into: place))
                #expect(package.channels[0].normalizations == scheme)
            }
        }
    }

    @Test("a document with a fault is refused, naming file and key", arguments: Refusal.all)
    func refused(_ refusal: Refusal) throws {
        try TemporaryFolder.with { place in
            let text = try PackageBuilder.document(changing: refusal.path, to: refusal.text)
            let folder = try PackageBuilder.write(text, into: place)
            let error = try #require(throws: ModelPackageError.self) { try ModelPackage.checked(folder: folder) }
            #expect(error.code == refusal.code)
            #expect(error.key == refusal.key)
            #expect(error.file == folder + "/model.json")
            #expect(error.description.hasPrefix(folder + "/model.json: "))
            #expect(!error.detail.isEmpty)
        }
    }

    @Test(
        "an error reads as file, key, fact, next step",
        arguments: [
            ("labels.0.value", "65536", "labels[0].value is 65536, not from 1 to 65535"),
            ("labels.0.name", "5", "labels[0].name is not a text"),
            ("labels.0.value", "1.5", "labels[0].value is 1.5, not an integer"),
            ("labels", "\"x\"", "labels is not a list"),
            (
                "volumeSegmentation.cropToNonzero", "1",
                "volumeSegmentation.cropToNonzero is not true or false"
            ),
        ]
    )
    func wording(path: String, text: String, fault: String) throws {
        try TemporaryFolder.with { place in
            let folder = try PackageBuilder.write(PackageBuilder.document(changing: path, to: text), into: place)
            let error = try #require(throws: ModelPackageError.self) { try ModelPackage.checked(folder: folder) }
            #expect(error.description == "\(folder)/model.json: \(fault). Correct the file")
        }
    }

    @Test("what is not JSON is refused", arguments: ["", "[]", "3", "{", "{]", "\u{0}", "{\"schemaVersion\": NaN}"])
    func notJSON(text: String) throws {
        try TemporaryFolder.with { place in
            let folder = try PackageBuilder.write(text, into: place)
            let error = try #require(throws: ModelPackageError.self) { try ModelPackage.checked(folder: folder) }
            #expect([.notJSON, .invalidValue].contains(error.code))
        }
    }

    @Test("no prefix of a document passes")
    func truncated() throws {
        try TemporaryFolder.with { place in
            let bytes = Array(PackageBuilder.document.utf8)
            for count in stride(from: 0, to: bytes.count - 1, by: 13) {
                let text = String(decoding: bytes[..<count], as: UTF8.self)
                let folder = try PackageBuilder.write(text, into: place)
                #expect(throws: ModelPackageError.self) { try ModelPackage.checked(folder: folder) }
            }
        }
    }

    @Test("files that are missing, cut, changed or no files are refused by name")
    func files() throws {
        try TemporaryFolder.with { place in
            let folder = try PackageBuilder.write(into: place)
            let network = folder + "/nets/network.onnx"
            func error(verifyDigests: Bool = true) throws -> ModelPackageError {
                try #require(throws: ModelPackageError.self) {
                    try ModelPackage.checked(folder: folder, verifyDigests: verifyDigests)
                }
            }
            var changed = PackageBuilder.network
            changed[3] ^= 1
            try PackageBuilder.write(network: changed, into: place)
            #expect(try error().code == .damaged)
            #expect(try error().file == network)
            #expect(try error().detail.hasSuffix("found " + PackageBuilder.digest(changed)))
            _ = try ModelPackage.checked(folder: folder, verifyDigests: false)

            try PackageBuilder.write(network: Array(changed.dropLast()), into: place)
            #expect(try error(verifyDigests: false).code == .damaged)
            let damage = "is damaged: expected 20 bytes, found 19 bytes. Copy the package again"
            #expect(try error().description == "\(network) \(damage)")

            try FileManager.default.removeItem(atPath: network)
            #expect(try error().code == .unreadableFile)
            try FileManager.default.createDirectory(atPath: network, withIntermediateDirectories: false)
            #expect(try error().code == .unreadableFile)
            #expect(try error().detail == "cannot be read: not a regular file")

            let missing = try #require(throws: ModelPackageError.self) {
                try ModelPackage.checked(folder: folder + "x")
            }
            #expect(missing.code == .unreadableFile && missing.file == folder + "x/model.json")
        }
    }

    @Test("files larger than a block are digested whole")
    func largeFile() throws {
        try TemporaryFolder.with { place in
            let bytes = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 >> 8) }
            let text = PackageBuilder.document
                .replacing(PackageBuilder.digest(PackageBuilder.network), with: PackageBuilder.digest(bytes))
                .replacing("\"bytes\": 20", with: "\"bytes\": \(bytes.count)")
            _ = try ModelPackage.checked(folder: PackageBuilder.write(text, network: bytes, into: place))
        }
    }

    @Test("colours are read and written")
    func colours() {
        #expect(LabelColor("#00000f")?.description == "#00000f")
        #expect(LabelColor("#ABCDEF")?.description == "#abcdef")
        for bad in ["", "#", "abcdef0", "#abcdeg", "#abcdef0", "#١٢٣٤٥٦"] { #expect(LabelColor(bad) == nil) }
    }
}
