import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
import NocturneSystem

/// The DICOM files among those found, and those that a DICOMDIR among them names.
enum DICOMFiles {
    /// - Returns: the scan, and every file it speaks of by its path.
    static func scan(
        _ files: [FoundFile],
        _ request: DiscoveryRequest,
        corrects: Bool,
        scope: ComputeScope,
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)? = nil
    ) throws -> (scan: DICOMScan, byPath: [String: FoundFile]) {
        var byPath = Dictionary(uniqueKeysWithValues: files.map { ($0.path, $0) })
        // What was left out by a pattern stays out, even where a directory names it.
        let scan = try DICOMScanner.scan(
            paths: files.map(\.path),
            scope: scope,
            corrects: corrects,
            progress: progress,
            looking: { request.trace.willRead($0) },
            admits: { path, directory in
                byPath[directory].map { request.admits(named(path, by: $0)) } ?? false
            }
        )
        request.trace.end()
        for (path, directory) in scan.named {
            if let directory = byPath[directory] { byPath[path] = named(path, by: directory) }
        }
        return (scan, byPath)
    }

    /// What the reader of a refusal can do about it.
    static func hint(_ series: DICOMSeries) -> String {
        guard let correction = series.possibleCorrection else { return "" }
        let shape = correction.geometry.shape
        return "; --fix-tilt resamples it to \(shape.x)×\(shape.y)×\(shape.z) voxels"
    }

    private static func folder(_ path: String) -> String { (path as NSString).deletingLastPathComponent }

    /// A file that a directory names, with the name it has below the input.
    private static func named(_ path: String, by directory: FoundFile) -> FoundFile {
        let below = path.dropFirst(folder(directory.path).count + 1)
        let parent = folder(directory.name)
        return FoundFile(path: path, name: parent.isEmpty ? String(below) : parent + "/" + below, root: directory.root)
    }
}
