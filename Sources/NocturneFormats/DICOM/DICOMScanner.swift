internal import CDICOMParser
public import NocturneConcurrency
public import NocturneSystem
internal import Synchronization

/// The DICOM series found in a set of files, from their headers alone.
public struct DICOMScan: Sendable {
    /// A DICOM file that belongs to no series, and the reason.
    public struct RejectedFile: Sendable, Hashable {
        public let path: String
        public let reason: DICOMReadError

        public init(path: String, reason: DICOMReadError) {
            self.path = path
            self.reason = reason
        }
    }

    /// In the order of their first files' paths, parts of one series together. If a series cannot become a volume, its
    /// `problem` states the reason.
    public var series: [DICOMSeries]
    /// DICOM files that cannot be read or do not belong to a series, in the order of their paths.
    public var rejectedFiles: [RejectedFile]
    /// Files that do not start like a DICOM file, for other formats to try; in the order of their paths.
    public var notDICOM: [String]
    /// Files that were not among the given paths but are listed in a DICOMDIR that was. They are also in one of the
    /// lists above. Keyed by path; the value is the DICOMDIR.
    public var named: [String: String]

    public init(series: [DICOMSeries], rejectedFiles: [RejectedFile], notDICOM: [String], named: [String: String] = [:])
    {
        self.series = series
        self.rejectedFiles = rejectedFiles
        self.notDICOM = notDICOM
        self.named = named
    }
}

/// Finds the DICOM series in a set of files by content: names and extensions are ignored.
public enum DICOMScanner {
    /// Whether the file starts like a DICOM object: "DICM" after the preamble, or a plausible first element without
    /// one. Also false when the file cannot be read or is not a regular file. Reads 132 bytes.
    public static func looksLikeDICOM(_ path: String) -> Bool { cdicom_looks_like_dicom(path, nil) == 1 }

    /// Reads the headers of `paths`, which are files, and groups the objects into series.
    ///
    /// For a DICOMDIR among them, the files it lists are read too, if they exist, are inside its folder, and are not
    /// already in `paths` under this or another name.
    ///
    /// The result depends only on the set of paths and the files' contents, not on order or threads. Pixels are read
    /// only for objects that share one SOPInstanceUID. Takes about 0.2 ms per typical file and thread, and 2 KB of
    /// memory per file.
    /// - Parameters:
    ///   - rules: which series become volumes.
    ///   - progress: called with the number of files read so far and the total, from any of the threads, each number
    ///     once but not always in order. A DICOMDIR may increase the total.
    ///   - looking: called with the paths that are about to be read or grouped, from the thread that does it.
    ///   - admits: whether a file listed in a DICOMDIR should be included.
    /// - Throws: ``CancelledError`` once the scope's flag is raised. An error in a single file is not thrown; it
    ///   becomes an entry.
    public static func scan(
        paths: [String],
        scope: ComputeScope,
        rules: DICOMSeriesRules = DICOMSeriesRules(),
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)? = nil,
        looking: @escaping @Sendable (_ paths: [String]) -> Void = { _ in },
        admits: (_ path: String, _ directory: String) -> Bool = { _, _ in true }
    ) throws(CancelledError) -> DICOMScan {
        let paths = Set(paths).sorted()
        let headerResults = try readHeaders(of: paths, before: 0, scope: scope, progress: progress, looking)
        let media = try directories(in: headerResults, paths: paths, admits: admits, scope: scope)
        let named = Set(media.flatMap(\.added)).sorted()
        if !named.isEmpty {
            let inner = try readHeaders(of: named, before: paths.count, scope: scope, progress: progress, looking)
            let all = zip(paths + named, headerResults + inner).sorted { $0.0 < $1.0 }
            return try grouped(sorted(all, media: media), rules: rules, scope: scope, looking)
        }
        return try grouped(sorted(Array(zip(paths, headerResults)), media: media), rules: rules, scope: scope, looking)
    }

    private static func grouped(
        _ sorted: consuming (objects: [SharedValue<DICOMObject>], scan: DICOMScan),
        rules: DICOMSeriesRules,
        scope: ComputeScope,
        _ looking: @escaping @Sendable (_ paths: [String]) -> Void
    ) throws(CancelledError) -> DICOMScan {
        var scan = sorted.scan
        scan.series = try SeriesTriage.series(of: sorted.objects, rules: rules, scope: scope, looking)
        return scan
    }

    /// The series that consists of exactly the named slices, as found before by
    /// ``scan(paths:scope:rules:progress:looking:admits:)``.
    ///
    /// The series is not split: the names determine which slices belong together. Reads the headers again.
    /// - Throws: ``DICOMReadError`` when a file can no longer be read or does not contain the slice; `CancelledError`
    ///   when the flag was raised.
    public static func series(
        of names: [DICOMSliceName],
        corrects: Bool = false,
        scope: ComputeScope
    ) throws -> DICOMSeries {
        let paths = Set(names.map(\.path)).sorted()
        let headerResults = try readHeaders(of: paths, before: 0, scope: scope, progress: nil) { _ in }
        var slices: [DICOMSliceName: DICOMSlice] = [:]
        for (path, headerResult) in zip(paths, headerResults) {
            switch headerResult {
            case .object(let object):
                for slice in try object.wrappedValue.slices() { slices[DICOMSliceName(slice)] = slice }
            case .fault(let error): throw error
            case .notDICOM: throw DICOMReadError(.notReadable, path: path, detail: "is no longer a DICOM file")
            }
        }
        var found: [DICOMSlice] = []
        for name in names {
            guard let slice = slices[name] else {
                throw DICOMReadError(.notReadable, path: name.path, detail: "no longer contains the slice found before")
            }
            found.append(slice)
        }
        guard !found.isEmpty else { throw DICOMReadError(.internalFault, path: "", detail: "a series without slices") }
        return SeriesTriage.whole(found, corrects: corrects)
    }

    /// One result for each path.
    private static func readHeaders(
        of paths: [String],
        before: Int,
        scope: ComputeScope,
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)?,
        _ looking: @escaping @Sendable (_ paths: [String]) -> Void
    ) throws(CancelledError) -> [HeaderResult] {
        let headerResults = Mutex([HeaderResult](repeating: .notDICOM, count: paths.count))
        let done = Atomic<Int>(before)
        let texts = RepeatedTexts()
        try scope.forEach(paths.count) { index in
            looking([paths[index]])
            let headerResult = readHeader(of: paths[index], texts)
            headerResults.withLock { $0[index] = headerResult }
            progress?(done.add(1, ordering: .relaxed).newValue, before + paths.count)
        }
        return headerResults.withLock { $0 }
    }

    /// A DICOMDIR, and the files it adds to the scan.
    private struct MediaDirectoryEntry {
        let path: String
        let description: String
        let added: [String]
    }

    private static func directories(
        in headerResults: [HeaderResult],
        paths: [String],
        admits: (_ path: String, _ directory: String) -> Bool,
        scope: ComputeScope
    ) throws(CancelledError) -> [MediaDirectoryEntry] {
        let own = zip(paths, headerResults).compactMap { path, headerResult -> String? in
            if case .fault(let error) = headerResult, error.code == .mediaDirectory { return path }
            return nil
        }
        guard !own.isEmpty else { return [] }
        // Compared by real paths, so that a file with two names is included once.
        var known = Set(paths)
        var isResolved = false
        var media: [MediaDirectoryEntry] = []
        for path in own {
            try scope.check()
            let directory: MediaDirectory
            do {
                directory = try MediaDirectory(path: path)
            } catch {
                media.append(MediaDirectoryEntry(path: path, description: error.detail, added: []))
                continue
            }
            var candidates = directory.files.filter { !known.contains($0) && admits($0, path) }
            if !candidates.isEmpty {
                if !isResolved {
                    known.formUnion(paths.compactMap(MediaDirectory.realPath))
                    isResolved = true
                }
                candidates = candidates.filter { candidate in
                    MediaDirectory.realPath(candidate).map { known.insert($0).inserted } ?? false
                }
            }
            media.append(
                MediaDirectoryEntry(
                    path: path,
                    description: directory.description(added: candidates.count),
                    added: candidates
                )
            )
        }
        return media
    }

    /// The objects, and all that is not an object.
    private static func sorted(
        _ files: [(path: String, headerResult: HeaderResult)],
        media: [MediaDirectoryEntry]
    ) -> (objects: [SharedValue<DICOMObject>], scan: DICOMScan) {
        var objects: [SharedValue<DICOMObject>] = []
        var scan = DICOMScan(series: [], rejectedFiles: [], notDICOM: [])
        for (path, headerResult) in files {
            switch headerResult {
            case .object(let object): objects.append(object)
            case .notDICOM: scan.notDICOM.append(path)
            case .fault(let error):
                let description = media.first { $0.path == path }?.description
                let reason = description.map { DICOMReadError(error.code, path: path, detail: $0) } ?? error
                scan.rejectedFiles.append(.init(path: path, reason: reason))
            }
        }
        for entry in media { for path in entry.added { scan.named[path] = entry.path } }
        return (objects, scan)
    }

    private enum HeaderResult: Sendable {
        case object(SharedValue<DICOMObject>)
        case fault(DICOMReadError)
        case notDICOM
    }

    private static func readHeader(of path: String, _ texts: RepeatedTexts) -> HeaderResult {
        var error = cdicom_error()
        switch cdicom_looks_like_dicom(path, &error) {
        case 1: break
        case 0: return .notDICOM
        default: return .fault(DICOMReadError(CDICOM_NOT_OPENED, error, path: path))
        }
        do {
            var object = try DICOMObject.readHeader(path: path)
            if let error = rejection(of: object) { return .fault(error) }
            texts.share(in: &object)
            return .object(SharedValue(wrappedValue: object))
        } catch {
            return .fault(error)
        }
    }

    /// Why an object that was read does not belong to any series.
    private static func rejection(of object: DICOMObject) -> DICOMReadError? {
        if object.sopClassUID == "1.2.840.10008.1.3.10" {
            return DICOMReadError(
                .mediaDirectory,
                path: object.path,
                detail: "a DICOMDIR, which only lists other files"
            )
        }
        if object.sopClassUID.isEmpty, object.modality.isEmpty, object.rows == nil {
            return DICOMReadError(
                .notReadable,
                path: object.path,
                detail: "neither SOPClassUID (0008,0016), Modality (0008,0060) nor Rows (0028,0010) is present"
            )
        }
        return nil
    }
}
