import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport

/// What pydicom and dcm2niix said of one series, or one file, of the shared data.
struct DICOMFacts {
    let modality: String
    let files: Int
    /// Rows of the affine to RAS+, of four digits.
    let affine: [[Double]]?
    let storedMinimum: Double?
    let storedMaximum: Double?
    let rescaledMean: Double?
    let pixelDigest: String?
    let samples: Int?
    let frames: Int?
    let bitsAllocated: Int?

    init(_ json: [String: Any]) {
        func number(_ key: String) -> Double? { (json[key] as? NSNumber)?.doubleValue }
        modality = json["modality"] as? String ?? ""
        files = (json["files"] as? NSNumber)?.intValue ?? 0
        affine = json["affine_ras_sheared"] as? [[Double]]
        storedMinimum = number("stored_min")
        storedMaximum = number("stored_max")
        rescaledMean = number("rescaled_mean")
        pixelDigest = json["pixels_sha256"] as? String
        samples = (json["samples"] as? NSNumber)?.intValue
        frames = (json["frames"] as? NSNumber)?.intValue
        bitsAllocated = (json["bits"] as? [Any])?.last.flatMap { ($0 as? NSNumber)?.intValue }
    }

    /// Facts by folder or file; a folder has one for each series. Nil without the shared data.
    static let all: [String: [DICOMFacts]]? = load()?.mapValues { entry in
        if let series = entry["series"] as? [[String: Any]] { return series.map(DICOMFacts.init) }
        return [DICOMFacts(entry)]
    }

    /// The grids of dcm2niix's outputs by folder.
    static let converted: [String: [(shape: [Int], affine: [[Double]])]] =
        (load() ?? [:]).compactMapValues { entry in
            let outputs = (entry["dcm2niix"] as? [String: Any])?["outputs"] as? [String: [String: Any]]
            return outputs?.sorted { $0.key < $1.key }.compactMap { output in
                guard let shape = output.value["shape"] as? [Int], let affine = output.value["affine"] as? [[Double]]
                else { return nil }
                return (shape, affine)
            }
        }

    /// The means of dcm2niix's outputs by folder.
    static let convertedMeans: [String: [Double]] = (load() ?? [:]).compactMapValues { entry in
        let outputs = (entry["dcm2niix"] as? [String: Any])?["outputs"] as? [String: [String: Any]]
        return outputs?.values.compactMap { ($0["mean"] as? NSNumber)?.doubleValue }
    }

    private static func load() -> [String: [String: Any]]? {
        guard let url = SharedData.url("facts.json"), let data = try? Data(contentsOf: url),
            let json = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        else { return nil }
        return json["dicom_series"] as? [String: [String: Any]]
    }

    /// SHA-256 over stored values as little-endian 32-bit integers, as the facts have it.
    static func digest(_ values: [[Float]]) -> String {
        var digester = ContentDigester()
        for slice in values {
            let integers = slice.map { Int32($0).littleEndian }
            integers.withUnsafeBytes { digester.update($0) }
        }
        return digester.finish().hex
    }
}

extension DICOMFacts {
    /// The same over 64-bit floats.
    static func realDigest(_ values: [[Float]]) -> String {
        var digester = ContentDigester()
        for slice in values { slice.map(Double.init).withUnsafeBytes { digester.update($0) } }
        return digester.finish().hex
    }
}

/// The files right inside, or anywhere below, a folder of the shared data.
func sharedFiles(_ folder: String, deep: Bool = false) -> [String]? {
    guard let url = SharedData.url(folder) else { return nil }
    let manager = FileManager.default
    let names =
        (try? deep ? manager.subpathsOfDirectory(atPath: url.path) : manager.contentsOfDirectory(atPath: url.path))
    return (names ?? []).map { url.appendingPathComponent($0).path }.filter { path in
        var isFolder: ObjCBool = false
        return manager.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
    }
}

/// The eight outermost voxel centres of a grid.
func corners(_ geometry: VolumeGeometry) -> [SIMD3<Double>] {
    (0..<8).map { corner in
        geometry.affine(
            SIMD3(
                corner & 1 == 0 ? 0 : Double(geometry.shape.x - 1),
                corner & 2 == 0 ? 0 : Double(geometry.shape.y - 1),
                corner & 4 == 0 ? 0 : Double(geometry.shape.z - 1)
            )
        )
    }
}
