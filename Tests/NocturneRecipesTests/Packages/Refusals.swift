import NocturneInference
import NocturneSystem
import Testing

/// A change to the good document, and how it has to be refused.
struct Refusal: Sendable, CustomTestStringConvertible {
    let path: String
    let text: String?
    let code: ModelPackageError.Code
    let key: String?

    init(_ path: String, _ text: String?, _ code: ModelPackageError.Code, _ key: String?) {
        self.path = path
        self.text = text
        self.code = code
        self.key = key
    }

    var testDescription: String { "\(path) = \(text?.prefix(60) ?? "nothing")" }
}

extension Refusal {
    private static let volume = "volumeSegmentation"
    /// One more than a list may have.
    private static func many(_ entry: String) -> String {
        "[" + [String](repeating: entry, count: 1001).joined(separator: ",") + "]"
    }

    static let all: [Refusal] = [
        Refusal("schemaVersion", "1", .invalidValue, "schemaVersion"),
        Refusal("schemaVersion", nil, .missingKey, "schemaVersion"),
        Refusal("schemaVersion", "\"1\"", .invalidValue, "schemaVersion"),
        Refusal("id", nil, .missingKey, "id"), Refusal("id", "null", .missingKey, "id"),
        Refusal("id", "3", .invalidValue, "id"), Refusal("id", "\"a b\"", .invalidValue, "id"),
        Refusal("id", "\"\"", .invalidValue, "id"), Refusal("id", "\"../x\"", .invalidValue, "id"),
        Refusal("name", "\"\"", .invalidValue, "name"), Refusal("version", "\"\"", .invalidValue, "version"),
        Refusal("name", "\"a\\u202Eb\"", .invalidValue, "name"),
        Refusal("version", "\"1\\n2\"", .invalidValue, "version"),
        Refusal("licence", "\"\"", .invalidValue, "licence"), Refusal("licence", nil, .missingKey, "licence"),
        Refusal("task", "\"magic\"", .invalidValue, "task"),
        Refusal("files", "[]", .invalidValue, "files"), Refusal("files", "{}", .invalidValue, "files"),
        Refusal("files", many(PackageBuilder.fileEntry), .invalidValue, "files"),
        Refusal("\(volume).networks", many("\"network.onnx\""), .invalidValue, "\(volume).networks"),
        Refusal("files.0.path", "\"../network.onnx\"", .invalidValue, "files[0].path"),
        Refusal("files.0.path", "\"nets/../../network.onnx\"", .invalidValue, "files[0].path"),
        Refusal("files.0.path", "\"/etc/passwd\"", .invalidValue, "files[0].path"),
        Refusal("files.0.path", "\"./network.onnx\"", .invalidValue, "files[0].path"),
        Refusal("files.0.path", "\"nets//network.onnx\"", .invalidValue, "files[0].path"),
        Refusal("files.0.path", "\"nets/network.onnx/\"", .invalidValue, "files[0].path"),
        Refusal("files.0.path", "\"..\\\\network.onnx\"", .invalidValue, "files[0].path"),
        Refusal("files.0.path", "\"a\\u0000b\"", .invalidValue, "files[0].path"),
        Refusal("files.0.path", "\"\"", .invalidValue, "files[0].path"),
        Refusal("files.0.sha256", "\"abc\"", .invalidValue, "files[0].sha256"),
        Refusal("files.0.bytes", "0", .invalidValue, "files[0].bytes"),
        Refusal("files.0.bytes", "-5", .invalidValue, "files[0].bytes"),
        Refusal("files.0.bytes", "1.5", .invalidValue, "files[0].bytes"),
        Refusal("files.0.bytes", "9223372036854775807", .invalidValue, "files[0].bytes"),
        Refusal("files.0.bytes", "2147483649", .invalidValue, "files[0].bytes"),
        Refusal("files.1", PackageBuilder.fileEntry, .invalidValue, "files[1].path"),
        Refusal("modalities", "[\"CT\", \"PET\"]", .invalidValue, "modalities[1]"),
        Refusal("channels", "[]", .invalidValue, "channels"), Refusal("channels", nil, .invalidValue, "channels"),
        Refusal("channels.0.name", "\"\"", .invalidValue, "channels[0].name"),
        Refusal(
            "channels.1",
            #"{"name": "CT", "normalization": {"scheme": "none"}}"#,
            .invalidValue,
            "channels[1].name"
        ),
        Refusal("channels.0.normalization", nil, .missingKey, "channels[0].normalization"),
        Refusal("channels.0.normalization.scheme", "\"CT\"", .invalidValue, "channels[0].normalization.scheme"),
        Refusal("channels.0.normalization.mean", nil, .missingKey, "channels[0].normalization.mean"),
        Refusal("channels.0.normalization.mean", "1e300", .invalidValue, "channels[0].normalization.mean"),
        Refusal(
            "channels.0.normalization.standardDeviation",
            "0",
            .invalidValue,
            "channels[0].normalization.standardDeviation"
        ),
        Refusal("channels.0.normalization.upperBound", "-200", .invalidValue, "channels[0].normalization.upperBound"),
        Refusal("labels", "[]", .invalidValue, "labels"),
        Refusal("labels.0.value", "0", .invalidValue, "labels[0].value"),
        Refusal("labels.0.value", "65536", .invalidValue, "labels[0].value"),
        Refusal("labels.0.value", "-1", .invalidValue, "labels[0].value"),
        Refusal("labels.0.value", "7", .invalidValue, "labels[1].value"),
        Refusal("labels.1.name", "\"left_kidney\"", .invalidValue, "labels[1].name"),
        Refusal("labels.1.name", "\"Left_Kidney\"", .invalidValue, "labels[1].name"),
        Refusal("labels.1.name", "\".hidden\"", .invalidValue, "labels[1].name"),
        Refusal("labels.1.name", "\"a/b\"", .invalidValue, "labels[1].name"),
        Refusal("labels.1.name", "\"Blase ü\"", .invalidValue, "labels[1].name"),
        Refusal("labels.1.title", "\"\"", .invalidValue, "labels[1].title"),
        Refusal("labels.1.title", "\"two\\nlines\"", .invalidValue, "labels[1].title"),
        Refusal("labels.1.color", "\"red\"", .invalidValue, "labels[1].color"),
        Refusal("labels.1.color", "\"#12345\"", .invalidValue, "labels[1].color"),
        Refusal("labels.1.color", "\"#+12345\"", .invalidValue, "labels[1].color"),
        Refusal("labels.0.code.meaning", nil, .missingKey, "labels[0].code.meaning"),
        Refusal("licens", "\"MIT\"", .unknownKey, "licens"), Refusal("channel", "[]", .unknownKey, "channel"),
        Refusal("files.0.size", "20", .unknownKey, "files[0].size"),
        Refusal("labels.1.colour", "\"#000000\"", .unknownKey, "labels[1].colour"),
        Refusal("channels.0.normalization.std", "3", .unknownKey, "channels[0].normalization.std"),
        Refusal("\(volume).mirroringAxis", "[0]", .unknownKey, "\(volume).mirroringAxis"),
        Refusal("postprocessing", "{\"keepLargest\": [\"bladder\"]}", .unknownKey, "postprocessing"),
        Refusal("\(volume).resampling.image.ordre", "1", .unknownKey, "\(volume).resampling.image.ordre"),
        Refusal("\(volume).postprocessing.holes", "true", .unknownKey, "\(volume).postprocessing.holes"),
        Refusal(volume, nil, .missingKey, volume),
        Refusal("\(volume).orientation", "\"LPI\"", .invalidValue, "\(volume).orientation"),
        Refusal("\(volume).spacing", "[1, 1]", .invalidValue, "\(volume).spacing"),
        Refusal("\(volume).spacing", "[1, 0, 1]", .invalidValue, "\(volume).spacing"),
        Refusal("\(volume).spacing", "[1, -1, 1]", .invalidValue, "\(volume).spacing"),
        Refusal("\(volume).spacing", "[1, 1e9, 1]", .invalidValue, "\(volume).spacing"),
        Refusal("\(volume).patchSize", "[64]", .invalidValue, "\(volume).patchSize"),
        Refusal("\(volume).patchSize", "[64, 64]", .invalidValue, "\(volume).spacing"),
        Refusal("\(volume).transpose", "[0, 2, 2]", .invalidValue, "\(volume).transpose"),
        Refusal("\(volume).inputFormat", "\"png\"", .invalidValue, "\(volume).inputFormat"),
        Refusal("\(volume).output", "\"masks\"", .invalidValue, "\(volume).output"),
        Refusal(
            "\(volume).previousStage",
            "{\"patchSize\": [8, 8, 8]}",
            .missingKey,
            "\(volume).previousStage.networks"
        ),
        Refusal(
            "\(volume).previousStage",
            "{\"patchSize\": [8, 8, 8], \"networks\": [\"nets/network.onnx\"], \"oneHotLabels\": [2]}",
            .invalidValue,
            "\(volume).previousStage.oneHotLabels[0]"
        ),
        Refusal("channels.0.normalization.useMask", "true", .invalidValue, "channels[0].normalization.useMask"),
        Refusal("\(volume).patchSize", "[64, 0, 64]", .invalidValue, "\(volume).patchSize"),
        Refusal("\(volume).patchSize", "[64, 1025, 64]", .invalidValue, "\(volume).patchSize"),
        Refusal("\(volume).patchSize", "[64, 8193]", .invalidValue, "\(volume).patchSize"),
        Refusal("\(volume).size", "[64, 64, 64]", .invalidValue, "\(volume).size"),
        Refusal(
            volume,
            #"{"patchSize": [64, 48, 32], "networks": ["nets/network.onnx"], "size": [64, 64]}"#,
            .invalidValue,
            "\(volume).size"
        ),
        Refusal(
            volume,
            #"""
            {"patchSize": [64, 48, 32], "networks": ["nets/network.onnx"], "size": [64],
             "resampling": {"image": {"method": "none"}}}
            """#,
            .invalidValue,
            "\(volume).size"
        ),
        Refusal("\(volume).patchSize", nil, .missingKey, "\(volume).patchSize"),
        Refusal("\(volume).tileStep", "0", .invalidValue, "\(volume).tileStep"),
        Refusal("\(volume).tileStep", "1.01", .invalidValue, "\(volume).tileStep"),
        Refusal("\(volume).tiling", "{\"positions\": \"random\"}", .invalidValue, "\(volume).tiling.positions"),
        Refusal("\(volume).tiling", "{\"weights\": \"cosine\"}", .invalidValue, "\(volume).tiling.weights"),
        Refusal("\(volume).tiling", "{\"padding\": \"reflect\"}", .invalidValue, "\(volume).tiling.padding"),
        Refusal("\(volume).resampling.image.method", "\"monai\"", .invalidValue, "\(volume).resampling.logits.method"),
        Refusal(
            "\(volume).resampling",
            "{\"image\": {\"method\": \"monai\"}, \"logits\": {\"method\": \"monai\"}}",
            .invalidValue,
            "\(volume).resampling.image.order"
        ),
        Refusal("\(volume).resampling.logits.values", "\"odds\"", .invalidValue, "\(volume).resampling.logits.values"),
        Refusal("\(volume).resampling.image.values", "\"logits\"", .unknownKey, "\(volume).resampling.image.values"),
        Refusal("\(volume).threshold", "0.3", .invalidValue, "\(volume).threshold"),
        Refusal("\(volume).cropAbove", "0.5", .invalidValue, "\(volume).cropAbove"),
        Refusal("\(volume).marginMm", "-1", .invalidValue, "\(volume).marginMm"),
        Refusal("\(volume).marginVoxels", "1001", .invalidValue, "\(volume).marginVoxels"),
        Refusal("\(volume).marginShare", "-0.1", .invalidValue, "\(volume).marginShare"),
        Refusal("\(volume).padMargin", "true", .invalidValue, "\(volume).padMargin"),
        Refusal("\(volume).logitBlur", "[1, 1]", .invalidValue, "\(volume).logitBlur"),
        Refusal("\(volume).logitBlur", "[1, -1, 1]", .invalidValue, "\(volume).logitBlur[1]"),
        Refusal("\(volume).logitBlur", "[1, 1, 101]", .invalidValue, "\(volume).logitBlur[2]"),
        Refusal("\(volume).logitBlur", "2.5", .invalidValue, "\(volume).logitBlur"),
        Refusal(
            volume,
            #"{"patchSize": [64, 48, 32], "networks": ["nets/network.onnx"], "marginVoxels": 3}"#,
            .invalidValue,
            "\(volume).cropToNonzero"
        ),
        Refusal(
            volume,
            #"{"patchSize": [64, 48, 32], "networks": ["nets/network.onnx"], "cropAfterNormalization": true}"#,
            .invalidValue,
            "\(volume).cropToNonzero"
        ),
        Refusal(
            volume,
            #"""
            {"patchSize": [64, 48, 32], "networks": ["nets/network.onnx"], "cropToNonzero": true,
             "cropAfterNormalization": true, "output": "regions", "threshold": 0.3}
            """#,
            .invalidValue,
            "\(volume).cropAfterNormalization"
        ),
        Refusal("\(volume).orientAfterSpacing", "true", .invalidValue, "\(volume).orientAfterSpacing"),
        Refusal("channels.0.normalization.clip", "true", .invalidValue, "channels[0].normalization.clip"),
        Refusal("channels.0.normalization", "[]", .invalidValue, "channels[0].normalization"),
        Refusal(
            "channels.0.normalization",
            #"[{"scheme": "none"}, {"scheme": "zScore", "useMask": true}]"#,
            .invalidValue,
            "channels[0].normalization[1].useMask"
        ),
        Refusal(
            "channels.0.normalization",
            #"[{"scheme": "none"}, {"scheme": "CT"}]"#,
            .invalidValue,
            "channels[0].normalization[1].scheme"
        ),
        Refusal("channels.0.normalization.nonzero", "true", .invalidValue, "channels[0].normalization.nonzero"),
        Refusal(
            "channels.0.normalization",
            "{\"scheme\": \"rescale\", \"lowerBound\": 1, \"upperBound\": 1}",
            .invalidValue,
            "channels[0].normalization.upperBound"
        ),
        Refusal(
            "channels.0.normalization",
            "{\"scheme\": \"linear\", \"mean\": 1}",
            .missingKey,
            "channels[0].normalization.standardDeviation"
        ),
        Refusal("\(volume).mirroringAxes", "[0, 0]", .invalidValue, "\(volume).mirroringAxes"),
        Refusal("\(volume).mirroringAxes", "[3]", .invalidValue, "\(volume).mirroringAxes"),
        Refusal("\(volume).resampling.image.order", "2", .invalidValue, "\(volume).resampling.image.order"),
        Refusal("\(volume).resampling.logits.orderZ", "-1", .invalidValue, "\(volume).resampling.logits.orderZ"),
        Refusal("\(volume).resampling.image.method", "\"sinc\"", .invalidValue, "\(volume).resampling.image.method"),
        Refusal("\(volume).resampling.image.separateZ", "true", .invalidValue, "\(volume).resampling.image.separateZ"),
        Refusal("\(volume).networks", "[]", .invalidValue, "\(volume).networks"),
        Refusal("\(volume).networks.0", "\"other.onnx\"", .invalidValue, "\(volume).networks[0]"),
        Refusal("\(volume).networks.1", "\"nets/network.onnx\"", .invalidValue, "\(volume).networks[1]"),
        Refusal(
            "\(volume).postprocessing.keepLargest.0",
            "\"spleen\"",
            .invalidValue,
            "\(volume).postprocessing.keepLargest[0]"
        ),
        Refusal(
            "\(volume).postprocessing.fillHoles.1",
            "\"bladder\"",
            .invalidValue,
            "\(volume).postprocessing.fillHoles"
        ),
        Refusal(
            "\(volume).postprocessing.minimumVolumeMm3.spleen",
            "5",
            .invalidValue,
            "\(volume).postprocessing.minimumVolumeMm3"
        ),
        Refusal(
            "\(volume).postprocessing.minimumVolumeMm3.bladder",
            "-5",
            .invalidValue,
            "\(volume).postprocessing.minimumVolumeMm3.bladder"
        ),
        Refusal(
            "\(volume).postprocessing.morphology.0.operation",
            "\"grow\"",
            .invalidValue,
            "\(volume).postprocessing.morphology[0].operation"
        ),
        Refusal(
            "\(volume).postprocessing.morphology.0.labels",
            "[]",
            .invalidValue,
            "\(volume).postprocessing.morphology[0].labels"
        ),
        Refusal(
            "\(volume).postprocessing.morphology.1.labels",
            "[\"spleen\"]",
            .invalidValue,
            "\(volume).postprocessing.morphology[1].labels"
        ),
        Refusal(
            "\(volume).postprocessing.morphology.0.radiusMm",
            "0",
            .invalidValue,
            "\(volume).postprocessing.morphology[0].radiusMm"
        ),
        Refusal(
            "\(volume).postprocessing.morphology.0.radiusMm",
            "100.5",
            .invalidValue,
            "\(volume).postprocessing.morphology[0].radiusMm"
        ),
        Refusal(
            "\(volume).postprocessing.morphology.0.sigmaMm",
            "1",
            .invalidValue,
            "\(volume).postprocessing.morphology[0].sigmaMm"
        ),
        Refusal(
            "\(volume).postprocessing.morphology.1.radiusMm",
            "1",
            .invalidValue,
            "\(volume).postprocessing.morphology[1].radiusMm"
        ),
        Refusal(
            "\(volume).postprocessing.morphology.1.sigmaMm",
            nil,
            .missingKey,
            "\(volume).postprocessing.morphology[1].sigmaMm"
        ),
    ]
}
