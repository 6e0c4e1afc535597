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
    ) throws -> (scan: DICOMScan, files: FoundFiles) {
        var series: [DICOMSeries] = []
        let keep: (DICOMSeries, [FoundFile]) -> Void = { one, _ in series.append(one) }
        var found = try scan(
            files,
            request,
            rules: rules,
            scope: scope,
            filesAtOnce: .max,
            progress: progress,
            each: keep
        )
        found.scan.series = series
        return found
    }

    /// The same scan, which hands over one series after the other, with its files, and does not keep their headers.
    static func scan(
        _ files: [FoundFile],
        _ request: DiscoveryRequest,
        rules: DICOMSeriesRules,
        scope: ComputeScope,
        filesAtOnce: Int = 16_384,
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)? = nil,
        each: (DICOMSeries, [FoundFile]) -> Void
    ) throws -> (scan: DICOMScan, files: FoundFiles) {
        let files = FoundFiles(files)
        var added: [String: FoundFile] = [:]
        // Files excluded by a pattern stay excluded, even if a directory lists them.
        let scan = try DICOMScanner.scan(
            paths: files.paths,
            scope: scope,
            rules: rules,
            filesAtOnce: filesAtOnce,
            progress: progress,
            looking: { request.trace.willRead($0) },
            admits: { path, directory in
                guard let file = files[directory].map({ named(path, by: $0) }), request.admits(file) else {
                    return false
                }
                added[path] = added[path] ?? file
                return true
            }
        ) { series in
            each(series, series.files.compactMap { added[$0] ?? files[$0] })
        }
        request.trace.end()
        return (scan, files.merging(scan.named.keys.compactMap { added[$0] }))
    }

    /// What identifies the patients of a scan in paths; nothing unless the request asks for digests in place of such words.
    /// - Parameter paths: of all that was found.
    static func patients(
        _ scan: DICOMScan,
        _ paths: some Sequence<String>,
        _ request: DiscoveryRequest
    ) -> PatientFolders {
        guard request.identifiers == .hash, !scan.patients.isEmpty else { return PatientFolders() }
        var known: [PatientIdentity: SoughtWords] = [:]
        let sought = scan.patients.mapValues { patients in
            patients.reduce(into: SoughtWords(names: [], identifiers: [], birthDate: "")) { sought, patient in
                let own = known[patient] ?? patient.sought
                known[patient] = own
                sought.formUnion(own)
            }
        }
        return PatientFolders(sought, paths: [AnySequence(paths), AnySequence(scan.named.keys.sorted())].lazy.joined())
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
