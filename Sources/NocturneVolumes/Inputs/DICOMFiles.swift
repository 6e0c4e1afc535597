import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
import NocturneSystem

/// The DICOM files among the files found, and those listed by a DICOMDIR among them.
enum DICOMFiles {
    /// - Returns: the scan with its series, and every file it refers to by path.
    static func scan(
        _ files: [FoundFile],
        _ request: DiscoveryRequest,
        rules: DICOMSeriesRules,
        scope: ComputeScope,
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)? = nil
    ) throws -> (scan: DICOMScan, byPath: [String: FoundFile]) {
        var series: [DICOMSeries] = []
        var found = try scan(files, request, rules: rules, scope: scope, filesAtOnce: .max, progress: progress) {
            series.append($0)
        }
        found.scan.series = series
        return found
    }

    /// The same scan, which hands over one series after the other and does not keep their headers.
    static func scan(
        _ files: [FoundFile],
        _ request: DiscoveryRequest,
        rules: DICOMSeriesRules,
        scope: ComputeScope,
        filesAtOnce: Int = 16_384,
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)? = nil,
        each: (DICOMSeries) -> Void
    ) throws -> (scan: DICOMScan, byPath: [String: FoundFile]) {
        var byPath = Dictionary(uniqueKeysWithValues: files.map { ($0.path, $0) })
        // Files excluded by a pattern stay excluded, even if a directory lists them.
        let scan = try DICOMScanner.scan(
            paths: files.map(\.path),
            scope: scope,
            rules: rules,
            filesAtOnce: filesAtOnce,
            progress: progress,
            looking: { request.trace.willRead($0) },
            admits: { path, directory in
                byPath[directory].map { request.admits(named(path, by: $0)) } ?? false
            },
            each: each
        )
        request.trace.end()
        for (path, directory) in scan.named {
            if let directory = byPath[directory] { byPath[path] = named(path, by: directory) }
        }
        return (scan, byPath)
    }

    /// What identifies the patients of a scan in paths; nothing unless the request asks for digests in place of such words.
    /// - Parameter paths: of all that was found.
    static func patients(_ scan: DICOMScan, _ paths: [String], _ request: DiscoveryRequest) -> PatientFolders {
        guard request.identifiers == .hash, !scan.patients.isEmpty else { return PatientFolders() }
        var known: [PatientIdentity: SoughtWords] = [:]
        let sought = scan.patients.mapValues { patients in
            patients.reduce(into: SoughtWords(names: [], identifiers: [], birthDate: "")) { sought, patient in
                let own = known[patient] ?? patient.sought
                known[patient] = own
                sought.formUnion(own)
            }
        }
        return PatientFolders(sought, paths: paths + scan.named.keys.sorted())
    }

    /// What the user can do about a refused series.
    static func hint(_ series: DICOMSeries) -> String {
        if series.problem?.code == .derived { return "; --include-derived processes it" }
        guard let correction = series.possibleCorrection else { return "" }
        let shape = correction.geometry.shape
        return "; --fix-tilt resamples it to \(shape.x)×\(shape.y)×\(shape.z) voxels"
    }

    /// What the user can do about a refused NIfTI file.
    static func hint(_ error: NIfTIError) -> String {
        error.code == .missingOrientation ? "; --assume-orientation reads it as nibabel does" : ""
    }

    private static func folder(_ path: String) -> String { (path as NSString).deletingLastPathComponent }

    /// A file listed by a directory, with its name relative to the input.
    private static func named(_ path: String, by directory: FoundFile) -> FoundFile {
        let below = path.dropFirst(folder(directory.path).count + 1)
        let parent = folder(directory.name)
        return FoundFile(path: path, name: parent.isEmpty ? String(below) : parent + "/" + below, root: directory.root)
    }
}
