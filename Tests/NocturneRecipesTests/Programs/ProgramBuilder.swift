import Foundation
import NocturneSystem
import NocturneTestSupport

/// Writes packages of several networks, each of which compares voxels with a threshold.
struct ProgramBuilder {
    /// The members: the logits of the network of `name` are 0.5 and x minus `shift`, so that its label is where voxels are
    /// above 0.5 plus `shift`.
    var shifts: [(name: String, shift: Double)] = [("low", 0), ("high", 4.5)]
    /// Of the members (0 = z, 1 = y, 2 = x).
    var mirroringAxes: [Int] = []
    var labels = [(value: 1, name: "outer"), (value: 2, name: "inner")]
    /// The section `volumeProgram`.
    var section: String
    /// Of the members; nil for none.
    var logitBlur: [Double]? = nil

    private static func entry(_ path: String, in folder: TemporaryFolder) throws -> [String: Any] {
        let bytes = try FileSystem.read(folder(path).path)
        return ["path": path, "sha256": PackageBuilder.digest(bytes), "bytes": bytes.count]
    }

    /// - Returns: the path of the package, in the folder `program`.
    func write(into folder: TemporaryFolder) throws -> String {
        let original = Fixtures.url("Models/threshold").path
        var files: [[String: Any]] = []
        for (name, shift) in shifts {
            let place = "program/parts/\(name)"
            let network = try FileSystem.read(original + "/network.onnx")
            try folder.write(network, to: "\(place)/network.onnx")
            let text = try FileSystem.read(original + "/model.json")
            guard var document = try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any],
                var level = document["volumeSegmentation"] as? [String: Any]
            else { continue }
            // Whatever grid it gets, without resampling.
            level["spacing"] = NSNull()
            level["mirroringAxes"] = mirroringAxes
            if let logitBlur { level["logitBlur"] = logitBlur }
            document["volumeSegmentation"] = level
            let normalization: [String: Any] = [
                "scheme": "ct", "lowerBound": -1000, "upperBound": 1000, "mean": shift, "standardDeviation": 1,
            ]
            document["id"] = name
            document["channels"] = [["name": "image", "normalization": normalization] as [String: Any]]
            try folder.write(Array(try JSONSerialization.data(withJSONObject: document)), to: "\(place)/model.json")
            for file in ["network.onnx", "model.json"] {
                var entry = try Self.entry("\(place)/\(file)", in: folder)
                entry["path"] = "parts/\(name)/\(file)"
                files.append(entry)
            }
        }
        let program: [String: Any] = [
            "schemaVersion": 2, "id": "program", "name": "Program, synthetic", "version": "1.0.0",
            "licence": "Apache-2.0", "task": "volume-program", "files": files,
            "channels": [["name": "image", "normalization": ["scheme": "none"]] as [String: Any]],
            "labels": labels.map { ["value": $0.value, "name": $0.name, "color": "#0A43CC"] as [String: Any] },
            "volumeProgram": try JSONSerialization.jsonObject(with: Data(section.utf8)),
        ]
        try folder.write(Array(try JSONSerialization.data(withJSONObject: program)), to: "program/model.json")
        return folder("program").path
    }
}

extension ProgramBuilder {
    /// Both members, merged: what is above 5 is inner, what is above 0.5 elsewhere outer.
    static let merged = """
        {"parts": [{"packages": ["parts/low"], "labels": {"1": 1}}, {"packages": ["parts/high"], "labels": {"1": 2}}]}
        """

    /// What is above 0.5, in the region around what is above 5.
    static let region = """
        {"region": {"package": "parts/high", "marginMm": 2}, "parts": [{"packages": ["parts/low"], "labels": {"1": 1}}]}
        """
}
