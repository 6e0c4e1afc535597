internal import CDICOMParser
public import NocturneConcurrency
public import NocturneSystem

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
    /// The patients of the objects in each folder.
    public internal(set) var patients: [String: Set<PatientIdentity>] = [:]

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
        var series: [DICOMSeries] = []
        var scan = try scan(
            paths: paths,
            scope: scope,
            rules: rules,
            filesAtOnce: .max,
            progress: progress,
            looking: looking,
            admits: admits
        ) { series.append($0) }
        scan.series = series
        return scan
    }

    /// The same scan, which hands over one series after the other and keeps none: the `series` of its result are empty.
    ///
    /// Of more than `filesAtOnce` files the headers are read twice: first to see which files form a series, then series by
    /// series. Memory is then some 16 bytes per file, and 2 KB for each file of the largest series or for `filesAtOnce`
    /// files, whichever is more.
    /// - Parameters:
    ///   - paths: used without a copy of them if they are sorted, and each is there once.
    ///   - filesAtOnce: the headers of so many files are kept at a time.
    ///   - each: called with each series, in the order of their first files' paths, on the calling thread.
    /// - Throws: ``CancelledError``, as above.
    public static func scan<Paths: RandomAccessCollection & Sendable>(
        paths: Paths,
        scope: ComputeScope,
        rules: DICOMSeriesRules = DICOMSeriesRules(),
        filesAtOnce: Int = 16_384,
        progress: (@Sendable (_ done: Int, _ all: Int) -> Void)? = nil,
        looking: @escaping @Sendable (_ paths: [String]) -> Void = { _ in },
        admits: (_ path: String, _ directory: String) -> Bool = { _, _ in true },
        each: (DICOMSeries) -> Void
    ) throws(CancelledError) -> DICOMScan where Paths.Element == String, Paths.Index == Int {
        let paths = SortedPaths(paths)
        let reader = HeaderReader(scope: scope, progress: progress, looking: looking)
        var scan = DICOMScan(series: [], rejectedFiles: [], notDICOM: [])
        var media: [MediaDirectoryEntry] = []
        /// Files that only directories name, sorted.
        func named(by files: [HeaderReader.File]) throws(CancelledError) -> [String] {
            media = try directories(in: files, paths: paths, admits: admits, scope: scope)
            return Set(media.flatMap(\.added)).sorted()
        }
        func handOver(_ files: [HeaderReader.File]) throws(CancelledError) {
            let objects = sorted(files, media: media, into: &scan)
            for series in try SeriesTriage.series(of: objects, rules: rules, scope: scope, looking) { each(series) }
        }
        if paths.count <= filesAtOnce {
            var files = try reader.read((0..<paths.count).map { paths[$0] }, before: 0)
            let named = try named(by: files)
            if !named.isEmpty {
                files = (files + (try reader.read(named, before: paths.count))).sorted { $0.path < $1.path }
            }
            try handOver(files)
        } else {
            var (all, survey) = (paths, try reader.survey(paths))
            let named = try named(by: survey.others(of: all))
            if !named.isEmpty {
                let added = try reader.read(named, before: paths.count).map(\.header)
                survey.insert(added, at: all.places(of: named))
                all = all.merging(named)
            }
            try handOver(survey.others(of: all))
            // Their headers are read again, without counting them twice.
            let again = HeaderReader(scope: scope, progress: nil, looking: looking)
            for part in survey.parts(atMost: filesAtOnce) {
                try handOver(try again.read(part.map { all[$0] }, before: 0))
            }
        }
        scan.rejectedFiles.sort { $0.path < $1.path }
        scan.notDICOM.sort()
        for entry in media { for path in entry.added { scan.named[path] = entry.path } }
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
        var slices: [DICOMSliceName: DICOMSlice] = [:]
        for file in try HeaderReader(scope: scope, progress: nil, looking: { _ in }).read(paths, before: 0) {
            switch file.header {
            case .object(let object):
                for slice in try object.wrappedValue.slices() { slices[DICOMSliceName(slice)] = slice }
            case .fault(let error): throw error
            case .notDICOM:
                throw DICOMReadError(.notReadable, path: file.path, detail: "is no longer a DICOM file")
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

    /// A DICOMDIR, and the files it adds to the scan.
    private struct MediaDirectoryEntry {
        let path: String
        let description: String
        let added: [String]
    }

    private static func directories(
        in files: [HeaderReader.File],
        paths: SortedPaths,
        admits: (_ path: String, _ directory: String) -> Bool,
        scope: ComputeScope
    ) throws(CancelledError) -> [MediaDirectoryEntry] {
        let own = files.compactMap { file -> String? in
            if case .fault(let error) = file.header, error.code == .mediaDirectory { return file.path }
            return nil
        }
        guard !own.isEmpty else { return [] }
        // Compared by real paths, so that a file with two names is included once.
        var known: Set<String> = []
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
            var candidates = directory.files.filter {
                !paths.contains($0) && !known.contains($0) && admits($0, path)
            }
            if !candidates.isEmpty {
                if !isResolved {
                    known.formUnion((0..<paths.count).lazy.compactMap { MediaDirectory.realPath(paths[$0]) })
                    isResolved = true
                }
                candidates = candidates.filter { candidate in
                    MediaDirectory.realPath(candidate).map { !paths.contains($0) && known.insert($0).inserted } ?? false
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

    /// The objects; all that is not an object goes into the scan.
    private static func sorted(
        _ files: [HeaderReader.File],
        media: [MediaDirectoryEntry],
        into scan: inout DICOMScan
    ) -> [SharedValue<DICOMObject>] {
        var objects: [SharedValue<DICOMObject>] = []
        for file in files {
            switch file.header {
            case .object(let object):
                objects.append(object)
                if let patient = object.wrappedValue.patient {
                    scan.patients[object.wrappedValue.folder, default: []].insert(patient)
                }
            case .notDICOM: scan.notDICOM.append(file.path)
            case .fault(let error):
                let description = media.first { $0.path == file.path }?.description
                let reason = description.map { DICOMReadError(error.code, path: file.path, detail: $0) } ?? error
                scan.rejectedFiles.append(.init(path: file.path, reason: reason))
            }
        }
        return objects
    }
}
