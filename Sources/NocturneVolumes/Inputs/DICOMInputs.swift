import Foundation
import NocturneBatch
import NocturneConcurrency
import NocturneFormats
import NocturneJournal
import NocturneRecipeSupport
import NocturneSystem
import Synchronization

/// The DICOM files among the inputs of one search, and what their headers state.
final class DICOMInputs: Sendable {
    private let request: DiscoveryRequest
    private let files: InputFiles
    private let scope: ComputeScope
    private let texts = RepeatedTexts()
    private let kept = KeptHeaders<SharedValue<DICOMObject>>()
    private let folders = Mutex(Folders())

    /// What is known of folders.
    private struct Folders {
        var patients: [String: Set<PatientIdentity>] = [:]
        /// The series of the objects in each; nil for several.
        var series: [String: String?] = [:]
    }

    init(_ request: DiscoveryRequest, _ files: InputFiles, scope: ComputeScope) {
        (self.request, self.files, self.scope) = (request, files, scope)
    }

    /// Reads the header of a file that is offered.
    func header(of file: FoundFile) -> DICOMScanner.FileHeader {
        request.trace.willRead([file.path])
        let header = DICOMScanner.header(of: file.path, sharing: kept.hasRoom ? texts : nil)
        guard case .object(let shared) = header else { return header }
        kept.keep(shared, of: file.path)
        let (key, patient) = (shared.wrappedValue.seriesKey, shared.wrappedValue.patient)
        let folder = shared.wrappedValue.folder
        folders.withLock { folders in
            if let patient { folders.patients[folder, default: []].insert(patient) }
            if let known = folders.series[folder] {
                if known != key { folders.series[folder] = .some(nil) }
            } else {
                folders.series[folder] = key
            }
        }
        return header
    }

    /// The files that a DICOMDIR lists and that are found only through it. Files excluded by a pattern stay excluded.
    func listed(by directory: FoundFile) throws -> [FoundFile] {
        // The reason why it cannot be read is stated with its item.
        guard let listing = try? MediaDirectory(path: directory.path, flag: scope.flag) else { return [] }
        return try files(of: listing, at: directory)
    }

    private func files(of listing: MediaDirectory, at directory: FoundFile) throws -> [FoundFile] {
        // Compared by what they are, so that a file with two names is included once.
        var known: Set<FileIdentity> = []
        return try listing.files.compactMap { path in
            let file = Self.named(path, by: directory)
            guard request.admits(file), try !files.contains(path), try !files.containsFile(at: path),
                let identity = FileIdentity(path), known.insert(identity).inserted
            else { return nil }
            return file
        }
    }

    /// A file listed by a directory, with its name relative to the input.
    private static func named(_ path: String, by directory: FoundFile) -> FoundFile {
        let below = path.dropFirst(directory.folderPath.count + 1)
        let parent = FileSystem.parent(of: directory.name)
        return FoundFile(path: path, name: parent.isEmpty ? String(below) : parent + "/" + below, root: directory.root)
    }

    /// Whether all objects in a folder are of one series.
    func hasOneSeries(_ folder: String) -> Bool { folders.withLock { $0.series[folder] ?? nil } != nil }

    /// What the headers state of patients, by the folders of their files.
    func soughtWords() -> [String: SoughtWords] {
        var known: [PatientIdentity: SoughtWords] = [:]
        return folders.withLock { $0.patients }.compactMapValues { patients in
            var sought: SoughtWords?
            for patient in patients {
                let own = known[patient] ?? patient.sought
                known[patient] = own
                // The folders of one patient share the words.
                if sought?.formUnion(own) == nil { sought = own }
            }
            return sought
        }
    }

    /// The series of some files, and those of them that belong to none.
    /// - Parameter found: all files of each series among them.
    func series(
        of found: [FoundFile],
        rules: DICOMSeries.Rules
    ) throws -> (series: [DICOMSeries], rejected: [(file: FoundFile, reason: DICOMReadError)], notDICOM: [FoundFile]) {
        let found = found.sorted()
        let headers: [DICOMScanner.FileHeader] = try scope.map(found.count) { index in
            let path = found[index].path
            if let known = kept.take(path) { return .object(known) }
            request.trace.willRead([path])
            return DICOMScanner.header(of: path, sharing: texts)
        }
        var objects: [SharedValue<DICOMObject>] = []
        var (rejected, notDICOM): ([(file: FoundFile, reason: DICOMReadError)], [FoundFile]) = ([], [])
        for (file, header) in zip(found, headers) {
            switch header {
            case .object(let object): objects.append(object)
            case .fault(let error): rejected.append((file, try described(error, of: file)))
            case .notDICOM: notDICOM.append(file)
            }
        }
        let series = try DICOMScanner.series(of: objects, rules: rules, scope: scope) { [trace = request.trace] in
            trace.willRead($0)
        }
        request.trace.end()
        return (series, rejected, notDICOM)
    }

    /// What a DICOMDIR lists is part of the reason why it is not an image.
    private func described(_ error: DICOMReadError, of file: FoundFile) throws -> DICOMReadError {
        guard error.code == .mediaDirectory else { return error }
        let listing: MediaDirectory
        do throws(DICOMReadError) {
            listing = try MediaDirectory(path: file.path, flag: scope.flag)
        } catch {
            return DICOMReadError(.mediaDirectory, path: file.path, detail: error.detail)
        }
        let detail = listing.description(added: try files(of: listing, at: file).count)
        return DICOMReadError(listing.code, path: file.path, detail: detail)
    }
}
