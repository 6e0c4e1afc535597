import Foundation
import NocturneCore
import NocturneInference
import NocturneRecipes
import NocturneSystem
import NocturneTestSupport

/// Writes small model packages, whole or damaged at one place.
struct PackageBuilder {
    static let network: [UInt8] = Array("not really a network".utf8)

    static func digest(_ bytes: [UInt8]) -> String {
        var digester = ContentDigester()
        digester.update(bytes)
        return digester.finish().hex
    }

    static let document = """
        {
          "schemaVersion": 2, "id": "urinary-tract-ct", "name": "Urinary tract", "description": "Kidneys and bladder",
          "version": "1.0.0", "licence": "Apache-2.0", "task": "volume-segmentation",
          "files": [{"path": "nets/network.onnx", "sha256": "\(digest(network))", "bytes": \(network.count)}],
          "modalities": ["CT"],
          "channels": [{"name": "CT", "normalization": {"scheme": "ct", "lowerBound": -200, "upperBound": 600,
            "mean": 50.5, "standardDeviation": 120.25}}],
          "labels": [
            {"value": 1, "name": "left_kidney", "color": "#d45555",
              "code": {"scheme": "SCT", "value": "18639004", "meaning": "Left kidney"}, "expected": true},
            {"value": 7, "name": "bladder", "color": "#00FF0a"}],
          "volumeSegmentation": {"orientation": "RAS", "spacing": [3, 1.5, 2], "patchSize": [64, 48, 32],
            "tileStep": 0.5, "mirroringAxes": [2, 0], "cropToNonzero": true,
            "resampling": {"image": {"order": 1, "separateZ": "never"}, "logits": {"method": "torch"}}, "networks": ["nets/network.onnx"],
            "postprocessing": {"keepLargest": ["left_kidney"], "fillHoles": ["bladder"],
              "minimumVolumeMm3": {"bladder": 100},
              "morphology": [{"operation": "close", "labels": ["bladder"], "radiusMm": 2.5},
                {"operation": "smooth", "labels": ["left_kidney", "bladder"], "sigmaMm": 1}]}}
        }
        """

    /// The document with the value at `path` (keys and indices, cut at dots) replaced by JSON `text`, or removed.
    static func document(changing path: String, to text: String?) throws -> String {
        let value = try text.map { try JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed) }
        let whole = try JSONSerialization.jsonObject(with: Data(document.utf8))
        let changed = change(whole, path.split(separator: ".").map(String.init)[...], value)
        return String(decoding: try JSONSerialization.data(withJSONObject: changed), as: UTF8.self)
    }

    private static func change(_ node: Any, _ path: ArraySlice<String>, _ value: Any?) -> Any {
        guard let key = path.first else { return value ?? node }
        let last = path.count == 1
        if var object = node as? [String: Any] {
            object[key] = last ? value : change(object[key] ?? [String: Any](), path.dropFirst(), value)
            return object
        }
        if var list = node as? [Any], let index = Int(key) {
            if index == list.count, let value {
                list.append(value)
            } else if last && value == nil {
                list.remove(at: index)
            } else {
                list[index] = change(list[index], path.dropFirst(), value)
            }
            return list
        }
        return node
    }

    /// Writes a package into `folder` of `place` and returns its path.
    @discardableResult
    static func write(
        _ text: String = document,
        network: [UInt8] = network,
        into place: TemporaryFolder,
        folder: String = "package"
    ) throws -> String {
        try place.write(text, to: "\(folder)/model.json")
        try place.write(network, to: "\(folder)/nets/network.onnx")
        return place(folder).path
    }
}

extension PackageBuilder {
    /// Writes a package of the fixtures with changes.
    /// - Parameter change: of the document without its section, and of the section.
    /// - Returns: the path of the package, in the folder `variant`.
    static func variant(
        of fixture: String,
        task: String = "volume-segmentation",
        section: String = "volumeSegmentation",
        in place: TemporaryFolder,
        _ change: (_ document: inout [String: Any], _ section: inout [String: Any]) -> Void
    ) throws -> String {
        let source = Fixtures.url(fixture).path
        let text = Data(try FileSystem.read(source + "/model.json"))
        guard var document = try JSONSerialization.jsonObject(with: text) as? [String: Any],
            var own = document.removeValue(forKey: section) as? [String: Any]
        else { return "" }
        change(&document, &own)
        document["task"] = task
        document["volumeSegmentation"] = own
        try place.write(Array(try JSONSerialization.data(withJSONObject: document)), to: "variant/model.json")
        try place.write(try FileSystem.read(source + "/network.onnx"), to: "variant/network.onnx")
        return place("variant").path
    }

    /// The entry of `files` once more.
    static let fileEntry = #"{"path": "nets/network.onnx", "sha256": "\#(digest(network))", "bytes": 20}"#
}

extension ModelPackage {
    /// Loads a package and checks the section of its task, as the program does.
    static func checked(
        folder: String,
        verifyDigests: Bool = true
    ) throws(ModelPackageError) -> ModelPackage {
        try load(folder: folder, verifyDigests: verifyDigests) { package throws(ModelPackageError) in
            try RecipeRegistry.all.validate(package)
        }
    }
}
